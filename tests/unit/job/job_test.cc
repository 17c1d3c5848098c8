#include "job/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "checkpoint/manifest.h"
#include "config/json.h"
#include "job/fingerprint.h"
#include "job/former_keys.h"
#include "job/global_batch.h"
#include "strategy/strategy.h"

namespace ps::job_test {
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

  static std::vector<Override> strategy(const std::string& object) {
    return {{.key = "train.strategy", .values = {object}, .is_set = true, .typed = "--set"}};
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

TEST_F(JobTest, ARunOfMoreTrainersThanAServerTakesIsRefused) {
  EXPECT_THAT(refusal(kJob, {{.key = "cluster.trainers", .values = {"1025"}, .typed = "--trainers"}}),
              testing::StartsWith("--trainers: 1025 is too large"));
  EXPECT_EQ(
      load(kJob, {{.key = "cluster.trainers", .values = {"1024"}, .typed = "--trainers"}}).cluster.trainers,
      1024);
}

TEST_F(JobTest, RanksThatJoinAreBesideThoseThatBegin) {
  const auto job_of = [this](const char* trainers, const char* most) {
    return load(kJob, {{.key = "cluster.trainers", .values = {trainers}, .typed = "--trainers"},
                       {.key = "cluster.max_trainers", .values = {most}, .typed = "--max-trainers"}});
  };
  EXPECT_EQ(job_of("3", "0").cluster.ranks(), 3);
  EXPECT_EQ(job_of("3", "3").cluster.ranks(), 3);
  EXPECT_EQ(job_of("3", "5").cluster.ranks(), 5);
  EXPECT_THAT(refusal(kJob, {{.key = "cluster.max_trainers", .values = {"2"}, .typed = "--max-trainers"},
                             {.key = "cluster.trainers", .values = {"3"}, .typed = "--trainers"}}),
              HasSubstr("2 is less than cluster.trainers, 3"));
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

TEST_F(JobTest, TheStrategyIsServersInStepUnlessTheJobNamesAnother) {
  EXPECT_EQ(effective_job(load(kJob))["train"]["strategy"]["type"], "parameter_server");
  const Job job = load(kJob, strategy(R"({"type": "local_sgd", "period": 5})"));
  EXPECT_EQ(effective_job(job)["train"]["strategy"]["differences"], "mean") << "defaults are filled in";
  EXPECT_THAT(refusal(kJob, strategy(R"({"type": "local_gsd"})")),
              HasSubstr("train.strategy.type: unknown strategy 'local_gsd' (did you mean 'local_sgd'?)"));
  EXPECT_THAT(refusal(kJob, strategy(R"("async")")), HasSubstr("train.strategy: found string 'async'"));
  EXPECT_THAT(refusal(kJob, strategy(R"({"type": "local_sgd"})")),
              HasSubstr("train.strategy.period: missing"));
}

TEST_F(JobTest, AStrategyChecksTheOptimizer) {
  std::vector<Override> both = strategy(R"({"type": "post_local_sgd", "k_steps": 5})");
  both.push_back({.key = "optimizer", .values = {R"({"type": "ftrl"})"}, .is_set = true, .typed = "--set"});
  EXPECT_THAT(refusal(kJob, both), HasSubstr("optimizer.type: ftrl makes weights from its own state"));
}

TEST_F(JobTest, FormerKeysNameTheNewOnes) {
  const std::pair<const char*, const char*> kKeys[] = {
      {"train.mode", "train.mode: is now train.strategy, as in"},
      {"train.max_lag", "train.max_lag: is now train.strategy.max_lag, as in"},
      {"cluster.pull_type", "cluster.pull_type: is now train.strategy.codec.pull, as in"},
      {"cluster.push_type", "cluster.push_type: is now train.strategy.codec.push, as in"},
      {"cluster.push_error_memory",
       "cluster.push_error_memory: is now train.strategy.codec.residual_memory, as in"},
      {"train.strategy.pull_type", "train.strategy.pull_type: is now train.strategy.codec.pull, as in"},
      {"train.strategy.push_type", "train.strategy.push_type: is now train.strategy.codec.push, as in"},
      {"train.strategy.residual_memory",
       "train.strategy.residual_memory: is now train.strategy.codec.residual_memory, as in"}};
  for (const auto& [key, message] : kKeys) {
    EXPECT_THAT(refusal(kJob, {{.key = key, .values = {"1"}, .is_set = true, .typed = "--set"}}),
                HasSubstr(message));
  }
}

// The example in such a message is a job that loads.
TEST_F(JobTest, FormerKeysShowAnExampleThatLoads) {
  for (const char* key :
       {"train.max_lag", "cluster.pull_type", "cluster.push_type", "cluster.push_error_memory",
        "train.strategy.pull_type", "train.strategy.push_type", "train.strategy.residual_memory"}) {
    const std::string message =
        refusal(kJob, {{.key = key, .values = {"1"}, .is_set = true, .typed = "--set"}});
    const size_t begin = message.find(R"({"type")");
    ASSERT_NE(begin, std::string::npos) << message;
    const std::string example = message.substr(begin, message.size() - 1 - begin);
    EXPECT_EQ(load(kJob, strategy(example)).train.strategy, Json::parse(example));
  }
}

TEST(FormerKeys, OfACheckpointAreRenamed) {
  auto renamed = [](const char* mode) {
    const Json job = {
        {"train", {{"mode", Json::parse(mode)}, {"max_lag", 3}}},
        {"cluster",
         {{"trainers", 2}, {"pull_type", "f16"}, {"push_type", "int8"}, {"push_error_memory", "1M"}}}};
    const Json now = rename_former_keys(job);
    EXPECT_EQ(now["cluster"], Json({{"trainers", 2}}));
    EXPECT_FALSE(now["train"].contains("mode") || now["train"].contains("max_lag"));
    const Json strategy = now["train"]["strategy"];
    find_strategy(strategy).check(strategy, {{"type", "sgd"}});
    EXPECT_EQ(strategy["codec"], Json::parse(R"({"push": "int8", "pull": "f16", "residual_memory": "1M"})"));
    return strategy;
  };
  EXPECT_EQ(renamed(R"("sync")")["consistency"], "sync");
  EXPECT_EQ(renamed(R"("async")")["max_lag"], 3);
  EXPECT_EQ(renamed(R"({"staleness": 2})")["staleness"], 2);
  EXPECT_EQ(renamed(R"({"staleness": 0})")["consistency"], "sync");
  EXPECT_EQ(renamed(R"({"geo": 7, "differences": "sum"})")["differences"], "sum");
  EXPECT_EQ(renamed(R"({"geo": 7})")["period"], 7);
  const Json today = {{"train", {{"strategy", {{"type", "local_sgd"}, {"period", 2}}}}}};
  EXPECT_EQ(rename_former_keys(today), today);
  const Json wrong = {{"train", {{"mode", "fast"}}}};
  EXPECT_EQ(rename_former_keys(wrong), wrong) << "the parser refuses it";
}

TEST(FormerKeys, OfAStrategyAreRenamed) {
  const Json job =
      Json::parse(R"({"train": {"strategy": {"type": "local_sgd", "period": 2, "pull_type": "bf16",
      "push_type": "f16", "residual_memory": "2M"}}})");
  const Json now = Json::parse(R"({"train": {"strategy": {"type": "local_sgd", "period": 2,
      "codec": {"push": "f16", "pull": "bf16", "residual_memory": "2M"}}}})");
  EXPECT_EQ(rename_former_keys(job), now);
  const Json both = Json::parse(R"({"train": {"strategy": {"codec": "f16", "push_type": "f16"}}})");
  EXPECT_EQ(rename_former_keys(both), both) << "the parser refuses it";
  const Json wrong = Json::parse(R"({"train": {"strategy": "f16"}})");
  EXPECT_EQ(rename_former_keys(wrong), wrong) << "the parser refuses it";
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

