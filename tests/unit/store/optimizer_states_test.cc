// The optimizers of all tables, as bytes.
#include "store/optimizer_states.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/json.h"
#include "optim/synthetic_parameter.h"

namespace ps::optimizer_states_test {
namespace {

class OptimizerStates : public testing::Test {
 protected:
  std::unique_ptr<ParameterTables> tables(const char* type = "adam") {
    const Json json = {{"type", type}, {"learning_rate", 1}};
    return std::make_unique<ParameterTables>(
        std::vector{synthetic_parameter("w", ParameterKind::kMatrix, false, 3, 2),
                    synthetic_parameter("mean", ParameterKind::kStatistic, false, 3, 2),
                    synthetic_parameter("rows", ParameterKind::kRows, true, 10, 2)},
        make_optimizer_plan(json, "sum"), TableSettings(), device_);
  }

  static std::string saved(const ParameterTables& tables) {
    std::string out;
    save_optimizers(tables, out);
    return out;
  }

  Device device_{1, best_cpu_level()};
};

TEST_F(OptimizerStates, AreLoadedAsTheyWereSaved) {
  const auto one = tables(), other = tables();
  EXPECT_EQ(optimizer_steps(*one), 0);
  count_idle_steps(*one, 0.5, 3);
  EXPECT_EQ(optimizer_steps(*one), 3);
  EXPECT_NE(saved(*one), saved(*other));
  const std::string bytes = saved(*one);
  ByteReader in(bytes);
  load_optimizers(*other, in, 3);
  EXPECT_EQ(in.remaining(), 0u);
  EXPECT_EQ(saved(*one), saved(*other));
}

TEST_F(OptimizerStates, OfDenseAndOfSparseParametersAreAllOfThem) {
  const auto one = tables();
  count_idle_steps(*one, 0.5, 2);
  std::string parts;
  save_optimizers(*one, /*sparse=*/false, parts);
  EXPECT_FALSE(parts.empty());
  EXPECT_LT(parts.size(), saved(*one).size());
  save_optimizers(*one, /*sparse=*/true, parts);
  EXPECT_EQ(parts, saved(*one));
}

TEST_F(OptimizerStates, OfOtherStepsOrCutShortAreRefused) {
  const auto one = tables();
  count_idle_steps(*one, 0.5, 2);
  const std::string bytes = saved(*one);
  const auto refusal = [this](std::string_view some, int64_t steps) {
    const auto fresh = tables();
    ByteReader in(some);
    try {
      load_optimizers(*fresh, in, steps);
    } catch (const Error& error) {
      return error.code() == Code::kCorrupt;
    }
    return false;
  };
  EXPECT_FALSE(refusal(bytes, 2));
  EXPECT_TRUE(refusal(bytes, 1));
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_TRUE(refusal(bytes.substr(0, size), 2)) << size;
}

TEST_F(OptimizerStates, RememberStepsUnlessWeightsAreAll) {
  EXPECT_TRUE(optimizers_remember_steps(*tables()));
  EXPECT_FALSE(optimizers_remember_steps(*tables("sgd")));
}

}  // namespace
}  // namespace ps::optimizer_states_test
