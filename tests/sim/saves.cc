// Which trainer saves a model, when several would, and when those who do are gone.
#include "cluster.h"
#include "membership/save_election.h"

namespace ps {
namespace {

class Saves : public testing::Test {
 protected:
  Saves() {
    job_.small = true;
    job_.steps = {{1}, {1}, {1}};
  }

  // Waits as a trainer does that computes meanwhile.
  static void work(ShardCluster& cluster, int rank, Duration duration) {
    SimNetwork& network = cluster.network();
    network.host(cat("trainer", rank)).loop().run_until([] { return false; }, network.now() + duration);
  }

  const std::string name_ = "pass-00000-batch-3";
  SyntheticJob job_;
};

TEST_F(Saves, OfTrainersThatAskAtTheSameTimeOneSavesAndAllKnowIt) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    ShardCluster cluster(job_, {2, 1, 1}, seed);
    std::vector<int> elected, told;
    for (int rank = 0; rank < 3; ++rank) {
      cluster.spawn(rank, [&, rank](RemoteStore& store) {
        store.group().barrier();
        const Saver saver = store.run().elect_saver(SaveStage::kAsked, cat(name_, rank));
        if (saver.elected) elected.push_back(rank);
        told.push_back(saver.rank);
        store.group().barrier();
        if (saver.elected) {
          EXPECT_TRUE(store.run().elect_saver(SaveStage::kDone, cat(name_, rank)).elected);
        }
        store.run().end_run();
      });
    }
    cluster.run();
    ASSERT_EQ(elected.size(), 1u) << "seed " << seed;
    EXPECT_THAT(told, testing::Each(elected[0])) << "seed " << seed;
  }
}

TEST_F(Saves, WhenTheSaverIsKilledAnotherOneMaySaveSoon) {
  job_.steps = {{1}, {1}};
  ShardCluster cluster(job_, {1, 1, 0});
  SimNetwork& network = cluster.network();
  Time killed{}, elected{};
  cluster.spawn(0, [&](RemoteStore& store) {
    store.group().barrier();
    EXPECT_TRUE(store.run().elect_saver(SaveStage::kBegin, name_).elected);
    killed = network.now() + 40s;
    network.at(killed, [&] { network.host("trainer0").kill(); });
    for (;;) {  // it saves until it is killed
      work(cluster, 0, kSaveLeaseLength / 3);
      EXPECT_TRUE(store.run().elect_saver(SaveStage::kGoesOn, name_).elected);
    }
  });
  cluster.spawn(1, [&](RemoteStore& store) {
    store.group().barrier();
    work(cluster, 1, 1s);
    while (!store.run().elect_saver(SaveStage::kBegin, name_).elected) work(cluster, 1, 1s);
    elected = network.now();
    EXPECT_TRUE(store.run().elect_saver(SaveStage::kDone, name_).elected);
  });
  cluster.run();
  EXPECT_GT(elected, killed) << "two at once";
  EXPECT_LT(elected, killed + kSaveLeaseLength + 2s);
}

TEST_F(Saves, WhoWasSilentForLongLearnsThatAnotherOneHasSaved) {
  job_.steps = {{1}, {1}};
  ShardCluster cluster(job_, {1, 1, 0});
  SimNetwork& network = cluster.network();
  bool first_done = false, second_done = false;
  cluster.spawn(0, [&](RemoteStore& store) {
    store.group().barrier();
    EXPECT_TRUE(store.run().elect_saver(SaveStage::kBegin, name_).elected);
    network.at(network.now() + 1s, [&] { network.host("trainer0").pause(); });
    network.at(network.now() + 30s, [&] { network.host("trainer0").resume(); });
    work(cluster, 0, 2s);
    first_done = store.run().elect_saver(SaveStage::kDone, name_).elected;
    store.run().end_run();
  });
  cluster.spawn(1, [&](RemoteStore& store) {
    store.group().barrier();
    work(cluster, 1, kSaveLeaseLength + 3s);
    EXPECT_TRUE(store.run().elect_saver(SaveStage::kBegin, name_).elected);
    second_done = store.run().elect_saver(SaveStage::kDone, name_).elected;
    store.run().end_run();
  });
  cluster.run();
  EXPECT_TRUE(second_done);
  EXPECT_FALSE(first_done);
}

}  // namespace
}  // namespace ps
