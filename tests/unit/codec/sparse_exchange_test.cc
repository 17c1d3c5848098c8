#include "codec/sparse_exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace ps::sparse_exchange_test {
namespace {

constexpr uint64_t kSize = 10'000;

SparseVector random_part(uint64_t stream, uint64_t count) {
  Random random(13, stream);
  SparseVector part;
  for (uint64_t i = 0; i < kSize; ++i) {
    if (random.below(kSize) >= count) continue;
    part.index.push_back(static_cast<uint32_t>(i));
    part.value.push_back(static_cast<float>(random.normal()));
  }
  return part;
}

std::vector<SparseVector> random_parts(int num_trainers, uint64_t count) {
  std::vector<SparseVector> parts;
  for (int rank = 0; rank < num_trainers; ++rank)
    parts.push_back(random_part(static_cast<uint64_t>(rank), count));
  return parts;
}

// As a dense reduction in the order of ranks has it.
std::vector<float> dense_sum(const std::vector<SparseVector>& parts) {
  std::vector<float> sum(kSize);
  for (const SparseVector& part : parts) {
    for (size_t i = 0; i < part.size(); ++i) sum[part.index[i]] += part.value[i];
  }
  return sum;
}

std::vector<float> scattered(const SparseVector& part) {
  return dense_sum({part});
}

// Every trainer's part, cut for the owners, added by each owner, and gathered.
SparseVector owner_split_sum(const std::vector<SparseVector>& parts) {
  const int num_trainers = static_cast<int>(parts.size());
  std::vector<SparseVector> sums;
  std::vector<std::vector<SparseVector>> cut;
  for (const SparseVector& part : parts) cut.push_back(split_by_owner(part, kSize, num_trainers));
  for (size_t owner = 0; owner < parts.size(); ++owner) {
    std::vector<SparseVector> own;
    for (const auto& pieces : cut) own.push_back(pieces[owner]);
    sums.push_back(add_vectors(own));
    for (uint32_t index : sums.back().index) {
      EXPECT_GE(index, owner_begin(kSize, num_trainers, static_cast<int>(owner)));
      EXPECT_LT(index, owner_begin(kSize, num_trainers, static_cast<int>(owner) + 1));
    }
  }
  return join_vectors(sums);
}

TEST(SparseExchange, AllGatherOwnerSplitAndDenseGiveTheSameBits) {
  for (int num_trainers : {1, 2, 3, 7, 16}) {
    for (uint64_t count : {uint64_t{0}, uint64_t{10}, uint64_t{1000}, uint64_t{6000}, kSize}) {
      const std::vector<SparseVector> parts = random_parts(num_trainers, count);
      const SparseVector gathered = add_vectors(parts);
      ASSERT_EQ(owner_split_sum(parts), gathered) << num_trainers << " " << count;
      ASSERT_EQ(scattered(gathered), dense_sum(parts));
      ASSERT_TRUE(std::is_sorted(gathered.index.begin(), gathered.index.end()));
    }
  }
}

// The formulas give the bytes that trainers receive, counted over real parts.
TEST(SparseExchange, FormulasAreTheBytesThatGo) {
  constexpr uint64_t kSelected = 100;
  for (SparseEncoding encoding : kSparseEncodings) {
    for (int num_trainers : {2, 5}) {
      const std::vector<SparseVector> parts = random_parts(num_trainers, kSelected);
      double gathered = 0, split = 0;
      for (const SparseVector& part : parts) {
        std::string bytes;
        encode_sparse(encoding, part, bytes);
        gathered += static_cast<double>(bytes.size()) * (num_trainers - 1) / num_trainers;
        for (const SparseVector& piece : split_by_owner(part, kSize, num_trainers)) {
          bytes.clear();
          encode_sparse(encoding, piece, bytes);
          split += static_cast<double>(bytes.size()) * (num_trainers - 1) / num_trainers / num_trainers;
        }
      }
      std::string bytes;
      encode_sparse(encoding_of_sums(encoding), add_vectors(parts), bytes);
      split += static_cast<double>(bytes.size()) * (num_trainers - 1) / num_trainers;
      const ExchangeSizes sizes{kSize, kSelected, num_trainers, encoding};
      // Each trainer drew 100 values with a deviation of 10.
      EXPECT_NEAR(exchange_bytes(SparseExchange::kAllGather, sizes) / gathered, 1, 0.15);
      EXPECT_NEAR(exchange_bytes(SparseExchange::kOwnerSplit, sizes) / split, 1, 0.15);
    }
  }
}

TEST(SparseExchange, ChoosesTheFewestBytes) {
  ExchangeSizes sizes{.elements = 1'000'000, .selected = 1000, .num_trainers = 2};
  EXPECT_EQ(cheapest_exchange(sizes), SparseExchange::kAllGather);  // k against (k + 2 k) / 2
  EXPECT_EQ(exchange_bytes(SparseExchange::kAllGather, sizes), 6000);
  EXPECT_EQ(exchange_bytes(SparseExchange::kDense, sizes), 4e6);
  sizes.num_trainers = 64;
  sizes.union_size = 1500;  // trainers choose alike
  EXPECT_EQ(cheapest_exchange(sizes), SparseExchange::kOwnerSplit);
  sizes.selected = 500'000, sizes.union_size.reset();
  EXPECT_EQ(cheapest_exchange(sizes), SparseExchange::kDense);
  sizes.encoding = SparseEncoding::kIndex32;
  sizes.selected = 600'000;
  EXPECT_EQ(cheapest_exchange(sizes), SparseExchange::kDense);
}

TEST(SparseExchange, EntriesHaveTheBytesOfTheReference) {
  EXPECT_EQ(entry_bytes(SparseEncoding::kIndex32, 1'000'000, 1000), 8);
  EXPECT_NEAR(entry_bytes(SparseEncoding::kRun16, 1'000'000, 1000), 6, 1e-6);
  EXPECT_GT(entry_bytes(SparseEncoding::kRun16, kMaxSparseSize, 10'000), 10);
  EXPECT_NEAR(entry_bytes(SparseEncoding::kVarint, 1'000'000, 1000), 5.88, 0.01);
}

}  // namespace
}  // namespace ps::sparse_exchange_test
