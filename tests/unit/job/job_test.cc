#include "job/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "config/json.h"

namespace ps {
namespace {

using testing::HasSubstr;

constexpr const char* kJob = R"({
  "data": {"format": "libsvm", "dim": 10},
  "model": {
    "layers": [{"name": "score", "type": "fc", "input": "features", "size": 1, "sparse_update": true}],
    "cost": {"type": "binary_cross_entropy", "input": "score"}
  },
  "optimizer": {"type": "adagrad", "learning_rate": 0.5}
})";

class JobTest : public testing::Test {
 protected:
  Job load(const std::string& text, const std::vector<Override>& overrides = {}) {
    write_file(path_, text);
    return load_job(path_, overrides);
  }

  std::string refusal(const std::string& text, const std::vector<Override>& overrides = {}) {
    try {
      load(text, overrides);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUsage);
      EXPECT_THAT(error.message(), HasSubstr(overrides.empty() ? path_ : overrides.front().typed))
          << "who said it";
      return error.message();
    }
    return "accepted";
  }

  const std::string path_ = testing::TempDir() + "job_test.json";
};

TEST_F(JobTest, FlagsLieOverTheFileAndKeepTheTypeOfTheKey) {
  Job job = load(kJob, {{.key = "train.passes", .values = {"7"}, .typed = "--passes"},
                        {.key = "train.save_dir", .values = {"123"}, .typed = "--save-dir"},
                        {.key = "data.files", .values = {"a", "b"}, .is_list = true, .typed = "--data"},
                        {.key = "optimizer.l2", .values = {"0.25"}, .is_set = true, .typed = "--set"}});
  EXPECT_EQ(job.train.passes, 7);
  EXPECT_EQ(job.train.save_dir, "123");
  EXPECT_THAT(job.data.files, testing::ElementsAre("a", "b"));
  EXPECT_EQ(job.optimizer["l2"], 0.25);
}

TEST_F(JobTest, WhoGaveAWrongValueIsTold) {
  EXPECT_THAT(refusal(kJob, {{.key = "train.passes", .values = {"two"}, .typed = "--passes"}}),
              testing::StartsWith("--passes: found string 'two', expected an integer"));
  EXPECT_THAT(refusal(kJob, {{.key = "data.dim", .values = {"-1"}, .is_set = true, .typed = "--set"}}),
              testing::StartsWith("--set data.dim: -1 is too small"));
  EXPECT_EQ(load(kJob, {{.key = "data.dim", .values = {"2M"}, .typed = "--dim"}}).data.dim, 2000000);
}

TEST_F(JobTest, TextWhereAListBelongsIsRefused) {
  for (const char* key : {"model.layers", "model.evaluators"}) {
    EXPECT_THAT(refusal(kJob, {{.key = key, .values = {"auc"}, .is_set = true, .typed = "--set"}}),
                HasSubstr("found string 'auc', expected an array"));
  }
}

TEST_F(JobTest, SettableKeysAreThoseOfAllSections) {
  const std::vector<std::string> keys = settable_keys();
  for (const char* key :
       {"train.passes=", "data.batch_size=", "optimizer.momentum=", "checkpoint.directory="})
    EXPECT_THAT(keys, testing::Contains(key));
}

TEST_F(JobTest, ModesOfTraining) {
  auto mode = [this](const char* text) {
    return load(kJob, {{.key = "train.mode", .values = {text}, .is_set = true, .typed = "--set"}}).train;
  };
  EXPECT_FALSE(mode(R"("sync")").consistency().async);
  EXPECT_EQ(mode(R"({"staleness": 3})").consistency().staleness, 3);
  EXPECT_TRUE(mode(R"({"geo": 5})").consistency().async);
  EXPECT_EQ(mode(R"({"geo": 5})").geo()->period, 5);
  EXPECT_TRUE(mode(R"({"geo": 5})").geo()->mean);
  EXPECT_FALSE(mode(R"({"geo": 5, "differences": "sum"})").geo()->mean);
  EXPECT_FALSE(mode(R"("async")").geo());
  for (const char* wrong : {R"("geo")", R"({"geo": 0})", R"({"geo": 1.5})",
                            R"({"geo": 5, "differences": "most"})", R"({"geo": 5, "staleness": 1})",
                            R"({"staleness": -1})", R"({"staleness": 1, "differences": "sum"})"}) {
    EXPECT_THAT(refusal(kJob, {{.key = "train.mode", .values = {wrong}, .is_set = true, .typed = "--set"}}),
                HasSubstr("train.mode"));
  }
}

