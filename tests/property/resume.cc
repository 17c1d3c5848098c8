// A run that is stopped at any step and goes on from its checkpoint gives the same bits as one that is not:
// for every optimizer, schedules, averages, evaluators and orders of examples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "checkpoint/checkpoint_directory.h"
#include "config/spec.h"
#include "data/reader.h"
#include "feed/reader_source.h"
#include "store/local_store.h"
#include "support/damage.h"
#include "support/faulty_files.h"
#include "support/scratch_folder.h"
#include "train/checkpointer.h"
#include "train/trainer.h"

namespace ps {
namespace {

constexpr int kDim = 300;

// A wide part with sparse update, a dense part with statistics, and one dense table reached by ids.
const Json kModel = {
    {"layers",
     Json::array(
         {{{"name", "wide"}, {"type", "fc"}, {"input", "features"}, {"size", 2}, {"sparse_update", true}},
          {{"name", "deep"}, {"type", "fc"}, {"input", "features"}, {"size", 3}, {"activation", "tanh"}},
          {{"name", "dropped"}, {"type", "dropout"}, {"input", "deep"}, {"rate", 0.2}},
          {{"name", "normed"}, {"type", "batch_norm"}, {"input", "dropped"}},
          {{"name", "deeper"}, {"type", "fc"}, {"input", "normed"}, {"size", 1}},
          {{"name", "flat"}, {"type", "fc"}, {"input", "wide"}, {"size", 1}},
          {{"name", "score"}, {"type", "add"}, {"input", {"flat", "deeper"}}}})},
    {"cost", {{"type", "binary_cross_entropy"}, {"input", "score"}}},
    {"evaluators", {"auc", "classification_error"}}};

std::string make_data(int examples) {
  Random random(7, 7);
  std::string text;
  for (int i = 0; i < examples; ++i) {
    text += random.below(2) ? "1" : "0";
    for (int k = 0; k < 5; ++k) text += cat(" ", random.below(kDim), ":", significant(random.uniform(), 3));
    text += "\n";
  }
  return text;
}

struct Outcome {
  std::vector<uint64_t> keys;
  std::vector<float> weights;
  std::vector<std::string> results;  // of the passes, without times

  bool operator==(const Outcome&) const = default;
};

// One process that trains: stops after some steps, or trains to its end.
struct Process {
  Process(const std::string& data_path, const Json& optimizer, const std::string& shuffle, Device& device,
          const Json& model = kModel)
      : reader(data(shuffle), {data_path}, {.threads = 1, .passes = kPasses}),
        network(ModelOptions::spec().parse(model, "model"), reader.schema(), 1),
        store(network.parameters(), make_optimizer_plan(optimizer, "mean"), UINT64_MAX, device),
        source(network, reader, {.threads = device.threads()}),
        trainer(network, store, device, options(), group, reporter) {}

  static TrainOptions options() {
    TrainOptions out;
    out.log_period = 3;
    return out;
  }

  static DataOptions data(const std::string& shuffle) {
    DataOptions out;
    out.format = "libsvm";
    out.dim = kDim;
    out.batch_size = 16;
    out.shuffle = shuffle;
    out.shuffle_window = 50;
    return out;
  }

  void train(int64_t stop_after, Outcome& outcome) {
    auto stop = [&] { return trainer.progress().step() >= stop_after; };
    for (int pass = trainer.progress().pass(); pass < kPasses && !stop(); ++pass) {
      PassResult result = trainer.train_pass(pass, source, stop);
      if (result.interrupted) return;
      outcome.results.push_back(
          cat(pass, " ", result.batches, " ", result.average_cost, result.evaluators.dump()));
    }
  }

