// Plans: sizes of layers, what is faster where, and what is advised.
#include "simulate/plan.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace ps::plan_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

LayerSize layer(const std::string& name, const std::string& type, int64_t inputs, int64_t weights,
                int64_t biases) {
  LayerSize size;
  size.name = name;
  size.type = type;
  size.inputs = inputs;
  size.weights = weights;
  size.biases = biases;
  return size;
}

// A convolution with few weights and many activations, and an fc layer the other way round: 40 MB of weights.
PlanRequest request_at(double bits) {
  PlanRequest request;
  request.layers = {layer("conv", "conv2d", 100000, 10100, 100), layer("pool", "max_pool", 100000, 0, 0),
                    layer("fc", "fc", 1000, 9989900, 9900)};
  request.cluster.ranks = 8;
  request.cluster.bandwidth = bits / 8;
  request.cluster.encode_rate = 1e9;
  request.batch = 32;
  request.compute_seconds = 0.1;
  return request;
}

std::string advice(const Plan& plan) {
  std::string all;
  for (const std::string& line : plan.advice) append(all, line + "\n");
  return all;
}

const StrategyPlan& strategy(const Plan& plan, const std::string& name) {
  for (const StrategyPlan& found : plan.strategies) {
    if (found.name == name) return found;
  }
  fail(Code::kInternal, "no strategy ", name);
}

TEST(Plan, CountsBytesOfWeightsAndActivations) {
  const Plan plan = make_plan(request_at(1e9));
  EXPECT_DOUBLE_EQ(plan.payload.dense_bytes, 4e7);
  EXPECT_DOUBLE_EQ(plan.payload.packed_bytes, 4 * 10000 + 6 * 0.001 * 9990000);
  EXPECT_DOUBLE_EQ(plan.layers[0].activation_bytes, 4.0 * 8 * 32 * 100000);
  EXPECT_EQ(plan.layers[1].activation_bytes, 0) << "pools have no weights to share out";
  EXPECT_DOUBLE_EQ(plan.activation_bytes, 4.0 * 8 * 32 * 101000);
}

// The paper's ratios: 32-bit values and 16-bit run lengths, biases left out.  Lin et al., ICLR 2018.
TEST(Plan, PacksAlexNetAndResNet50AsPublished) {
  auto ratio = [](int64_t weights, int64_t biases) {
    const StepBytes payload = payload_of({layer("net", "fc", 1, weights, biases)}, 0.001);
    return payload.dense_bytes / payload.packed_bytes;
  };
  EXPECT_NEAR(ratio(60965224, 10568), 597, 6);
  EXPECT_NEAR(ratio(25557032, 54120), 277, 3);
}

TEST(Plan, ExchangesActivationsWhereTheyAreFewerThanWeights) {
  const Plan plan = make_plan(request_at(1e9));
  EXPECT_FALSE(plan.layers[0].model_parallel());
  EXPECT_TRUE(plan.layers[2].model_parallel()) << "1 MB of activations, 40 MB of weights";
  EXPECT_THAT(plan.advice, Contains(HasSubstr("data parallel for fc")));
}

TEST(Plan, StepsAreComputeAndExchange) {
  const Plan plan = make_plan(request_at(1e9));
  const StrategyPlan& direct = strategy(plan, "direct");
  EXPECT_NEAR(direct.step_seconds, 0.1 + 2 * 4e7 * 7 / 8 / 1.25e8, 1e-12);
  EXPECT_DOUBLE_EQ(direct.examples_per_second, 256 / direct.step_seconds);
  EXPECT_EQ(plan.strategies[plan.best].name, "direct");
  EXPECT_NEAR(strategy(plan, "local_sgd, k = 4").step_seconds, 0.1 + (direct.step_seconds - 0.1) / 4, 1e-12);
}

TEST(Plan, SaysThatCompressionPaysOnASlowLinkAlone) {
  EXPECT_THAT(advice(make_plan(request_at(1e9))), HasSubstr("compression pays here"));
  PlanRequest packing = request_at(1e10);
  packing.cluster.encode_rate = 7e8;  // 57 ms for 40 MB, which the link takes in 56 ms
  EXPECT_THAT(advice(make_plan(packing)), HasSubstr("compression does not pay: dgc would make a step"));
  const std::string fast = advice(make_plan(request_at(1e11)));
  EXPECT_THAT(fast, HasSubstr("compression does not pay: without any exchange"));
  EXPECT_THAT(fast, Not(HasSubstr("local_sgd")));
}

// At a break-even point the two ways take the same time.
TEST(Plan, BreakEvenPointsAreWhereOneWayOvertakesTheOther) {
  const Plan plan = make_plan(request_at(1e9));
  ASSERT_TRUE(plan.break_evens[0].value);
  Plan even = make_plan(request_at(8 * *plan.break_evens[0].value));
  EXPECT_NEAR(strategy(even, "dgc").step_seconds, strategy(even, "direct").step_seconds, 1e-4);
  ASSERT_TRUE(plan.break_evens[2].value);
  PlanRequest there = request_at(1e9);
  there.cluster.encode_rate = *plan.break_evens[2].value;
  even = make_plan(there);
  EXPECT_NEAR(strategy(even, "dgc").step_seconds, strategy(even, "direct").step_seconds, 1e-9);
}

TEST(Plan, TellsWhenNoBandwidthMakesUpForSums) {
  PlanRequest request = request_at(1e9);
  EXPECT_FALSE(make_plan(request).break_evens[4].always);
  request.cluster.sum_rate = 1e9;  // 35 ms beside 100 ms of compute
  const BreakEven point = make_plan(request).break_evens[4];
  EXPECT_TRUE(point.always) << point.what;
  EXPECT_FALSE(point.value);
}

// Through S servers 8 trainers exchange in 16 V / S, among themselves in 1.75 V: 5.12 s and 0.56 s at 1 Gbit/s.
TEST(Plan, TellsHowManyServersAreEnough) {
  PlanRequest request = request_at(1e9);
  EXPECT_EQ(make_plan(request).break_evens[3].value, std::nullopt)
      << "0.63 s are allowed, 8 servers take 0.64 s";
  request.compute_seconds = 0.3;
  EXPECT_EQ(make_plan(request).break_evens[3].value, 8) << "0.65 s are allowed";
  request.compute_seconds = 10;
  EXPECT_EQ(make_plan(request).break_evens[3].value, 4) << "1.62 s are allowed, 3 servers take 1.71 s";
}

TEST(Plan, OfAModelWithoutDenseWeightsIsRefused) {
  PlanRequest request = request_at(1e9);
  request.layers = {layer("wide", "fc", 10, 0, 0)};
  EXPECT_THROW(make_plan(request), Error);
}

}  // namespace
}  // namespace ps::plan_test
