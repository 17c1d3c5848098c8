// Checkpoints of asynchronous trainers within a pass: barrier markers among their pushes.
#include "base/random.h"
#include "shard_test.h"

namespace ps::barrier_markers_test {
namespace {

using testing::ElementsAre;

// Trainer r pushes 1 less to key r at a time, so that its weight says how many of its pushes there are.
class BarrierMarkersTest : public ShardTest {
 protected:
  static constexpr int kTrainers = 3;
  const std::vector<uint64_t> keys_ = {0, 1, 2};

  OutcomePtr push_step(int rank, uint64_t step, bool cut = false, std::optional<std::string> chunk = {},
                       uint64_t number = 0) {
    return push_slice(rank,
                      {.step = step,
                       .info = {1, 0},
                       .begins_checkpoint = cut,
                       .checkpoint_number = cut ? number : 0,
                       .chunk = std::move(chunk)},
                      {static_cast<uint64_t>(rank)}, -1);
  }
  void watch(std::map<uint64_t, std::vector<float>>& cuts, std::function<bool(uint64_t)> wanted = nullptr) {
    shard_->checkpoints().on_checkpoint(
        [this, &cuts](uint64_t number, bool) { cuts[number] = weights(keys_); }, std::move(wanted));
  }
};

TEST_F(BarrierMarkersTest, PushesAfterATrainersMarkerWaitForTheMarkersOfTheOthers) {
  make(2, {.async = true});
  std::map<uint64_t, std::vector<float>> cuts;
  watch(cuts);
  push_step(0, 0, /*cut=*/true);
  OutcomePtr held = push_step(0, 1);
  EXPECT_TRUE(held->waits());
  EXPECT_TRUE(pull(0, 2, {0})->answer) << "pulls do not wait";
  EXPECT_TRUE(push_step(1, 0)->answer);
  EXPECT_TRUE(cuts.empty());
  push_step(1, 1, /*cut=*/true);
  EXPECT_THAT(cuts[3], ElementsAre(1, 2, 0)) << "without what waited";
  EXPECT_TRUE(held->answer);
  EXPECT_THAT(weights(keys_), ElementsAre(2, 2, 0));
}

TEST_F(BarrierMarkersTest, ATrainerWithoutDataIsNotWaitedFor) {
  make(2, {.async = true});
  std::map<uint64_t, std::vector<float>> cuts;
  watch(cuts);
  OutcomePtr end = push_end(1, 0);
  push_step(0, 0, /*cut=*/true);
  EXPECT_THAT(cuts[1], ElementsAre(1, 0, 0));
  EXPECT_TRUE(end->waits());
  push_end(0, 1);
  EXPECT_TRUE(end->answer);
  EXPECT_THAT(cuts[2], ElementsAre(1, 0, 0)) << "the end of the pass";
}

TEST_F(BarrierMarkersTest, KeepsATrainersChunksUntilItsNextPush) {
  make(2, {.async = true});
  SharedStates states;
  auto snapshot = [&](uint64_t, bool) {
    states = shard_->trainer_states().chunk_states(shard_->tables().place());
  };
  shard_->checkpoints().on_checkpoint(snapshot, nullptr);
  push_body(1, encode_push({.step = 0, .ended = true, .chunk = "all of its data"}, 0, ""));
  push_step(0, 0, false, "old");
  push_step(0, 1, true);
  ASSERT_EQ(states.size(), 1u) << "that of trainer 0 was told before its last batch";
  EXPECT_EQ(*states["chunk/1/d0-s0/0"], "all of its data");
  push_step(0, 2, true, "new");
  EXPECT_EQ(*states["chunk/0/d0-s0/0"], "new");
}

// Trainers that push to two shards as a RemoteStore does: a step when both have answered the one before.
// Pushes arrive in any order, and some trainers are killed and restarted.
class TwoShards : public BarrierMarkersTest {
 protected:
  struct Sender {
    uint64_t generation = 1, step = 0, checkpoint_at = 0, number = 0;
    int batches = 0;
    bool ended = false;
    OutcomePtr answers[2];  // null: the step has not arrived there
  };

