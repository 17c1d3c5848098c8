#include "feed/prepared_batch_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "base/error.h"
#include "base/text.h"
#include "unit/feed/batches.h"

namespace ps::prepared_batch_bytes_test {
namespace {

void expect_equal_batches(const Batch& a, const Batch& b) {
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.groups, b.groups);
  ASSERT_EQ(a.slots.size(), b.slots.size());
  for (size_t s = 0; s < a.slots.size(); ++s) {
    EXPECT_EQ(a.slots[s].offsets, b.slots[s].offsets);
    EXPECT_EQ(a.slots[s].keys, b.slots[s].keys);
    EXPECT_EQ(a.slots[s].values, b.slots[s].values);
  }
}

void expect_equal_uses(const KeyUse& a, const KeyUse& b) {
  EXPECT_TRUE(std::ranges::equal(a.offsets, b.offsets));
  EXPECT_EQ(a.index, b.index);
  EXPECT_EQ(a.touched, b.touched);
  EXPECT_EQ(a.starts, b.starts);
  EXPECT_EQ(a.positions, b.positions);
  EXPECT_EQ(a.examples, b.examples);
}

void expect_equal(const PreparedBatch& a, const PreparedBatch& b) {
  EXPECT_EQ(a.training, b.training);
  EXPECT_EQ(a.step, b.step);
  expect_equal_batches(a.batch, b.batch);
  ASSERT_EQ(a.plans.size(), b.plans.size());
  for (size_t p = 0; p < a.plans.size(); ++p) {
    EXPECT_EQ(a.plans[p].keys, b.plans[p].keys);
    EXPECT_EQ(a.plans[p].counts, b.plans[p].counts);
    ASSERT_EQ(a.plans[p].uses.size(), b.plans[p].uses.size());
    for (size_t u = 0; u < a.plans[p].uses.size(); ++u)
      expect_equal_uses(a.plans[p].uses[u], b.plans[p].uses[u]);
  }
  ASSERT_EQ(a.samples.size(), b.samples.size());
  for (size_t u = 0; u < a.samples.size(); ++u) {
    EXPECT_EQ(a.samples[u].offsets, b.samples[u].offsets);
    EXPECT_EQ(a.samples[u].keys, b.samples[u].keys);
  }
}

// A process that prepares, and one that is sent the bytes.
struct Pair {
  explicit Pair(const char* model, KeyOrder key_order = KeyOrder::kFirstAppearance)
      : order(key_order), network(feed_network(model)), planners(network.make_planners(order)) {}

  std::string encode(Batch batch, bool training = true, int64_t step = 11) {
    sent = PreparedBatch{};
    sent.batch = std::move(batch);
    sent.training = training;
    sent.step = step;
    prepare_batch(network, order, sent);
    std::string bytes;
    encode_prepared(sent, bytes);
    return bytes;
  }

  void decode(std::string_view bytes) { decode_prepared(bytes, network, planners, received); }

  // True unless the bytes are refused.
  bool accepts(std::string_view bytes) {
    try {
      decode(bytes);
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kData) << error.message();
      return false;
    }
  }

  const KeyOrder order;
  Network<float> network;
  Network<float>::Planners planners;
  PreparedBatch sent, received;
};

TEST(PreparedBatchBytes, AReceivedBatchIsTheOneThatWasPrepared) {
  for (const char* model : {kFeedModel, kSampledModel}) {
    for (KeyOrder order : {KeyOrder::kFirstAppearance, KeyOrder::kAscending}) {
      Pair pair(model, order);
      for (int examples : {7, 0, 1, 200, 30}) {  // one after another into the same memory
        for (bool training : {true, false}) {
          SCOPED_TRACE(cat(examples, " examples, training ", training));
          pair.decode(
              pair.encode(feed_batch(3, examples, /*weighted=*/examples % 2 == 0), training, examples));
          expect_equal(pair.sent, pair.received);
        }
      }
    }
  }
}

TEST(PreparedBatchBytes, PlansReferToTheArraysOfTheReceivedBatch) {
  Pair pair(kFeedModel);
  pair.decode(pair.encode(feed_batch(3, 20)));
  for (const KeyPlan& plan : pair.received.plans) {
    for (const KeyUse& use : plan.uses) {
      const bool small = use.offsets.data() == pair.received.batch.slots[0].offsets.data();
      const bool large = use.offsets.data() == pair.received.batch.slots[2].offsets.data();
      EXPECT_TRUE(small || large);
    }
  }
}

// 4 bytes an id and 8 bytes a key for each table, in place of 8 bytes an id and another 8 where it is transposed.
TEST(PreparedBatchBytes, IdsThatAreLookedUpAreNotSentBesideTheirIndices) {
  const DataSchema schema{{{.name = "ids", .dense = false, .dim = 10}}};
  const Json model = parse_json(
      R"({"layers": [{"name": "score", "type": "fc", "input": "ids", "size": 1, "sparse_update": true}],
          "cost": {"type": "binary_cross_entropy", "input": "score"}})",
      "model");
  Network<float> network(ModelOptions::spec().parse(model, "model"), schema, 1);
  constexpr size_t kIds = 5000;
  PreparedBatch prepared;
  prepared.batch.clear(schema);
  prepared.batch.labels = {1};
  for (size_t k = 0; k < kIds; ++k) prepared.batch.slots[0].keys.push_back(k % 10);
  prepared.batch.slots[0].offsets.push_back(kIds);
  prepare_batch(network, KeyOrder::kFirstAppearance, prepared);
  std::string bytes;
  encode_prepared(prepared, bytes);
  EXPECT_LT(bytes.size(), 4 * kIds + 300);
}

