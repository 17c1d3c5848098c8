// The training loop and its source of batches.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "config/spec.h"
#include "feed/prepared_batch_bytes.h"
#include "feed/reader_source.h"
#include "store/local_store.h"
#include "support/scratch_folder.h"
#include "train/trainer.h"

namespace ps::trainer_source_test {
namespace {

const char* const kModel = R"({
  "layers": [{"name": "wide", "type": "fc", "input": "features", "size": 3, "sparse_update": true,
              "activation": "tanh"},
             {"name": "pairs", "type": "fm", "input": "features", "factors": 4, "sparse_update": true},
             {"name": "flat", "type": "fc", "input": "wide", "size": 1},
             {"name": "score", "type": "add", "input": ["flat", "pairs"]}],
  "cost": {"type": "binary_cross_entropy", "input": "score"},
  "evaluators": ["auc"]})";

// Hands out batches that have travelled as bytes, as from another process.
class ReceivingSource final : public BatchSource {
 public:
  ReceivingSource(const Network<float>& network, BatchSource& from)
      : network_(network), from_(from), planners_(network.make_planners()) {}

  int64_t begin_pass(const SourcePass& pass, const Stop& stop) override {
    return from_.begin_pass(pass, stop);
  }
  const PreparedBatch* next(const Stop& stop) override {
    const PreparedBatch* sent = from_.next(stop);
    if (sent == nullptr) return nullptr;
    std::string bytes;
    encode_prepared(*sent, bytes);
    decode_prepared(bytes, network_, planners_, received_);
    return &received_;
  }
  const PreparedBatch* peek(size_t) override { return nullptr; }
  double fraction_read() const override { return from_.fraction_read(); }
  void end_pass() override { from_.end_pass(); }

 private:
  const Network<float>& network_;
  BatchSource& from_;
  Network<float>::Planners planners_;
  PreparedBatch received_;
};

class TrainerSource : public testing::Test {
 protected:
  TrainerSource() {
    Random random(3, 4);
    std::string text;
    for (int i = 0; i < 1000; ++i)
      text += cat(i % 2, " ", random.below(50), ":1 ", 50 + random.below(50), ":1\n");
    write_file(path_, text);
  }

  // One process that trains on one thread.
  struct Process {
    explicit Process(const std::string& path)
        : reader(options(), {path}, {.threads = 1, .passes = 3}),
          network(ModelOptions::spec().parse(parse_json(kModel, "model"), "model"), reader.schema(), 1),
          store(network.parameters(),
                make_optimizer_plan({{"type", "adagrad"}, {"learning_rate", 0.1}}, "mean"), UINT64_MAX,
                device),
          source(network, reader, {.threads = 1}),
          trainer(network, store, device, TrainOptions{}, group, reporter) {}

    static DataOptions options() {
      DataOptions data;
      data.format = "libsvm";
      data.dim = 100;
      data.batch_size = 64;
      return data;
    }

    std::vector<float> weights(int parameter) {
      std::vector<uint64_t> keys = store.keys(parameter);
      std::vector<float> out(keys.size() * static_cast<size_t>(network.parameters()[0].cols));
      store.read_rows(parameter, keys, out.data());
      return out;
    }

    BatchReader reader;
    Network<float> network;
    Device device{1, best_cpu_level()};
    LocalStore store;
    LocalGroup group;
    Log log{"test", LogLevel::kError};
    Reporter reporter{log, ProgressMode::kOff, ""};
    ReaderSource source;
    Trainer trainer;
  };

  const BatchSource::Stop kGoOn = [] { return false; };
  ScratchFolder folder_;
  const std::string path_ = folder_.path("data.libsvm");
};

TEST_F(TrainerSource, BatchesOfAnotherProcessGiveTheSameBits) {
  Process here(path_), there(path_);
  ReceivingSource received(there.network, there.source);
  for (int pass = 0; pass < 3; ++pass) {
    const PassResult a = here.trainer.train_pass(pass, here.source, kGoOn);
    const PassResult b = there.trainer.train_pass(pass, received, kGoOn);
    EXPECT_EQ(a.average_cost, b.average_cost);
    EXPECT_EQ(a.evaluators, b.evaluators);
    EXPECT_EQ(here.trainer.test(pass, here.source, kGoOn).cost,
              there.trainer.test(pass, received, kGoOn).cost);
  }
  const std::vector<float> a = here.weights(0), b = there.weights(0);
  ASSERT_EQ(a.size(), b.size());
  ASSERT_FALSE(a.empty());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
}

// Threads that take turns on one core hand every batch from cache to cache: 5 % of logistic regression's time.
TEST_F(TrainerSource, TrainingOnOneThreadStartsNoOther) {
  Process process(path_);
  auto num_threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  const auto before = num_threads();
  int asked = 0;
  process.trainer.train_pass(0, process.source, [&] {
    ++asked;
    EXPECT_EQ(num_threads(), before);
    return false;
  });
  EXPECT_GT(asked, 16) << "between batches";
}

// Two trainers, of which the second says what the first says.
class EchoGroup final : public TrainerGroup {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  int leader() const override { return 0; }
  std::vector<std::string> gather(std::string bytes) override {
    ++gatherings;
    return {bytes, bytes};
  }

  int gatherings = 0;
};

TEST_F(TrainerSource, TextsOfAPassGoWithItsFiguresInOneGathering) {
  Process process(path_);
  EchoGroup group;
  Trainer trainer(process.network, process.store, process.device, TrainOptions{}, group, process.reporter);
  trainer.train_pass(0, process.source, kGoOn);
  EXPECT_EQ(group.gatherings, 1);
  std::vector<std::string> heard;
  std::vector<float> weights;
  trainer.share_at_pass_end({[&](int pass) {
                               weights = process.weights(0);
                               return cat("after ", pass);
                             },
                             [&](std::span<const std::optional<std::string>> texts) {
                               for (const std::optional<std::string>& text : texts)
                                 heard.push_back(text.value_or("gone"));
                             }});
  const PassResult result = trainer.train_pass(1, process.source, kGoOn);
  EXPECT_EQ(group.gatherings, 2);
  EXPECT_EQ(heard, std::vector<std::string>(2, "after 1"));
  EXPECT_EQ(result.samples, 2000) << "figures are those of both";
  EXPECT_EQ(weights, process.weights(0)) << "the text is given when all steps of the pass are done";
}

}  // namespace
}  // namespace ps::trainer_source_test