  void begin(uint64_t seed) {
    random_ = std::make_unique<Random>(seed, 1);
    cuts_[0].clear(), cuts_[1].clear();
    senders_.assign(kTrainers, {});
    for (Sender& sender : senders_) sender.batches = 10 + static_cast<int>(random_->below(20));
    for (int s : {0, 1}) {
      make(kTrainers, {.async = true});
      watch(cuts_[s],
            s == 0 ? [](uint64_t number) { return number % 7 == 0; } : std::function<bool(uint64_t)>());
      std::swap(shard_, shards_[s]);
    }
  }

  template <class Body>
  void at(int s, Body&& body) {
    std::swap(shard_, shards_[s]);
    body();
    std::swap(shard_, shards_[s]);
  }

  void deliver(int rank, int s) {
    Sender& sender = senders_[static_cast<size_t>(rank)];
    if (sender.answers[s]) return;
    at(s, [&] {
      sender.answers[s] = sender.ended ? push_end(rank, sender.step)
                                       : push_step(rank, sender.step, sender.step + 1 == sender.checkpoint_at,
                                                   {}, sender.number);
    });
  }

  // Goes on when both have answered.
  void proceed(int rank) {
    Sender& sender = senders_[static_cast<size_t>(rank)];
    if (!sender.answers[0] || !sender.answers[1]) return;
    if (sender.answers[0]->waits() || sender.answers[1]->waits()) return;
    if (sender.ended) return;
    const Done done = sender.answers[0]->done();
    if (done.checkpoint_at > sender.checkpoint_at) {
      sender.checkpoint_at = done.checkpoint_at;
      sender.number = done.checkpoint_number;
    }
    move_to(sender, sender.step + 1);
  }

  static void move_to(Sender& sender, uint64_t step) {
    sender.step = step;
    sender.ended = step >= static_cast<uint64_t>(sender.batches);
    sender.answers[0] = sender.answers[1] = nullptr;
  }

  // Restarts a trainer: pushes that have not arrived are lost, and the new process begins at the first step
  // that some shard has not applied.
  void restart(int rank) {
    Sender& sender = senders_[static_cast<size_t>(rank)];
    const uint64_t old = sender.generation++;
    RunStatus statuses[2];
    for (int s : {0, 1}) {
      at(s, [&] {
        leave(rank, kTrainers, old);
        statuses[s] = join(rank, kTrainers, sender.generation);
      });
    }
    sender.checkpoint_at = statuses[0].checkpoint_at;
    sender.number = statuses[0].checkpoint_number;
    move_to(sender, std::min(statuses[0].step, statuses[1].step));
  }

  bool done() const {
    return std::ranges::all_of(senders_, [](const Sender& sender) {
      return sender.ended && sender.answers[0] && sender.answers[1] && !sender.answers[0]->waits() &&
             !sender.answers[1]->waits();
    });
  }

  std::unique_ptr<Shard> shards_[2];
  std::map<uint64_t, std::vector<float>> cuts_[2];
  std::vector<Sender> senders_;
  std::unique_ptr<Random> random_;
};

TEST_F(TwoShards, EveryPushIsInTheCheckpointOfBothOrOfNone) {
  size_t in_the_midst = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    begin(seed);
    for (int turn = 0; !done(); ++turn) {
      ASSERT_LT(turn, 20000) << "seed " << seed << ": it hangs";
      const int rank = static_cast<int>(random_->below(kTrainers)), s = static_cast<int>(random_->below(2));
      const bool killed = random_->below(40) == 0 && !senders_[static_cast<size_t>(rank)].ended;
      killed ? restart(rank) : deliver(rank, s);
      proceed(rank);
    }
    EXPECT_EQ(cuts_[0], cuts_[1]) << "seed " << seed;
    in_the_midst += cuts_[0].size() - 1;
  }
  EXPECT_GT(in_the_midst, 200u);
}

}  // namespace
}  // namespace ps::barrier_markers_test
