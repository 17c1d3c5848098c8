// The hot path allocates nothing per example: batches of twice the size cost no more allocations.
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/random.h"
#include "config/spec.h"
#include "count_allocations.h"
#include "data/reader.h"
#include "ps/local_store.h"
#include "train/trainer.h"

namespace ps {
namespace {

constexpr int kExamples = 20000;

std::string make_data() {
  Random random(3, 3);
  std::string text;
  for (int i = 0; i < kExamples; ++i) {
    text += random.below(2) ? "1" : "0";
    for (int k = 0; k < 10; ++k) text += cat(" ", random.below(1000), ":", k + 1);
    text += "\n";
  }
  return text;
}

// Allocations of a second pass, when everything has grown to its size.
int64_t allocations_of_a_pass(const std::string& path, int64_t batch_size) {
  ThreadPool pool(2);
  DataOptions data;
  data.format = "libsvm";
  data.dim = 1000;
  data.batch_size = batch_size;
  ReaderSettings settings;
  settings.threads = 2;
  settings.passes = 2;
  BatchReader reader(data, {path}, settings);
  Json model = {{"layers", Json::array({{{"name", "score"},
                                         {"type", "fc"},
                                         {"input", "features"},
                                         {"size", 4},
                                         {"activation", "tanh"},
                                         {"sparse_update", true}},
                                        {{"name", "out"}, {"type", "fc"}, {"input", "score"}, {"size", 1}}})},
                {"cost", {{"type", "binary_cross_entropy"}, {"input", "out"}}}};
  Network<float> network(ModelOptions::spec().parse(model, "model"), reader.schema(), 1);
  LocalStore store(network.parameters(),
                   make_optimizer_plan({{"type", "adagrad"}, {"learning_rate", 0.01}}, "mean"), UINT64_MAX,
                   pool);
  LocalGroup group;
  Log log("test", LogLevel::kError);
  Reporter reporter(log, ProgressMode::kOff, "");
  Trainer trainer(network, store, pool, TrainOptions{}, group, reporter);
  auto go_on = [] { return false; };
  trainer.train_pass(0, reader, go_on);
  int64_t before = count_allocations();
  trainer.train_pass(1, reader, go_on);
  return count_allocations() - before;
}

TEST(Allocations, DoNotGrowWithTheExamplesOfABatch) {
  std::string path = testing::TempDir() + "allocations.libsvm";
  write_file(path, make_data());
  int64_t small = allocations_of_a_pass(path, 100), large = allocations_of_a_pass(path, 1000);
  RecordProperty("allocations_of_200_batches", static_cast<int>(small));
  RecordProperty("allocations_of_20_batches", static_cast<int>(large));
  EXPECT_LT(small, kExamples / 2) << "200 batches";
  EXPECT_LT(large, small) << "a tenth of the batches";
}

}  // namespace
}  // namespace ps