  void read_weights(Outcome& outcome) {
    for (size_t p = 0; p < network.parameters().size(); ++p) {
      const ParameterSpec& spec = network.parameters()[p];
      const int number = static_cast<int>(p);
      std::vector<float> weights(static_cast<size_t>(spec.rows * spec.cols));
      if (spec.sparse) {
        const std::vector<uint64_t> keys = store.keys(number);
        store.read_rows(number, keys, weights.data());
        outcome.keys.insert(outcome.keys.end(), keys.begin(), keys.end());
        outcome.results.push_back(RowReport::spec().to_json(store.row_report(number)).dump());
      } else {
        store.read_all(number, weights.data());
      }
      outcome.weights.insert(outcome.weights.end(), weights.begin(), weights.end());
    }
  }

  static constexpr int kPasses = 2;
  BatchReader reader;
  Network<float> network;
  LocalStore store;
  LocalGroup group;
  Log log{"test", LogLevel::kError};
  Reporter reporter{log, ProgressMode::kOff, ""};
  ReaderSource source;
  Trainer trainer;
};

class Resume : public testing::Test {
 protected:
  Resume() { write_file(path_, make_data(300)); }

  std::unique_ptr<Checkpointer> checkpointer(const CheckpointOptions& options,
                                             FileSystem& files = system_files()) {
    return std::make_unique<Checkpointer>(options, Json{{"model", "of the test"}}, 1, log_, files);
  }

  // The checkpoint of a process, as ps-train writes it.
  static bool write(Checkpointer& keeper, const Process& process) {
    std::string position;
    process.trainer.progress().save(position);
    return keeper.write(process.trainer.progress().step(), process.store, {{"trainer/0", position}});
  }

  // Returns the step of the checkpoint.
  static int64_t restore(Checkpointer& keeper, Process& process) {
    const auto reader = keeper.restore_newest(process.store);
    const std::string position = reader->state("trainer/0");
    ByteReader in(position);
    process.trainer.progress().load(in);
    return reader->manifest().step;
  }

  int64_t newest_step(Checkpointer& keeper) {
    Process process(path_, {{"type", "adagrad"}}, "none", device_);
    return restore(keeper, process);
  }

  // Trains in processes that each end after `steps`, none of which knows more than the checkpoint.
  Outcome train(const Json& optimizer, const std::string& shuffle, int64_t steps, int full_every = 1,
                const Json& model = kModel) {
    Outcome outcome;
    ScratchFolder scratch;
    FaultyFiles files(scratch.path());  // does not wait for the disk
    CheckpointOptions options{.directory = scratch.path("checkpoints"), .full_every = full_every};
    auto keeper = checkpointer(options, files);
    keeper->begin_new();
    for (int64_t stop = steps;; stop += steps) {
      Process process(path_, optimizer, shuffle, device_, model);
      if (stop > steps) restore(*keeper, process);
      process.train(stop, outcome);
      if (process.trainer.progress().pass() == Process::kPasses) {
        process.read_weights(outcome);
        return outcome;
      }
      EXPECT_TRUE(write(*keeper, process));
      if (full_every == 1) keeper = checkpointer(options, files);
    }
  }

