#include "bench/synthetic.h"

#include <algorithm>
#include <cmath>

#include "bench/train/plain_logistic.h"
#include "bench_test.h"

namespace ps::synthetic_test {
namespace {

using testing::HasSubstr;

Digest digest_of(std::vector<Key> keys, std::vector<float> values, float label) {
  Batch batch;
  batch.labels = {label};
  batch.slots.resize(1);
  batch.slots[0].offsets = {0, static_cast<uint32_t>(keys.size())};
  batch.slots[0].keys = std::move(keys);
  batch.slots[0].values = std::move(values);
  Digest digest;
  digest.add(batch);
  return digest;
}

TEST(DigestTest, OrderOfIdsAndValuesOfOneDoNotMatter) {
  digest_of({3, 5}, {}, 1).expect(digest_of({5, 3}, {1, 1}, 1), true);
}

TEST(DigestTest, AnyOtherIdValueOrLabelShows) {
  const Digest right = digest_of({3, 5}, {0.5f, 2}, 1);
  auto fault_of = [&](const Digest& wrong) { return message_of([&] { wrong.expect(right, true); }); };
  EXPECT_THAT(fault_of(digest_of({3, 6}, {0.5f, 2}, 1)), HasSubstr("sum of ids: 9, expected 8"));
  EXPECT_THAT(fault_of(digest_of({3, 5}, {0.5f, 2.001f}, 1)), HasSubstr("sum of values"));
  EXPECT_THAT(fault_of(digest_of({3, 5}, {0.5f, 2}, 0)), HasSubstr("sum of labels"));
  EXPECT_THAT(fault_of(digest_of({8}, {2.5f}, 1)), HasSubstr("ids: 1, expected 2"));
  EXPECT_THAT(fault_of(Digest{}), HasSubstr("examples: 0, expected 1"));
}

TEST(DigestTest, HashedIdsAreOnlyCounted) {
  digest_of({3, 5}, {}, 1).expect(digest_of({100, 200}, {}, 1), false);
}

TEST(Synthetic, BytesHoldTheExamplesOfTheDigest) {
  SyntheticData data = make_synthetic({"sparse-binary", "libsvm", forty_ids()}, 0.001, 50000);
  EXPECT_EQ(data.digest.examples, 50);
  EXPECT_EQ(data.digest.keys, 50 * 40);
  EXPECT_EQ(std::count(data.bytes.begin(), data.bytes.end(), '\n'), 50);
  EXPECT_EQ(data.options.dim, 18000);
}

TEST(Synthetic, FourDigitValuesHaveAtMostThreeDecimals) {
  SyntheticData data = make_synthetic({"sparse-float", "libsvm", forty_ids(), true}, 0.001, 10000);
  size_t values = 0;
  for (size_t colon = data.bytes.find(':'); colon != std::string::npos;
       colon = data.bytes.find(':', colon + 1)) {
    size_t end = data.bytes.find_first_of(" \n", colon);
    EXPECT_LE(end - colon - 1, 5) << data.bytes.substr(colon, 12);  // "4.321"
    ++values;
  }
  EXPECT_EQ(values, 10 * 40);
}

// One example with ids 0 and 1: by hand, from zero weights, p = 1/2.
TEST(PlainLogisticTest, StepIsThatOfAdagrad) {
  Batch batch;
  batch.labels = {1};
  batch.slots.resize(1);
  batch.slots[0].offsets = {0, 2};
  batch.slots[0].keys = {0, 1};
  PlainLogistic model(2, 0.1f, 0);
  EXPECT_NEAR(model.step(batch), std::log(2.0), 1e-6);
  // The gradient is -1/2 for each weight and the bias, the step 0.1 for each: the logit is 0.3.
  EXPECT_NEAR(model.step(batch), std::log1p(std::exp(-0.3)), 1e-6);
}

}  // namespace
}  // namespace ps::synthetic_test
