// The step that an optimizer tells is the step that it makes.
#include "optim/current_step.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include "base/random.h"
#include "config/json.h"
#include "optim/optimizer.h"
#include "optim/optimizer_plan.h"
#include "optim/step_kernels.h"

namespace ps::current_step_test {
namespace {

constexpr int64_t kWidth = 5;

// Applies a step to a row whose state lies behind its weights.  The mean, if there is one, is the last array.
void apply(const CurrentStep<float>& current, std::vector<float>& row, const std::vector<float>& gradient,
           float scale) {
  std::visit(
      [&](const auto& step) {
        using Step = std::remove_cvref_t<decltype(step)>;
        if constexpr (!std::is_same_v<Step, std::monostate>) {
          step_kernels<Step>(best_cpu_level())
              .row(step,
                   {row.data(), row.data() + kWidth, kWidth, kWidth, gradient.data(), scale, current.bound});
        }
      },
      current.step);
  if (!current.mean) return;
  const Dither dither(current.mean->dither);
  for (size_t i = 0; i < kWidth; ++i)
    hold_mean(current.mean->mean, dither.at(i), row[i], row[row.size() - kWidth + i]);
}

void expect_described_as_made(const Json& object) {
  const auto optimizer = make_optimizer_plan(object, "sum").make({});
  ASSERT_TRUE(optimizer->current_step()) << object.dump();
  std::vector<float> made(static_cast<size_t>(kWidth * (1 + optimizer->state_arrays())));
  Random random(3, 1);
  for (int64_t i = 0; i < kWidth; ++i) made[static_cast<size_t>(i)] = static_cast<float>(random.normal());
  const Row<float> row{made.data(), made.data() + kWidth, kWidth, kWidth};
  optimizer->initialize(row);
  std::vector<float> told = made;
  for (double rate : {0.1, 0.05, 0.0, 0.025}) {
    std::vector<float> gradient(kWidth);
    for (float& g : gradient) g = static_cast<float>(random.normal());
    optimizer->begin_step(rate);
    optimizer->update(row, gradient.data(), 0.5f);
    apply(*optimizer->current_step(), told, gradient, 0.5f);
    for (size_t i = 0; i < made.size(); ++i)
      ASSERT_EQ(std::bit_cast<uint32_t>(told[i]), std::bit_cast<uint32_t>(made[i]))
          << object.dump() << " float " << i;
  }
}

TEST(CurrentStep, OfEveryOptimizerIsTheStepThatItMakes) {
  for (const OptimizerEntry* entry : optimizer_catalog()) {
    expect_described_as_made({{"type", entry->name}});
    expect_described_as_made({{"type", entry->name}, {"l1", 0.01}, {"l2", 0.02}, {"clip_value", 0.3}});
  }
  expect_described_as_made({{"type", "momentum"}, {"nesterov", true}, {"l2", 0.02}});
  expect_described_as_made({{"type", "momentum"}, {"l2_mode", "decoupled"}, {"l2", 0.02}});
  for (const char* type : {"adagrad", "decayed_adagrad", "rmsprop", "adadelta", "adam", "adamax"})
    expect_described_as_made({{"type", type}, {"l2_mode", "coupled"}, {"l2", 0.02}, {"clip_value", 0.3}});
}

TEST(CurrentStep, IsFollowedByTheMeanOfTheWeights) {
  for (const OptimizerEntry* entry : optimizer_catalog()) {
    for (int64_t begin : {0, 2})
      expect_described_as_made({{"type", entry->name}, {"l2", 0.02}, {"average", {{"begin_step", begin}}}});
  }
  const auto optimizer =
      make_optimizer_plan({{"type", "sgd"}, {"average", {{"begin_step", 1}}}}, "sum").make({});
  optimizer->begin_step(0.1);
  EXPECT_FALSE(optimizer->current_step()->mean);
  optimizer->begin_step(0.1);
  EXPECT_TRUE(optimizer->current_step()->mean);
}

}  // namespace
}  // namespace ps::current_step_test
