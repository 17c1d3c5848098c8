#include "job/open_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "job/job.h"

namespace ps::open_values_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kOpenJob = R"({
  // A comment is left out.
  "data": {"slots": "auto", "dim": "auto", "batch_size": "auto", "shuffle": "auto", "unit_length": "auto", "log_counts": "auto"},
  "model": {
    "layers": [{"name": "class", "type": "fc", "input": ["*"], "size": "auto", "activation": "softmax" /* of labels */}],
    "cost": {"type": "cross_entropy", "input": "class"}
  },
  "optimizer": {"type": "adam", "schedule": {"type": "cosine", "period": "auto", "unit": "passes"}},
  "train": {"passes": "auto"}
})";

class OpenValues : public testing::Test {
 protected:
  OpenValues() {
    look_.format = "libsvm";
    look_.examples = 20000;
    look_.bytes = 1000000;
    look_.largest_label = 9;
    look_.seen = {{.schema = {"features"}, .num_keys = 100, .largest_key = 783}};
  }

  static Json document() { return parse_json(kOpenJob, "job.json", JsonComments::kIgnored); }

  Json filled() {
    Json out = document();
    fill_in(out, look_);
    return out;
  }

  std::string refusal() {
    try {
      filled();
    } catch (const Error& error) {
      return error.message();
    }
    return "filled in";
  }

  DataLook look_;
};

TEST_F(OpenValues, ThePeriodOfAScheduleIsTheNumberOfPasses) {
  Json out = document();
  out.erase("train");
  fill_in(out, look_);
  EXPECT_EQ(out["optimizer"]["schedule"]["period"], 1) << "as many as without the key";
}

TEST_F(OpenValues, AreListedByTheirPaths) {
  EXPECT_THAT(
      open_values(document()),
      ElementsAre("data.slots", "data.dim", "data.batch_size", "data.shuffle", "data.unit_length",
                  "data.log_counts", "train.passes", "model.layers.0.size", "optimizer.schedule.period"));
  EXPECT_TRUE(open_values(filled()).empty());
  EXPECT_TRUE(open_values(parse_json(R"({"data": [], "model": 5, "train": "auto"})", "x")).empty());
}

TEST_F(OpenValues, GetWhatTheDataTell) {
  const Json job = filled();
  EXPECT_EQ(job["data"]["format"], "libsvm");
  EXPECT_FALSE(job["data"].contains("slots"));
  EXPECT_EQ(job["data"]["dim"], 784);
  EXPECT_EQ(job["data"]["batch_size"], 64);
  EXPECT_EQ(job["data"]["shuffle"], "full");
  EXPECT_EQ(job["data"]["unit_length"], false);
  EXPECT_EQ(job["data"]["log_counts"], false);
  EXPECT_EQ(job["train"]["passes"], 10);
  EXPECT_EQ(job["optimizer"]["schedule"]["period"], 10);
  EXPECT_EQ(job["model"]["layers"][0]["size"], 10);
}

TEST_F(OpenValues, DependOnTheNumberOfExamples) {
  look_.examples = 10;
  EXPECT_EQ(filled()["data"]["batch_size"], 32);
  look_.examples = 400000;
  EXPECT_EQ(filled()["data"]["batch_size"], 1024);
  EXPECT_EQ(filled()["train"]["passes"], 2);
  look_.examples = 1 << 30;
  EXPECT_EQ(filled()["train"]["passes"], 1);
}

TEST_F(OpenValues, OfAStreamAreThoseOfALargeFile) {
  look_.stream = true;
  look_.whole = false;
  EXPECT_EQ(filled()["data"]["shuffle"], "window");
  EXPECT_EQ(filled()["train"]["passes"], 1);
  look_.whole = true;
  EXPECT_EQ(filled()["data"]["shuffle"], "full") << "all of it was seen";
}

TEST_F(OpenValues, WordsOfTextsOfDifferentLengthsAreScaledToUnitLength) {
  look_.seen_examples = 2;
  look_.seen[0].sum_of_squares = 20 * 20 + 80 * 80;
  EXPECT_EQ(filled()["data"]["unit_length"], true);
  look_.seen[0].sum_of_squares = 45 * 45 + 55 * 55;
  EXPECT_EQ(filled()["data"]["unit_length"], false);
  look_.seen[0].sum_of_squares = 20 * 20 + 80 * 80;
  look_.seen[0].all_whole = false;
  EXPECT_EQ(filled()["data"]["unit_length"], false);
}

