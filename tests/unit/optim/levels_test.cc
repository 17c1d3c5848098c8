// Every level of instruction sets that this processor has moves weights as the baseline does, to the bit:
// steps have no sums whose order could differ.
#include <gtest/gtest.h>

#include <vector>

#include "base/cpu.h"
#include "base/random.h"
#include "config/json.h"
#include "config/spec.h"
#include "optim/optimizer.h"

namespace ps::levels_test {
namespace {

constexpr size_t kRows = 37;

// Weights and state of rows that are updated at some steps and brought up to date after others.
std::vector<float> trained(const OptimizerEntry& entry, const Json& object, int64_t width, CpuLevel cpu) {
  std::unique_ptr<Optimizer<float>> optimizer = entry.make_float(object, {}, cpu);
  const size_t floats = static_cast<size_t>(width * (1 + optimizer->state_arrays()));
  std::vector<float> memory(kRows * floats), gradients(kRows * static_cast<size_t>(width));
  std::vector<float*> rows;
  Random random(23, 29);
  for (size_t n = 0; n < kRows; ++n) {
    rows.push_back(memory.data() + n * floats);
    for (int64_t i = 0; i < width; ++i) rows[n][i] = static_cast<float>(random.normal());
    optimizer->initialize({rows[n], rows[n] + width, width, width});
  }
  for (int64_t step = 0; step < 6; ++step) {
    for (float& gradient : gradients) gradient = static_cast<float>(random.normal());
    optimizer->begin_step(0.1);
    if (step % 2 == 0) {
      optimizer->update_rows(rows, width, gradients.data(), 0.5f);
    } else {
      for (float* row : rows) optimizer->catch_up({row, row + width, width, width}, step, step + 1);
    }
  }
  return memory;
}

void expect_levels_agree(const OptimizerEntry& entry, const Json& object, int64_t width) {
  const std::vector<float> baseline = trained(entry, object, width, CpuLevel::kBaseline);
  for (CpuLevel level : possible_levels(cpu_features())) {
    EXPECT_EQ(trained(entry, object, width, level), baseline)
        << entry.name << ", width " << width << ", " << cpu_level_name(level);
  }
}

TEST(OptimizerLevels, EveryOptimizerGivesTheBitsOfTheBaseline) {
  for (const OptimizerEntry* entry : optimizer_catalog()) {
    for (int64_t width : {1, 2, 4, 8, 16, 19, 64}) {
      expect_levels_agree(*entry, Json::object(), width);
      expect_levels_agree(*entry, {{"l1", 0.01}, {"l2", 0.02}, {"clip_value", 0.75}}, width);
      expect_levels_agree(*entry, {{"l2", 0.02}}, width);
      for (const auto& field : entry->spec().fields()) {
        if (field->name != "l2_mode") continue;
        for (const char* mode : {"coupled", "decoupled"})
          expect_levels_agree(*entry, {{"l2_mode", mode}, {"l2", 0.02}}, width);
      }
    }
  }
}

}  // namespace
}  // namespace ps::levels_test
