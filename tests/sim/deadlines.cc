// Peers that are silent, peers that only have nothing to say, and one that was away for too long.
#include "base/wait_stopped.h"
#include "cluster.h"

namespace ps {
namespace {

using testing::HasSubstr;

class Deadlines : public testing::Test {
 protected:
  Deadlines() {
    job_.optimizer = {{"type", "momentum"}, {"learning_rate", 0.05}};
    job_.steps = {{40}, {40}};
    job_.small = true;
    job_.request_timeout = 2s;
    ShardCluster calm(job_, {2, 1, 0});
    calm_ = calm.train();
    calm_time_ = calm.network().now();
    calm_connections_ = connections(calm);
  }

  static uint64_t connections(ShardCluster& cluster) {
    uint64_t sum = 0;
    for (auto& shard : cluster.shards()) sum += shard->net_counters().connections_opened;
    return sum;
  }

  SyntheticJob job_;
  std::vector<float> calm_;
  Time calm_time_{};
  uint64_t calm_connections_ = 0;
};

TEST_F(Deadlines, ASilentServerIsNoticedWithinTheRequestTimeoutAndNoBitChanges) {
  ShardCluster cluster(job_, {2, 1, 0});
  SimNetwork& network = cluster.network();
  std::optional<Time> noticed;
  cluster.on_waiting = [&](const std::string& text) {
    if (noticed) return;
    noticed = network.now();
    EXPECT_THAT(text, HasSubstr("no sign of life for 2 s"));
  };
  const Time silent = calm_time_ / 2;
  network.at(silent, [&] { network.host("server1").pause(); });
  network.at(silent + 30s, [&] { network.host("server1").resume(); });
  expect_same_bits(calm_, cluster.train());
  ASSERT_TRUE(noticed);
  EXPECT_GE(*noticed, silent + 2s);
  EXPECT_LE(*noticed, silent + 3s);
}

// In synchronous mode the others wait as long as it takes; servers and trainers say that they are there.
TEST_F(Deadlines, ATrainerThatWaitsForAnotherOneIsNotTakenForSilent) {
  ShardCluster cluster(job_, {2, 1, 0});
  cluster.start_trainer(0);
  cluster.spawn(1, [&](RemoteStore& store) {
    SimNetwork& network = cluster.network();
    const Time later = network.now() + 50s;
    network.host("trainer1").loop().run_until([] { return false; }, later);
    run_trainer(store, store.group(), store.run(), job_, 1);
    store.run().end_run();
  });
  cluster.run();
  expect_same_bits(calm_, cluster.weights());
  EXPECT_EQ(connections(cluster), calm_connections_);
}

// As one does that computes for long: its connections are closed, and made anew.
TEST_F(Deadlines, ATrainerThatDoesNotRunItsLoopComesBack) {
  ShardCluster cluster(job_, {2, 1, 0});
  SimNetwork& network = cluster.network();
  const Time silent = calm_time_ / 2;
  network.at(silent, [&] { network.host("trainer1").pause(); });
  network.at(silent + 30s, [&] { network.host("trainer1").resume(); });
  expect_same_bits(calm_, cluster.train());
  EXPECT_GT(connections(cluster), calm_connections_);
}

// Its server refuses whatever it asks then, which is no error for a trainer that is to end, and must end its waits.
TEST(ToldToEnd, ATrainerWithoutWhichTheOthersHaveGoneOnWaitsForNoAnswer) {
  SyntheticJob job;
  job.small = true;
  job.steps = {{4}, {4}};
  job.request_timeout = 2s;
  job.on_loss = {.timeout = 2s, .go_on = true};
  ShardCluster cluster(job, {1, 1, 0});
  SimNetwork& network = cluster.network();
  SimHost& server = network.host("server0");
  SimHost& away = network.host("trainer1");
  bool told = false, ended = false;
  RemoteOptions options = cluster.options(1);
  options.stop = [&] { return told; };
  cluster.start_trainer(0);
  cluster.spawn(options, [&](RemoteStore& store) {
    const auto given_up = [&] { return cluster.shards()[0]->shard()->counters().trainers_given_up == 1; };
    network.block(server, away, true);
    ASSERT_TRUE(away.loop().run_until(given_up, network.now() + 60s));
    network.block(server, away, false);
    told = true;
    EXPECT_THROW(store.run().elect_saver(SaveStage::kAsked, "model"), WaitStopped);
    ended = true;
  });
  cluster.run();
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace ps