  ScratchFolder folder_;
  const std::string path_ = folder_.path("data.libsvm");
  Device device_{2, best_cpu_level()};
  Log log_{"test", LogLevel::kError};
};

TEST_F(Resume, EveryOptimizerGoesOnWithTheSameBits) {
  for (const OptimizerEntry* entry : optimizer_catalog()) {
    const Json optimizer = {{"type", entry->name}, {"learning_rate", 0.1}};
    EXPECT_EQ(train(optimizer, "none", 15), train(optimizer, "none", INT64_MAX)) << entry->name;
  }
}

TEST_F(Resume, DecayAveragesAndSchedulesGoOnWithTheSameBits) {
  const Json decay = {{"type", "momentum"},   {"momentum", 0.9},
                      {"learning_rate", 0.1}, {"l1", 1e-4},
                      {"l2", 1e-3},           {"schedule", {{"type", "poly"}, {"a", 0.01}, {"b", 0.5}}}};
  const Json average = {
      {"type", "adagrad"}, {"learning_rate", 0.1}, {"l2", 1e-3}, {"average", {{"begin_step", 7}}}};
  for (const Json& optimizer : {decay, average}) {
    EXPECT_EQ(train(optimizer, "none", 11), train(optimizer, "none", INT64_MAX)) << optimizer;
  }
}

TEST_F(Resume, EveryOrderOfExamplesGoesOnWithTheSameBits) {
  const Json optimizer = {{"type", "adagrad"}, {"learning_rate", 0.1}};
  for (const char* shuffle : {"none", "window", "full"}) {
    EXPECT_EQ(train(optimizer, shuffle, 13), train(optimizer, shuffle, INT64_MAX)) << shuffle;
  }
}

TEST_F(Resume, IncrementsGoOnWithTheSameBits) {
  const Json optimizer = {{"type", "momentum"}, {"momentum", 0.9}, {"learning_rate", 0.1}, {"l2", 1e-3}};
  EXPECT_EQ(train(optimizer, "none", 5, /*full_every=*/3), train(optimizer, "none", INT64_MAX));
}

// With keys that wait for a row, histories that decide who goes, and increments of rows that are gone.
TEST_F(Resume, RowsThatComeAndGoGoOnWithTheSameBits) {
  const Json optimizer = {{"type", "adagrad"}, {"learning_rate", 0.1}, {"l2", 1e-3}};
  const char* const policies[] = {
      R"({"admission": {"count": 3}, "expire": {"unseen": 1}, "shrink_steps": 4, "decay": 0.7})",
      R"({"admission": {"probability": 0.3}, "limit": 128, "when_full": "evict"})",
      R"({"expire": {"below_score": 0.4}, "shrink_steps": 6, "limit": 256})"};
  for (const char* policy : policies) {
    Json model = kModel;
    model["layers"][0]["weight"]["rows"] = parse_json(policy, "rows");
    const Outcome undisturbed = train(optimizer, "none", INT64_MAX, 1, model);
    EXPECT_FALSE(undisturbed.keys.empty());
    EXPECT_LT(undisturbed.keys.size(), size_t{kDim}) << "nothing goes";
    EXPECT_EQ(train(optimizer, "none", 7, 1, model), undisturbed) << policy;
    EXPECT_EQ(train(optimizer, "none", 5, /*full_every=*/3, model), undisturbed) << policy;
  }
}

TEST_F(Resume, OtherDataThatAreShorterAreRefused) {
  ScratchFolder scratch;
  FaultyFiles files(scratch.path());
  auto keeper = checkpointer({.directory = scratch.path("checkpoints")}, files);
  Outcome outcome;
  const Json optimizer = {{"type", "sgd"}};
  {
    Process process(path_, optimizer, "none", device_);
    process.train(12, outcome);
    ASSERT_TRUE(write(*keeper, process));
  }
  write_file(path_, make_data(50));
  Process process(path_, optimizer, "none", device_);
  restore(*keeper, process);
  const Error error = error_of([&] { process.train(100, outcome); });
  EXPECT_EQ(error.code(), Code::kUsage);
  EXPECT_THAT(error.message(), testing::HasSubstr("the data have 4 batches, but 12 were trained on"));
}

// It is found while rows are taken already, which leave no trace.
TEST_F(Resume, WhatIsDamagedLeavesTheCheckpointBefore) {
  Json model = kModel;
  model["layers"][0]["weight"]["rows"] = parse_json(R"({"admission": {"count": 2}})", "rows");
  const Json optimizer = {{"type", "momentum"}, {"momentum", 0.9}, {"l2", 1e-3}};
  FaultyFiles files(folder_.path());
  auto keeper = checkpointer({.directory = folder_.path("checkpoints")}, files);
  for (int64_t step : {5, 10}) {
    Process process(path_, optimizer, "none", device_, model);
    Outcome outcome;
    if (step > 5) restore(*keeper, process);
    process.train(step, outcome);
    ASSERT_TRUE(write(*keeper, process));
  }
  auto restored = [&](int64_t step) {
    Process next(path_, optimizer, "none", device_, model);
    EXPECT_EQ(restore(*keeper, next), step);
    Outcome found;
    next.train(step + 3, found);
    next.read_weights(found);
    return found;
  };
  const std::string folder = folder_.path("checkpoints/step-000000010");
  const std::vector<std::string> names = list_directory(folder);
  const Outcome newest = restored(10);
  std::optional<Outcome> before;
  Random random(5, 5);
  testing::internal::CaptureStderr();
  for (int64_t i = tries(300); i > 0; --i) {
    const std::string path = join_path(folder, names[random.below(names.size())]), whole = read_file(path);
    const size_t byte = random.below(whole.size());
    SCOPED_TRACE(cat("byte ", byte, " of ", path));
    overwrite(path, byte, std::string(1, static_cast<char>(whole[byte] ^ 1 << random.below(8))));
    const Outcome found = restored(5);
    overwrite(path, byte, whole.substr(byte, 1));
    if (!before) before = found;
    ASSERT_EQ(found, *before);
  }
  ASSERT_NE(newest, *before);
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(restored(10), newest);
}

TEST_F(Resume, AFullDiskFailsOneCheckpointAndTrainingGoesOn) {
  FaultyFiles files(folder_.path());
  const CheckpointOptions options{.directory = folder_.path("checkpoints"), .steps = 5};
  auto keeper = checkpointer(options, files);
  keeper->begin_new();
  Outcome outcome;
  Process process(path_, {{"type", "adagrad"}}, "none", device_);
  process.train(5, outcome);
  ASSERT_TRUE(keeper->due(5) && !keeper->due(6));
  ASSERT_TRUE(write(*keeper, process));
  for (int error : {ENOSPC, EIO}) {
    for (int64_t call : {0, 3, 40, 90}) {
      Process next(path_, {{"type", "adagrad"}}, "none", device_);
      restore(*keeper, next);
      next.train(9, outcome);
      files.fail_at(call, error, /*lasting=*/true);
      EXPECT_FALSE(write(*keeper, next));
      files.heal();
      EXPECT_EQ(newest_step(*keeper), 5);
      EXPECT_TRUE(write(*keeper, next)) << "once there is room";
      EXPECT_EQ(newest_step(*keeper), 9);
      files.remove(folder_.path("checkpoints"));
      Process again(path_, {{"type", "adagrad"}}, "none", device_);
      again.train(5, outcome);
      auto writer = checkpointer(options, files);
      ASSERT_TRUE(write(*writer, again));
    }
  }
}

TEST_F(Resume, ACheckpointOfAnotherJobIsRefused) {
  const CheckpointOptions options{.directory = folder_.path("checkpoints")};
  FaultyFiles files(folder_.path());
  Process process(path_, {{"type", "sgd"}}, "none", device_);
  Outcome outcome;
  process.train(3, outcome);
  auto keeper = checkpointer(options, files);
  ASSERT_TRUE(write(*keeper, process));
  Checkpointer other(options, {{"model", "another"}}, 1, log_);
  const Error error = error_of([&] { other.restore_newest(process.store); });
  EXPECT_EQ(error.code(), Code::kUsage);
  EXPECT_THAT(error.message(), testing::HasSubstr("model is \"of the test\" there and \"another\" here"));
  EXPECT_THAT(error_of([&] { other.begin_new(); }).message(), testing::HasSubstr("--resume"));
  Process wider(path_, {{"type", "momentum"}}, "none", device_);
  EXPECT_THAT(error_of([&] { keeper->restore_newest(wider.store); }).message(),
              testing::HasSubstr("state arrays"));
}

}  // namespace
}  // namespace ps
