// The memory of a device is planned before it is taken, and a job that devices cannot train is refused.
#include "device/cache_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "device/device_type.h"

namespace ps::cache_plan_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

ParameterSpec sparse_table(const char* name, int64_t rows, int64_t cols) {
  ParameterSpec spec;
  spec.name = name;
  spec.kind = ParameterKind::kRows;
  spec.sparse = true;
  spec.rows = rows;
  spec.cols = cols;
  return spec;
}

OptimizerPlan adam() {
  return make_optimizer_plan({{"type", "adam"}}, "mean");
}

class CachePlanTest : public testing::Test {
 protected:
  CachePlan plan(const std::vector<ParameterSpec>& parameters, const OptimizerPlan& optimizers = adam()) {
    return plan_caches(*device_, options_, parameters, optimizers);
  }
  std::string refusal(const std::vector<ParameterSpec>& parameters, Code code,
                      const OptimizerPlan& optimizers = adam()) {
    try {
      plan(parameters, optimizers);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      return error.message();
    }
    return "";
  }

  DeviceOptions options_{.type = "emulated", .rows = 0, .bytes = "1M"};
  std::unique_ptr<RowDevice> device_ = make_emulated_device();
};

TEST_F(CachePlanTest, TakesTheMemoryThatItSaysAndNoMoreThanIsGiven) {
  const auto tables = {sparse_table("narrow", 0, 1), sparse_table("wide", 0, 64)};
  const CachePlan planned = plan(tables);
  ASSERT_EQ(planned.caches.size(), 2u);
  EXPECT_LE(planned.bytes, 1u << 20);
  EXPECT_GT(planned.bytes, (1u << 20) * 9 / 10);
  const uint64_t before = device_->free_bytes();
  std::vector<std::unique_ptr<CachedRows>> rows;
  for (const PlannedCache& cache : planned.caches) rows.push_back(device_->make_rows(cache.rows));
  constexpr uint64_t kRoundedUp = (2 * 16 + 10) * 256;  // arrays begin at multiples of 256 bytes
  EXPECT_GE(before - device_->free_bytes(), planned.bytes);
  EXPECT_LE(before - device_->free_bytes(), planned.bytes + kRoundedUp);
  EXPECT_EQ(rows[1]->num_buckets(), planned.caches[1].rows.rows / 32);
  EXPECT_THAT(describe(planned, tables),
              AllOf(HasSubstr("  narrow: "), HasSubstr(" rows of 64 weights and 128 of state"),
                    HasSubstr("in all ")));
}

// The least number of bytes that a refusal names is enough, however many devices share them.
TEST_F(CachePlanTest, AsManyBytesAsTheRefusalAsksForAreEnough) {
  const auto tables = {sparse_table("table", 0, 8)};
  for (const char* type :
       {"emulated", "emulated:0,emulated:1", "emulated:0,emulated:1,emulated:2,emulated:3"}) {
    SCOPED_TRACE(type);
    options_ = {.type = type, .rows = 0, .bytes = "1"};
    device_ = open_row_device(type);
    const std::string message = refusal(tables, Code::kUsage);
    const std::string asked = "expected ";
    const size_t at = message.find(asked);
    ASSERT_NE(at, std::string::npos) << message;
    const uint64_t least = std::stoull(message.substr(at + asked.size()));
    options_.bytes = std::to_string(least);
    const CachePlan planned = plan(tables);
    EXPECT_LE(planned.bytes, least);
    EXPECT_GE(planned.caches[0].rows.rows, 1u);
    EXPECT_NE(device_->make_rows(planned.caches[0].rows), nullptr);
  }
}

// The mean is an array of state.
TEST_F(CachePlanTest, CountsTheMeansOfWeights) {
  const OptimizerPlan average = make_optimizer_plan({{"type", "adam"}, {"average", Json::object()}}, "mean");
  const auto tables = {sparse_table("table", 0, 2)};
  EXPECT_THAT(describe(plan(tables, average), tables), HasSubstr(" rows of 2 weights and 6 of state"));
}

