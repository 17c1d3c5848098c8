// The hot path allocates for blocks and batches, not for examples.
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/random.h"
#include "config/spec.h"
#include "count_allocations.h"
#include "data/reader.h"
#include "feed/reader_source.h"
#include "store/local_store.h"
#include "support/scratch_folder.h"
#include "train/trainer.h"

namespace ps {
namespace {

std::string make_data(int examples) {
  Random random(3, 3);
  std::string text;
  for (int i = 0; i < examples; ++i) {
    text += random.below(2) ? "1" : "0";
    for (int k = 0; k < 10; ++k) text += cat(" ", random.below(1000), ":", k + 1);
    text += "\n";
  }
  return text;
}

// Allocations of a second pass, when everything has grown to its size.
int64_t allocations_of_a_pass(const std::string& path, int64_t batch_size) {
  Device device(2, best_cpu_level());
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
                   device);
  LocalGroup group;
  Log log("test", LogLevel::kError);
  Reporter reporter(log, ProgressMode::kOff, "");
  Trainer trainer(network, store, device, TrainOptions{}, group, reporter);
  ReaderSource source(network, reader, {.threads = 2});
  auto go_on = [] { return false; };
  trainer.train_pass(0, source, go_on);
  int64_t before = count_allocations();
  trainer.train_pass(1, source, go_on);
  return count_allocations() - before;
}

TEST(Allocations, DoNotGrowWithTheExamplesOfABatch) {
  constexpr int kExamples = 20000;
  ScratchFolder folder;
  const std::string path = folder.path("data.libsvm");
  write_file(path, make_data(kExamples));
  int64_t small = allocations_of_a_pass(path, 100), large = allocations_of_a_pass(path, 1000);
  RecordProperty("allocations_of_200_batches", static_cast<int>(small));
  RecordProperty("allocations_of_20_batches", static_cast<int>(large));
  EXPECT_LT(small, kExamples / 2) << "200 batches";
  EXPECT_LT(large, small) << "a tenth of the batches";
}

TEST(Allocations, ReadingTakesFewForTheFirstPassToo) {
  constexpr int kExamples = 60000;
  ScratchFolder folder;
  const std::string path = folder.path("data.libsvm");
  write_file(path, make_data(kExamples));
  for (const char* shuffle : {"none", "window", "full"}) {
    DataOptions options;
    options.format = "libsvm";
    options.shuffle = shuffle;
    options.shuffle_window = 1000;
    BatchReader reader(options, {path}, {.threads = 2});
    Batch batch;
    const int64_t before = count_allocations();
    reader.begin_pass(0);
    int64_t examples = 0;
    while (reader.next(batch)) examples += batch.size();
    EXPECT_EQ(examples, kExamples);
    EXPECT_LT(count_allocations() - before, kExamples / 10) << shuffle;
  }
}

}  // namespace
}  // namespace ps