TEST(PreparedBatchBytes, EveryCutIsRefused) {
  for (const char* model : {kFeedModel, kSampledModel}) {
    Pair pair(model);
    const std::string whole = pair.encode(feed_batch(5, 6, /*weighted=*/true));
    for (size_t size = 0; size < whole.size(); ++size) {
      EXPECT_FALSE(pair.accepts(std::string_view(whole).substr(0, size))) << size;
    }
    EXPECT_FALSE(pair.accepts(whole + '\0'));
    EXPECT_TRUE(pair.accepts(whole));
  }
}

// A changed number may be another good one; a batch that is taken must be one that prepare() could have made.
TEST(PreparedBatchBytes, DamagedBytesAreRefusedOrAnotherWholeBatch) {
  for (const char* model : {kFeedModel, kSampledModel}) {
    Pair pair(model);
    const std::string whole = pair.encode(feed_batch(5, 6));
    int refused = 0, taken = 0;
    for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      std::string damaged = whole;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
      if (!pair.accepts(damaged)) {
        ++refused;
        continue;
      }
      ++taken;
      PreparedBatch again;
      again.batch = pair.received.batch;
      again.training = pair.received.training;
      again.step = pair.received.step;
      prepare_batch(pair.network, pair.order, again);
      ASSERT_EQ(again.plans.size(), pair.received.plans.size());
      for (size_t p = 0; p < again.plans.size(); ++p) {
        EXPECT_THAT(again.plans[p].keys, testing::UnorderedElementsAreArray(pair.received.plans[p].keys))
            << "bit " << bit;
      }
    }
    EXPECT_GT(refused, 100);
    EXPECT_GT(taken, 100);
  }
}

TEST(PreparedBatchBytes, ABatchForAnotherNetworkIsRefused) {
  Pair wide(kFeedModel), sampled(kSampledModel);
  const Batch batch = feed_batch(5, 6);
  EXPECT_FALSE(sampled.accepts(wide.encode(batch)));
  EXPECT_FALSE(wide.accepts(sampled.encode(batch)));
  EXPECT_TRUE(sampled.accepts(sampled.encode(batch)));
}

// An empty slot takes 5 bytes of a message, and many times that in memory.
TEST(PreparedBatchBytes, WhatTheNetworkDoesNotHaveIsRefusedBeforeMemoryIsTakenForIt) {
  Pair pair(kFeedModel);
  const std::vector<std::function<void()>> additions = {
      [&] { pair.sent.batch.slots.resize(1000); },
      [&] { pair.sent.plans.resize(1000); },
      [&] { pair.sent.plans[0].uses.resize(1000); },
  };
  for (const auto& add : additions) {
    pair.encode(feed_batch(3, 5));
    const size_t slots = pair.sent.batch.slots.size(), plans = pair.sent.plans.size();
    add();
    std::string bytes;
    encode_prepared(pair.sent, bytes);
    pair.received = PreparedBatch();
    EXPECT_FALSE(pair.accepts(bytes));
    EXPECT_LE(pair.received.batch.slots.size(), slots);
    EXPECT_LE(pair.received.plans.size(), plans);
    for (const KeyPlan& plan : pair.received.plans) EXPECT_LT(plan.uses.size(), 10u);
  }
}

// The seed of a job decides what layers draw: samples of another job would train other rows.
TEST(PreparedBatchBytes, ABatchOfAnotherStepThanItSaysIsRefused) {
  Pair pair(kSampledModel);
  std::string bytes = pair.encode(feed_batch(5, 60), /*training=*/true, /*step=*/11);
  const int64_t other = 12;
  std::memcpy(bytes.data() + 1, &other, sizeof other);
  EXPECT_FALSE(pair.accepts(bytes));
}

TEST(PreparedBatchBytes, AKeyThatIsThereTwiceIsRefused) {
  Pair pair(kFeedModel);
  pair.encode(feed_batch(5, 60));
  KeyPlan& plan = pair.sent.plans[0];
  ASSERT_GT(plan.uses[0].index.size(), plan.keys.size()) << "an id that comes twice";
  std::vector<uint32_t>& index = plan.uses[0].index;
  const auto last = std::ranges::find_if(index.rbegin(), index.rend(),
                                         [&](uint32_t n) { return std::ranges::count(index, n) > 1; });
  plan.keys.push_back(plan.keys[*last]);
  *last = static_cast<uint32_t>(plan.keys.size()) - 1;
  std::string bytes;
  encode_prepared(pair.sent, bytes);
  EXPECT_FALSE(pair.accepts(bytes));
}

}  // namespace
}  // namespace ps::prepared_batch_bytes_test