TEST_F(CachePlanTest, WeightsOf16BitsTakeHalfTheRoom) {
  const auto tables = {sparse_table("table", 0, 64)};
  const OptimizerPlan sgd = make_optimizer_plan({{"type", "sgd"}}, "mean");
  const uint64_t rows = plan(tables, sgd).caches[0].rows.rows;
  options_.values = "bf16";
  const CachePlan planned = plan(tables, sgd);
  EXPECT_GT(planned.caches[0].rows.rows, rows * 16 / 10);
  EXPECT_LE(planned.bytes, 1u << 20);
  EXPECT_THAT(describe(planned, tables),
              HasSubstr(" rows of 64 weights as bf16, rounded stochastically, and 0 of state"));
  EXPECT_TRUE(planned.caches[0].rows.rounding.evenly);
  options_.rounding = "nearest";
  EXPECT_THAT(describe(plan(tables, sgd), tables), HasSubstr("as bf16, rounded to the nearest, and"));
}

TEST_F(CachePlanTest, RowsThatNobodyHasTrainedComeAheadUnless16BitsChangeTheirWeights) {
  ParameterSpec spec = sparse_table("table", 0, 2);
  const auto loads_untrained = [&](const Initializer& initializer) {
    spec.initializer = initializer;
    return plan({spec}).caches[0].loads_untrained;
  };
  const Initializer drawn{Distribution::kUniform, 0, 1, 5}, half{Distribution::kConstant, 0.5, 0, 0},
      tenth{Distribution::kConstant, 0.1, 0, 0};
  EXPECT_TRUE(loads_untrained(drawn));
  EXPECT_TRUE(loads_untrained(tenth));
  options_.values = "f16";
  EXPECT_FALSE(loads_untrained(drawn));
  EXPECT_FALSE(loads_untrained({Distribution::kNormal, 0, 1, 5}));
  EXPECT_FALSE(loads_untrained(tenth));
  EXPECT_TRUE(loads_untrained(half));
  EXPECT_TRUE(loads_untrained({}));
}

TEST_F(CachePlanTest, GivesNoMoreRowsThanATableCanHave) {
  const CachePlan planned = plan({sparse_table("table", 100, 2)});
  EXPECT_LE(planned.caches[0].rows.rows, 264u);
  EXPECT_LT(planned.bytes, 128u << 10);
}

TEST_F(CachePlanTest, RowsAreWholeBuckets) {
  options_.rows = 33;
  const CachePlan planned = plan({sparse_table("table", 0, 2)});
  EXPECT_EQ(device_->make_rows(planned.caches[0].rows)->num_buckets(), 2u);
  EXPECT_THAT(describe(planned, {sparse_table("table", 0, 2)}), HasSubstr("table: 64 rows"));
}

TEST_F(CachePlanTest, RefusesWhatDevicesCannotTrain) {
  ParameterSpec dense = sparse_table("dense", 10, 2);
  dense.sparse = false;
  EXPECT_THAT(refusal({dense}, Code::kUsage), HasSubstr("no parameter of the model has sparse update"));
}

TEST_F(CachePlanTest, RefusesTooLittleMemoryAndTooMuch) {
  options_.bytes = 5000;
  EXPECT_THAT(refusal({sparse_table("table", 0, 64)}, Code::kUsage),
              AllOf(HasSubstr("device.bytes: 5000 bytes for parameter 'table', expected "),
                    HasSubstr("for 32 rows")));
  options_.rows = 1 << 30;
  EXPECT_THAT(refusal({sparse_table("table", 0, 64)}, Code::kExhausted),
              AllOf(HasSubstr("caches of rows need "), HasSubstr("free on 'emulated'")));
}

TEST(DeviceOptions, NameADevice) {
  for (const char* type : {"cpu", "emulated", "cuda:0", "cuda:15"}) {
    EXPECT_EQ(DeviceOptions::spec().parse({{"type", type}}, "device").type, type);
  }
  for (const char* type : {"", "gpu", "cuda", "cuda:", "cuda:x", "cuda:-1", "cuda:0,1"}) {
    EXPECT_THROW(DeviceOptions::spec().parse({{"type", type}}, "device"), Error) << type;
  }
  EXPECT_THROW(DeviceOptions::spec().parse({{"bytes", "many"}}, "device"), Error);
  EXPECT_THROW(DeviceOptions::spec().parse({{"bytes", 0}}, "device"), Error);
  EXPECT_THROW(DeviceOptions::spec().parse({{"rows", -1}}, "device"), Error);
}

// In a build without CUDA, as on a machine that has no such GPU.
TEST(RowDevice, SaysWhichGpuThereIsNot) {
  try {
    open_row_device("cuda:99");
    FAIL() << "there is a GPU";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
    EXPECT_THAT(error.message(), HasSubstr("device.type: 'cuda:99': "));
  }
}

}  // namespace
}  // namespace ps::cache_plan_test
