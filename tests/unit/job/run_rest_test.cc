// Data that a trainer takes over from a lost one: they are read as that one would have read them.
#include "job/run_rest.h"

#include <gtest/gtest.h>

#include "config/json.h"
#include "config/spec.h"
#include "support/scratch_folder.h"

namespace ps::run_rest_test {
namespace {

// A run in which one strand is left, that of the whole data.
class OneLost final : public RunControl {
 public:
  uint64_t id() const override { return 1; }
  RunPosition position() const override { return {}; }
  bool finished() const override { return false; }
  std::vector<std::string> restored_states() override { return {}; }
  Saver elect_saver(SaveStage, const std::string&) override { return {.elected = true, .rank = 0}; }
  ServerCheckpoints* checkpoints() override { return nullptr; }
  std::optional<DataStrand> next_strand(int64_t) override { return std::exchange(rest_, std::nullopt); }
  void end_run() override {}
  void leave_run() override {}

 private:
  std::optional<DataStrand> rest_ = DataStrand{};
};

class NotRead final : public BatchSource {
 public:
  int64_t begin_pass(const SourcePass&, const Stop&) override { return 0; }
  const PreparedBatch* next(const Stop&) override { return nullptr; }
  const PreparedBatch* peek(size_t) override { return nullptr; }
  double fraction_read() const override { return 0; }
  void end_pass() override {}
};

// All labels and ids of a pass.
std::string examples_of(BatchReader& reader) {
  std::string all;
  Batch batch;
  reader.begin_pass(0);
  while (reader.next(batch)) {
    for (float label : batch.labels) all += cat(label, " ");
    for (const SlotData& slot : batch.slots) {
      for (uint64_t key : slot.keys) all += cat(key, " ");
    }
  }
  return all;
}

class RunRestTest : public testing::Test {
 protected:
  // Expects that data of a lost trainer are read as this trainer reads its own.
  void expect_same(const Json& data, const std::string& text) {
    write_file(folder_.path("data"), text);
    Json document = Json::parse(R"({
      "model": {"layers": [{"name": "score", "type": "fc", "input": "x", "size": 1, "sparse_update": true}],
                "cost": {"type": "squared_error", "input": "score"}},
      "optimizer": {"type": "sgd", "learning_rate": 0.5}})");
    document["data"] = data;
    Job job = Job::spec().parse(document, "job");
    job.data.files = {folder_.path("data")};
    if (!job.data.csv.columns.empty()) job.data.csv.learnt = true;
    RunOptions options;
    Log log("test", LogLevel::kError);
    TaskData task(job, options, log);
    const auto reader_of = [&](DataPart part) {
      return task.make_reader(job.data.files, job.data.shuffle, 1, {}, part);
    };
    const Network<float> network(job.model, {{{.name = "x", .dim = 9}}}, 1);
    const std::unique_ptr<BatchReader> own = reader_of(DataPart::kTraining);
    std::string taken_over;
    const auto make_source = [&](BatchReader& reader) {
      taken_over = examples_of(reader);
      return std::make_unique<NotRead>();
    };
    OneLost run;
    RunRest rest(job, task, network, run, *own, make_source, log);
    EXPECT_NE(rest.next(0), nullptr);
    EXPECT_EQ(taken_over, examples_of(*own));
    EXPECT_NE(taken_over, examples_of(*reader_of(DataPart::kAll))) << "the part matters";
    EXPECT_EQ(rest.next(0), nullptr);
  }

  ScratchFolder folder_;
};

TEST_F(RunRestTest, NegativeExamplesAreLeftOutAtTheSameRate) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += cat(i % 4 == 0 ? 1 : 0, " ", i, ":1\n");
  expect_same({{"format", "libsvm"}, {"dim", 400}, {"negative_rate", 0.3}}, text);
}

TEST_F(RunRestTest, ExamplesThatValuesKeepForValidationAreNotTrained) {
  std::string text = "user,y\n";
  for (int i = 0; i < 60; ++i) text += cat("u", i % 5, ",", i, "\n");
  const Json column = {{"name", "user"}, {"type", "category"}};
  expect_same({{"format", "csv"},
               {"csv", {{"label", "y"}, {"columns", {column}}}},
               {"validation_by", "user"},
               {"validation_values", {"u3"}}},
              text);
}

TEST_F(RunRestTest, WordsAreDrawnAlike) {
  std::string text;
  for (int i = 0; i < 900; ++i) text += cat("w", i % 7 == 0 ? i % 50 : i % 3, i % 20 == 19 ? "\n" : " ");
  expect_same({{"format", "text"}, {"text", {{"context", 2}, {"subsample", 0.01}}}}, text);
}

}  // namespace
}  // namespace ps::run_rest_test