TEST_F(JobTest, TypesOfRowsOnTheirWay) {
  Job job = load(kJob, {{.key = "cluster.push_type", .values = {"int8"}, .typed = "--set"},
                        {.key = "cluster.push_error_memory", .values = {"1K"}, .typed = "--set"}});
  EXPECT_EQ(job.cluster.row_types().pull, RowType::kF32);
  EXPECT_EQ(job.cluster.row_types().push, RowType::kInt8);
  EXPECT_EQ(job.cluster.row_types().error_bytes, 1024u);
  EXPECT_THAT(
      refusal(kJob, {{.key = "cluster.pull_type", .values = {"f64"}, .is_set = true, .typed = "--set"}}),
      HasSubstr("cluster.pull_type"));
  EXPECT_THAT(
      refusal(kJob,
              {{.key = "cluster.push_error_memory", .values = {"much"}, .is_set = true, .typed = "--set"}}),
      HasSubstr("'much' is not a number of bytes"));
}

TEST_F(JobTest, MemoryOfACheckpoint) {
  auto memory = [](const char* value) {
    return std::vector<Override>{
        {.key = "checkpoint.memory", .values = {value}, .is_set = true, .typed = "--set"}};
  };
  EXPECT_EQ(load(kJob).checkpoint.memory_bytes(), uint64_t{512} << 20);
  EXPECT_EQ(load(kJob, memory("2G")).checkpoint.memory_bytes(), uint64_t{2} << 30);
  EXPECT_EQ(load(kJob, memory("3000000")).checkpoint.memory_bytes(), 3000000u);
  for (const char* wrong : {"much", "0", "1K", "-1", "true"}) {
    EXPECT_THAT(refusal(kJob, memory(wrong)), HasSubstr("checkpoint.memory")) << wrong;
  }
}

TEST_F(JobTest, EffectiveJobIsAJobThatMeansTheSame) {
  Json effective = effective_job(load(kJob));
  EXPECT_EQ(effective["optimizer"]["l1"], 0.0) << "defaults are filled in";
  EXPECT_EQ(effective_job(load(effective.dump())), effective);
}

TEST_F(JobTest, EveryMistakeIsNamedWithItsPath) {
  EXPECT_THAT(refusal("{"), HasSubstr(":1:2: "));
  EXPECT_THAT(refusal("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(refusal(R"({"job": {"seed": 1, "seed": 2}})"), HasSubstr("duplicate key 'seed'"));
  EXPECT_THAT(refusal(R"({"job": {"sede": 1}})"), HasSubstr("job.sede: unknown key (did you mean 'seed'?)"));
  EXPECT_THAT(refusal(R"({"train": {"passes": "four"}})"),
              HasSubstr("train.passes: found string 'four', expected an integer"));
  EXPECT_THAT(refusal(R"({"optimizer": {"type": "adm"}})"),
              HasSubstr("optimizer.type: unknown optimizer 'adm' (did you mean 'adam'?)"));
  EXPECT_THAT(
      refusal(kJob, {{.key = "optimizer.momentum", .values = {"0.9"}, .is_set = true, .typed = "--set"}}),
      HasSubstr("optimizer.momentum: unknown key"));
}

TEST_F(JobTest, EntriesOfTheModelAreCheckedBeforeAnyDataIsRead) {
  auto with = [](const char* key, const char* value) {
    return std::vector<Override>{{.key = key, .values = {value}, .is_set = true, .typed = "--set"}};
  };
  EXPECT_THAT(refusal(kJob, with("model.layers.0.sise", "1")),
              HasSubstr("model.layers.0.sise: unknown key (did you mean 'size'?)"));
  EXPECT_THAT(refusal(kJob, with("model.cost.type", "binary")),
              HasSubstr("model.cost.type: unknown cost 'binary'"));
  EXPECT_THAT(refusal(kJob, with("model.evaluators", "[\"auk\"]")),
              HasSubstr("model.evaluators.0.type: unknown evaluator 'auk' (did you mean 'auc'?)"));
}

TEST_F(JobTest, SchemaAndListsNameEveryEntry) {
  std::string schema = job_schema().dump();
  for (const char* name :
       {"sparse_momentum", "hsigmoid", "cross_entropy", "precision_recall", "caffe_poly"}) {
    EXPECT_THAT(schema, HasSubstr(cat("\"", name, "\""))) << name;
  }
  for (const std::string& kind : catalog_kinds()) EXPECT_FALSE(list_catalog(kind).empty()) << kind;
  EXPECT_THAT(job_keys_manual(), HasSubstr(".It Cm ftrl"));
}

}  // namespace
}  // namespace ps
