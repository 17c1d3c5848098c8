// update_rows and read_rows are update and read of each row, to the bit, for every optimizer.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "config/json.h"
#include "optim/optimizer.h"

namespace ps::update_rows_test {
namespace {

// Rows that lie apart and in no order, and one step after another on them.
struct Training {
  Training(const OptimizerEntry& entry, Json object, ParameterTuning tuning, int64_t row_width)
      : optimizer(entry.make_float(object, tuning, best_cpu_level())), width(row_width) {
    Random random(11, 12);
    size_t floats = static_cast<size_t>(width * (1 + optimizer->state_arrays()));
    for (size_t n = 0; n < kRows; ++n) {
      memory.emplace_back(floats);
      for (int64_t d = 0; d < width; ++d)
        memory[n][static_cast<size_t>(d)] = static_cast<float>(random.normal());
      optimizer->initialize(row(n));
    }
    for (size_t n = 0; n < kRows; ++n) starts.push_back(memory[n * 7 % kRows].data());
    gradients.resize(kRows * static_cast<size_t>(width));
  }

  Row<float> row(size_t n) { return {memory[n].data(), memory[n].data() + width, width, width}; }

  void begin_step(int step) {
    Random random(13, static_cast<uint64_t>(step));
    for (float& gradient : gradients) gradient = static_cast<float>(3 * random.normal());
    optimizer->begin_step(0.1 / (step + 1));
  }

  static constexpr size_t kRows = 45;
  std::unique_ptr<Optimizer<float>> optimizer;
  int64_t width;
  std::vector<std::vector<float>> memory;
  std::vector<float*> starts;
  std::vector<float> gradients;
};

void expect_same(const OptimizerEntry& entry, const Json& object, const ParameterTuning& tuning,
                 int64_t width) {
  Training together(entry, object, tuning, width), apart(entry, object, tuning, width);
  for (int step = 0; step < 5; ++step) {
    together.begin_step(step);
    together.optimizer->update_rows(together.starts, width, together.gradients.data(), 0.5f);
    apart.begin_step(step);
    for (size_t n = 0; n < Training::kRows; ++n) {
      float* start = apart.starts[n];
      apart.optimizer->update({start, start + width, width, width},
                              apart.gradients.data() + n * static_cast<size_t>(width), 0.5f);
    }
  }
  for (size_t n = 0; n < Training::kRows; ++n) {
    size_t bytes = together.memory[n].size() * sizeof(float);
    EXPECT_EQ(std::memcmp(together.memory[n].data(), apart.memory[n].data(), bytes), 0)
        << entry.name << ", width " << width << ", row " << n;
  }
  const size_t row_floats = static_cast<size_t>(width);
  std::vector<float> read_together(Training::kRows * row_floats), read(row_floats);
  together.optimizer->read_rows(together.starts, width, read_together.data());
  for (size_t n = 0; n < Training::kRows; ++n) {
    float* start = apart.starts[n];
    apart.optimizer->read({start, start + width, width, width}, read.data());
    EXPECT_EQ(std::memcmp(&read_together[n * row_floats], read.data(), row_floats * sizeof(float)), 0)
        << entry.name << ", width " << width << ", row " << n;
  }
}

TEST(UpdateRows, IsUpdateOfEachRowForEveryOptimizer) {
  for (const OptimizerEntry* entry : optimizer_catalog()) {
    for (int64_t width : {1, 2, 4, 8, 16, 19}) {
      expect_same(*entry, Json::object(), {}, width);
      ParameterTuning tuning;
      tuning.clip_value = 1.0;
      tuning.learning_rate = 0.5;
      expect_same(*entry, Json::object(), tuning, width);
    }
  }
}

TEST(UpdateRows, KeepsMeansOfWeightsAndDecays) {
  for (const OptimizerEntry* entry : optimizer_catalog()) {
    Json object = {{"average", Json::object()}, {"l2", 0.01}};
    for (int64_t width : {1, 3}) expect_same(*entry, object, {}, width);
  }
}

}  // namespace
}  // namespace ps::update_rows_test