TEST_F(OpenValues, CountsOfCriteoBecomeLogarithms) {
  look_.format = "criteo";
  EXPECT_EQ(filled()["data"]["log_counts"], true);
}

TEST_F(OpenValues, SlotsAreWrittenIntoTheJob) {
  look_.format = "multislot";
  look_.slots = {{"slot1"}, {"slot2", "dense", 3}, {"label"}};
  look_.label_slot = "label";
  const Json data = filled()["data"];
  EXPECT_EQ(data["slots"].size(), 3u);
  EXPECT_EQ(data["slots"][1]["dim"], 3);
  EXPECT_EQ(data["label_slot"], "label");
}

TEST_F(OpenValues, ClassesOfSeveralLabelsAreThoseThatThereAre) {
  look_.labels.emplace();
  look_.labels->largest_key = 27;
  EXPECT_EQ(filled()["model"]["layers"][0]["size"], 28);
  look_.labels->schema.dim = 40;
  EXPECT_EQ(filled()["model"]["layers"][0]["size"], 40) << "words that labels are";
  look_.labels->schema.dim = 0;
  look_.labels->largest_key = uint64_t{1} << 24;
  EXPECT_THAT(refusal(), HasSubstr("model.layers.0.size: auto is the number of classes, and label 16777216"));
}

TEST_F(OpenValues, ClassesOfNceAreThoseOfLabelsOrTheIdsOfASlot) {
  const auto num_classes = [&](const char* input) {
    Json job = parse_json(R"({"model": {"layers": [{"type": "nce", "num_classes": "auto"}]}})", "job");
    job["model"]["layers"][0]["input"] = parse_json(input, "input");
    EXPECT_THAT(open_values(job), ElementsAre("model.layers.0.num_classes"));
    fill_in(job, look_);
    return job["model"]["layers"][0]["num_classes"];
  };
  EXPECT_EQ(num_classes(R"("user")"), 10);
  look_.seen[0].schema = {"item", false, 62};
  EXPECT_EQ(num_classes(R"(["user", "item"])"), 62);
  look_.seen[0].schema.dim = 0;
  EXPECT_THROW(num_classes(R"(["user", "item"])"), Error);
}

TEST_F(OpenValues, ThatDataDoNotTellAreRefused) {
  look_.smallest_label = -1;
  EXPECT_THAT(
      refusal(),
      HasSubstr("model.layers.0.size: auto is the number of classes, and labels of these data, from -1"));
  look_.smallest_label = 0;
  look_.whole_labels = false;
  EXPECT_THAT(refusal(), HasSubstr("with fractions"));
  look_.whole_labels = true;
  look_.seen[0].largest_key = UINT64_MAX;
  EXPECT_THAT(refusal(), HasSubstr("data.dim: auto: the largest id is 18446744073709551615"));
  look_.examples = 0;
  EXPECT_THAT(refusal(), HasSubstr("no example"));
}

TEST_F(OpenValues, AreRefusedWhereThereAreNoData) {
  const std::string path = testing::TempDir() + "open_values_test.json";
  write_file(path, kOpenJob);
  try {
    load_job(path, {});
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
    EXPECT_THAT(error.message(), HasSubstr("data.slots: auto is for ps-train"));
  }
  const Job job = load_job(path, {}, [&](Json& open) { fill_in(open, look_); });
  EXPECT_EQ(job.data.dim, 784);
  EXPECT_EQ(effective_job(job)["model"]["layers"][0]["input"][0], "*");
}

TEST_F(OpenValues, EveryRecipeParsesOnceItIsFilledIn) {
  ASSERT_FALSE(recipe_folder().empty());
  for (const std::string& file : list_directory(recipe_folder())) {
    const std::string path = join_path(recipe_folder(), file);
    const Job job = load_job(path, {}, [&](Json& open) { fill_in(open, look_); });
    EXPECT_EQ(cat(job.job.name, ".json"), file) << "a recipe is called as its file";
  }
}

TEST_F(OpenValues, ASavedModelForgetsTheRunThatSavedIt) {
  Json job = parse_json(R"({"cluster": {"servers": ["a:1"]}, "checkpoint": {"directory": "x"},
                            "train": {"passes": 3, "strategy": {"type": "all_reduce"}}})",
                        "job.json");
  Json trained = job;
  forget_run(job, /*trains=*/false);
  EXPECT_EQ(job.dump(), R"({"train":{"passes":3}})");
  forget_run(trained, /*trains=*/true);
  EXPECT_EQ(trained["train"]["strategy"]["type"], "all_reduce");
}

}  // namespace
}  // namespace ps::open_values_test