// Servers and checkpoints of the time before the key do not have it.
TEST_F(JobTest, FingerprintHasTheL2ModeThatIsNotTheOptimizersOwn) {
  const auto mode = [&](const char* type, const char* given) {
    Json document = parse_json(kJob, "job");
    document["optimizer"] = {{"type", type}, {"l2_mode", given}};
    const Job job = load(document.dump());
    EXPECT_FALSE(job_fingerprint(load(kJob))["optimizer"].contains("l2_mode"));
    EXPECT_EQ(job_fingerprint(job)["optimizer"].value("l2_mode", ""),
              job_identity(job)["optimizer"].value("l2_mode", ""));
    return job_fingerprint(job)["optimizer"].value("l2_mode", "left out");
  };
  EXPECT_EQ(mode("adam", "decoupled"), "left out");
  EXPECT_EQ(mode("adam", "coupled"), "coupled");
  EXPECT_EQ(mode("momentum", "coupled"), "left out");
  EXPECT_EQ(mode("momentum", "decoupled"), "decoupled");
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

std::vector<Override> settings(const std::vector<std::pair<std::string, std::string>>& values) {
  std::vector<Override> out;
  for (const auto& [key, value] : values) {
    out.push_back({.key = key, .values = {value}, .is_set = true, .typed = "--set"});
  }
  return out;
}

TEST_F(JobTest, GlobalBatchIsDividedByTrainersAndTheBatchesOfAStep) {
  const Job job = load(
      kJob,
      settings({{"data.global_batch_size", "96"}, {"cluster.trainers", "4"}, {"train.accumulate", "3"}}));
  EXPECT_EQ(job.data.batch_size, 8);
  EXPECT_EQ(global_batch(job), 96);
  EXPECT_FALSE(effective_job(job)["data"].contains("global_batch_size")) << "which would be given twice";
  EXPECT_EQ(effective_job(job)["data"]["batch_size"], 8);
  EXPECT_EQ(job_identity(job)["train"]["accumulate"], 3);
  EXPECT_FALSE(job_identity(load(kJob))["train"].contains("accumulate")) << "as checkpoints have it";
}

// A job that is resumed with other features would train its weights on what they were not made for.
TEST_F(JobTest, IdentityHasTheKeysOfFeaturesUnlessAnEarlierVersionWroteTheOtherOne) {
  const Json job = job_identity(load(kJob)),
             other = job_identity(load(kJob, settings({{"data.hash_bits", "9"}})));
  EXPECT_NE(comparable_job(job, other), comparable_job(other, job));
  Json earlier = job;
  for (const char* key : {"cross", "dense", "hash_bits", "log_counts", "unit_length"})
    EXPECT_EQ(earlier["data"].erase(key), 1u) << key;
  EXPECT_EQ(comparable_job(job, earlier), earlier);
  EXPECT_EQ(comparable_job(other, earlier), earlier);
}

TEST_F(JobTest, GlobalBatchDecidesWhereTheOtherIsLeftToTheData) {
  EXPECT_EQ(load(kJob, settings({{"data.global_batch_size", "6"}, {"data.batch_size", "\"auto\""}}))
                .data.batch_size,
            6);
}

TEST_F(JobTest, GlobalBatchThatDoesNotDivideIsRefused) {
  EXPECT_THAT(refusal(kJob, settings({{"data.global_batch_size", "10"}, {"cluster.trainers", "4"}})),
              HasSubstr("data.global_batch_size: 10 does not divide by 4"));
  EXPECT_THAT(refusal(kJob, settings({{"data.global_batch_size", "10"}, {"data.batch_size", "10"}})),
              HasSubstr("data.batch_size is 10: leave out one of the two"));
}

TEST_F(JobTest, RateGrowsWithTheExamplesOfAStep) {
  const auto rate = [&](const char* rule, std::vector<std::pair<std::string, std::string>> more) {
    more.push_back({"optimizer.scale_rate", cat(R"({"batch": 32, "rule": ")", rule, "\"}")});
    more.push_back({"data.batch_size", "64"});
    StepRule steps = optimizer_plan(load(kJob, settings(more))).step_rule();
    return steps.next({.samples = 1}).learning_rate;
  };
  EXPECT_EQ(rate("linear", {}), 0.5 * 2);
  EXPECT_EQ(rate("linear", {{"cluster.trainers", "4"}}), 0.5 * 8);
  EXPECT_EQ(rate("sqrt", {{"cluster.trainers", "2"}, {"train.accumulate", "4"}}), 0.5 * 4);
  EXPECT_EQ(rate("linear", {{"cluster.trainers", "4"},
                            {"train.strategy", R"({"type": "parameter_server", "consistency": "async"})"}}),
            0.5 * 2)
      << "a step is one trainer's batch";
}

TEST_F(JobTest, ServersAreToldTheExamplesOfAStepWhereTheyScaleTheRate) {
  const auto scale = [&](const char* trainers) {
    return job_fingerprint(load(kJob, settings({{"optimizer.scale_rate", R"({"rule": "sqrt", "batch": 50})"},
                                                {"cluster.trainers", trainers}})))["optimizer"]["scale_rate"];
  };
  EXPECT_EQ(scale("3"), (Json{{"rule", "sqrt"}, {"batch", 50}, {"examples_of_a_step", 600}}));
  EXPECT_NE(scale("3"), scale("2"));
  EXPECT_FALSE(job_fingerprint(load(kJob))["optimizer"].contains("scale_rate"));
}

}  // namespace
}  // namespace ps::job_test
