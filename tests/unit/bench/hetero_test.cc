#include "bench/plan/hetero.h"

#include <gtest/gtest.h>

namespace ps::hetero_test {
namespace {

HeteroRequest request() {
  return {.read_seconds = 0.06,
          .cpu_seconds = 0.5,
          .compute_seconds = 0.02,
          .batch_bytes = 1e6,
          .bandwidth = 1e9,
          .most_processors = 8,
          .most_accelerators = 4,
          .processor_price = 1,
          .accelerator_price = 4};
}

TEST(HeteroPlan, TheSlowestPartDecides) {
  const HeteroRequest costs = request();
  const HeteroChoice readers = hetero_choice(costs, HeteroCut::kRows, 2, 1);
  EXPECT_DOUBLE_EQ(readers.batches_per_second, 2 / 0.06);
  EXPECT_EQ(readers.limit, "processors");
  const HeteroChoice compute = hetero_choice(costs, HeteroCut::kRows, 4, 1);
  EXPECT_DOUBLE_EQ(compute.batches_per_second, 1 / 0.02);
  EXPECT_EQ(compute.limit, "accelerators");
  HeteroRequest slow = costs;
  slow.bandwidth = 2e7;
  const HeteroChoice links = hetero_choice(slow, HeteroCut::kRows, 4, 2);
  EXPECT_DOUBLE_EQ(links.batches_per_second, 2 / 0.05);
  EXPECT_EQ(links.limit, "links");
}

// A batch has 10 MB of its own, 6 of rows and 20 of dense parameters, and links carry 10 MB/s.
TEST(HeteroPlan, LinksCarryRowsAndDenseParametersToo) {
  HeteroRequest costs = request();
  costs.batch_bytes = 1e7, costs.row_bytes = 6e6, costs.dense_bytes = 2e7;
  costs.bandwidth = 1e7;
  const auto rate = [&](HeteroCut cut, int64_t processors, int64_t accelerators) {
    const HeteroChoice choice = hetero_choice(costs, cut, processors, accelerators);
    EXPECT_EQ(choice.limit, "links");
    return choice.batches_per_second;
  };
  costs.servers = 10;
  EXPECT_DOUBLE_EQ(rate(HeteroCut::kRows, 1, 4), 1 / 1.6) << "the reader: 10 + 6";
  EXPECT_DOUBLE_EQ(rate(HeteroCut::kRows, 4, 1), 1 / 3.0) << "the compute trainer: 10 + 20";
  EXPECT_DOUBLE_EQ(rate(HeteroCut::kNone, 1, 0), 1 / (0.56 + 2 * 2.6))
      << "a plain trainer waits for both ways";
  EXPECT_DOUBLE_EQ(rate(HeteroCut::kAccelerators, 0, 2), 2 / (0.02 + 2 * 2.6)) << "two, which read meanwhile";
  costs.servers = 2;
  EXPECT_DOUBLE_EQ(rate(HeteroCut::kRows, 8, 4), 2 / 2.6) << "the servers: 6 + 20, on two links";
  EXPECT_DOUBLE_EQ(rate(HeteroCut::kNone, 8, 0), 2 / 2.6);
  EXPECT_EQ(make_hetero_plan(costs).choices[2].processors, 2)
      << "two compute trainers take 1.5 s, one reader 1.6 s";
}

TEST(HeteroPlan, WithoutACutATrainerDoesBoth) {
  EXPECT_DOUBLE_EQ(hetero_choice(request(), HeteroCut::kNone, 2, 0).batches_per_second, 2 / 0.56);
  EXPECT_DOUBLE_EQ(hetero_choice(request(), HeteroCut::kAccelerators, 0, 2).batches_per_second, 2 / 0.06);
}

TEST(HeteroPlan, NoFewerReadersFillTheComputeTrainers) {
  const HeteroPlan plan = make_hetero_plan(request());
  ASSERT_EQ(plan.choices.size(), 6u);
  for (size_t c = 1; c <= 4; ++c) {
    const HeteroChoice& choice = plan.choices[c];
    EXPECT_EQ(choice.accelerators, static_cast<int64_t>(c));
    const HeteroChoice more =
        hetero_choice(request(), HeteroCut::kRows, choice.processors + 1, choice.accelerators);
    const HeteroChoice fewer =
        hetero_choice(request(), HeteroCut::kRows, choice.processors - 1, choice.accelerators);
    if (choice.processors < 8) {
      EXPECT_DOUBLE_EQ(choice.batches_per_second, more.batches_per_second);
    }
    EXPECT_LT(fewer.batches_per_second, choice.batches_per_second);
  }
  EXPECT_EQ(plan.choices[1].processors, 3);
  EXPECT_EQ(plan.choices[2].processors, 6);
  EXPECT_EQ(plan.choices[3].processors, 8) << "there are no more";
}

TEST(HeteroPlan, TheFastestAndTheCheapestOfAllAreNamed) {
  const HeteroPlan plan = make_hetero_plan(request());
  for (const HeteroChoice& choice : plan.choices) {
    EXPECT_LE(choice.batches_per_second, plan.choices[plan.fastest].batches_per_second);
    EXPECT_GE(choice.batch_price(), plan.choices[plan.cheapest].batch_price() * (1 - 1e-9));
  }
  EXPECT_EQ(plan.choices[plan.fastest].cut, HeteroCut::kRows);
  EXPECT_EQ(plan.choices[plan.fastest].accelerators, 3) << "a fourth has nothing to do";
  EXPECT_EQ(plan.choices[plan.cheapest].accelerators, 2) << "both are busy, and the others' machines are not";
}

TEST(HeteroPlan, AModelWithLittleToComputeIsNotCut) {
  HeteroRequest costs = request();
  costs.cpu_seconds = 0.001;
  costs.accelerator_price = 20;
  const HeteroPlan plan = make_hetero_plan(costs);
  EXPECT_EQ(plan.choices[plan.cheapest].cut, HeteroCut::kNone);
}

}  // namespace
}  // namespace ps::hetero_test
