// RestOfPass: over any number of dealings and losses, each batch of each share is one rank's, once.
#include "ps/server/rest_of_pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/random.h"

namespace ps::rest_of_pass_test {
namespace {

using testing::ElementsAre;

// Trainers that train what RestOfPass says, of shares of some lengths.
class Pass {
 public:
  explicit Pass(std::vector<uint64_t> lengths)
      : rest(lengths.size()),
        done(lengths.size()),
        present(lengths.size(), true),
        lengths_(std::move(lengths)) {}

  // Trains up to so many batches of the rank's strand.
  void train(int rank, uint64_t most = UINT64_MAX) {
    const RankWork work = rest.of(rank);
    if (!work.strand) return rest.set_at_end(rank, true);
    uint64_t& count = done[static_cast<size_t>(rank)];
    for (; most > 0; --most, ++count) {
      const uint64_t batch = work.strand->first + (count - work.batches_before) * work.strand->stride;
      if (batch >= lengths_[work.strand->share]) return rest.set_at_end(rank, true);
      ++trained[{work.strand->share, batch}];
    }
  }

  void lose(int rank) { present[static_cast<size_t>(rank)] = false; }

  // The trainers that are there train all that they have; false when nothing is left then.
  bool train_and_deal() {
    std::vector<int> takers;
    for (size_t rank = 0; rank < present.size(); ++rank) {
      if (!present[rank]) continue;
      takers.push_back(static_cast<int>(rank));
      train(takers.back());
    }
    rest.deal(done, takers);
    return rest.of(0).some_left;
  }

  void expect_all_trained_once() const {
    EXPECT_EQ(trained.size(), std::accumulate(lengths_.begin(), lengths_.end(), uint64_t{0}));
    for (const auto& [batch, times] : trained) EXPECT_EQ(times, 1) << batch.first << " " << batch.second;
  }

  RestOfPass rest;
  std::vector<uint64_t> done;
  std::vector<bool> present;
  std::map<std::pair<uint32_t, uint64_t>, int> trained;

 private:
  const std::vector<uint64_t> lengths_;
};

TEST(RestOfPass, WithoutALossNothingIsLeft) {
  Pass pass({5, 0, 7});
  EXPECT_EQ(pass.rest.of(1).strand, (DataStrand{1, 3, 0, 1}));
  EXPECT_FALSE(pass.train_and_deal());
  EXPECT_FALSE(pass.rest.of(1).strand);
  EXPECT_EQ(pass.rest.dealings(), 1u);
}

TEST(RestOfPass, DividesWhatALostTrainerHasLeftAmongTheOthers) {
  Pass pass({5, 9, 7});
  pass.train(1, 3);
  pass.lose(1);
  EXPECT_TRUE(pass.train_and_deal());
  EXPECT_EQ(pass.rest.of(0).strand, (DataStrand{1, 3, 3, 2}));
  EXPECT_EQ(pass.rest.of(2).strand, (DataStrand{1, 3, 4, 2}));
  EXPECT_EQ(pass.rest.of(2).batches_before, 7u);
  EXPECT_FALSE(pass.rest.of(1).strand) << "if it returned now, it would wait";
  EXPECT_FALSE(pass.train_and_deal());
  pass.expect_all_trained_once();
  pass.rest.begin_pass(3);
  EXPECT_EQ(pass.rest.of(1).strand, (DataStrand{1, 3, 0, 1}));
}

TEST(RestOfPass, EveryBatchIsTrainedOnceWhoeverIsLostAndReturnsWhenever) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed, 0);
    const int ranks = 2 + static_cast<int>(random.below(5));
    std::vector<uint64_t> lengths;
    for (int rank = 0; rank < ranks; ++rank) lengths.push_back(random.below(30));
    Pass pass(lengths);
    do {
      for (int event = 0; event < 3; ++event) {
        const int rank = 1 + static_cast<int>(random.below(static_cast<uint64_t>(ranks - 1)));
        const auto at = pass.present.begin() + rank;
        if (*at) pass.train(rank, random.below(20));
        *at = random.below(3) == 0;  // one that returns goes on where it was
      }
    } while (pass.train_and_deal());
    pass.expect_all_trained_once();
  }
}

TEST(RestOfPass, IsTheSameOnceSavedAndLoaded) {
  Pass pass({20, 20, 20, 20});
  pass.lose(1);
  pass.lose(3);
  pass.train_and_deal();
  std::string bytes;
  pass.rest.save(bytes);
  RestOfPass again;
  ByteReader in(bytes);
  ASSERT_TRUE(again.load(in, 4));
  EXPECT_EQ(in.remaining(), 0u);
  std::string twice;
  again.save(twice);
  EXPECT_EQ(bytes, twice);
  std::swap(pass.rest, again);
  while (pass.train_and_deal()) {
  }
  pass.expect_all_trained_once();
  for (size_t size = 0; size < bytes.size(); ++size) {
    ByteReader head(std::string_view(bytes).substr(0, size));
    EXPECT_FALSE(RestOfPass().load(head, 4)) << size;
  }
}

}  // namespace
}  // namespace ps::rest_of_pass_test
