// Trainers that train the rows of servers of random shapes on a device (DeviceStore before RemoteLender): they end with the
// bits of trainers without one, through faults of the network and crashes of trainers, and of servers with checkpoints: a
// hundred seeds a run.
//
//   PS_SIM_SEED=17 sim_device        that seed alone
//   PS_SIM_SEEDS=5000 sim_device     more of them
#include <set>

#include "config/spec.h"
#include "device/device_store.h"
#include "recovering_cluster.h"

namespace ps {
namespace {

// 300 keys, of which a step has some 37, in 64 partitions.
const char* const kPolicies[] = {
    R"({"expire": {"unseen": 1, "below_score": 0.4}, "shrink_steps": 4})",
    R"({"admission": {"count": 2}, "limit": 64, "when_full": "evict", "decay": 0.5,
        "expire": {"unseen": 0}, "shrink_steps": 5})",
    R"({"admission": {"probability": 0.3}, "limit": 64, "expire": {"below_score": 0.3}})",
    R"({"limit": 128, "shrink_passes": 0})",
    R"({"limit": 128, "when_full": "evict", "score": {"non_click": 0, "click": 1}})",
};

RowPolicy parse_policy(const char* text) {
  return RowPolicy::spec().parse(parse_json(text, "rows"), "rows");
}

// A batch has up to 40 keys of 300: a device of 32 rows trains it in rounds, and on one of 512 all rows have a place.
struct Plan : RecoveryPlan {
  Plan(Random& random, int fewest) : RecoveryPlan(random) {
    draw_rule(random, job);
    job.small = true;
    draw_steps(random, job, 1, fewest, fewest + 8);
    const char* const kDevices[] = {"emulated", "emulated", "emulated:0,emulated:1",
                                    "emulated:0,emulated:1,emulated:2"};
    job.device = DeviceOptions{
        .type = kDevices[draw(random, 0, 3)], .rows = 32 << draw(random, 0, 4), .window = draw(random, 0, 5)};
    steps = draw(random, 1, 8);
    full_every = draw(random, 1, 3);
    durable = draw(random, 0, 2) == 0;
    if (draw(random, 0, 1) == 0) job.rows = parse_policy(kPolicies[draw(random, 0, 4)]);
  }

  SyntheticJob plain() const {
    SyntheticJob same = job;
    same.device.reset();
    return same;
  }
};

TEST(DeviceBeforeServers, HasTheBitsOfATrainerWithoutOneThroughFaultsOfTheNetwork) {
  uint64_t faults = 0;
  const bool many = many_seeds_pass([&](uint64_t seed) {
    Random random(seed, 0);
    const Plan plan(random, 3);
    ShardCluster cluster(plan.job, plan, seed);
    cluster.network().set_default_link(RecoveringCluster::link());
    std::vector<SimHost*> hosts = cluster.hosts();
    hosts.push_back(&cluster.network().host("trainer0"));
    SimFaults trouble(cluster.network(), hosts, {.mean_interval = 60ms, .longest = 300ms});
    expect_same_bits(train_locally(plan.plain()), cluster.train());
    faults += trouble.num_faults();
  });
  std::printf("faults %lu\n", faults);
  if (many) {
    EXPECT_GT(faults, 100u);
  }
}

// The time is that of the simulated network alone: nobody computes.  Dense parameters wait for a round trip a step.
TEST(DeviceBeforeServers, RowsOfComingBatchesComeWhileOthersAreTrained) {
  SyntheticJob job;
  job.small = true;
  job.steps = {{60}};
  auto time_of = [&job](int64_t rows, int64_t window) {
    SyntheticJob own = job;
    own.device = DeviceOptions{.type = "emulated", .rows = rows, .window = window};
    ShardCluster cluster(own, {.servers = 2});
    cluster.network().set_default_link({.latency = 10ms});
    expect_same_bits(train_locally(job), cluster.train());
    return to_seconds(cluster.network().now());
  };
  const double without = time_of(128, 0), three = time_of(128, 3);
  std::printf("60 steps, a round trip of 20 ms: %.2f s, 3 batches ahead %.2f s\n", without, three);
  EXPECT_GT(without, 60 * 0.04) << "two round trips a step";
  EXPECT_LT(three, 0.7 * without);
}

// Rows that no server had before are made by the first batch that uses them.
TEST(DeviceBeforeServers, RowsOfTheNextBatchAreOnTheDeviceBeforeItIsPulled) {
  SyntheticJob job;
  job.small = true;
  job.steps = {{30}};
  job.device = DeviceOptions{.type = "emulated", .rows = 160, .window = 3};
  ShardCluster cluster(job, {.servers = 2});
  cluster.network().set_default_link(RecoveringCluster::link());
  cluster.spawn(0, [&](RemoteStore& remote) {
    with_store(remote, job, [&](ParameterStore& store) {
      const auto count = [&](const char* name) {
        return dynamic_cast<DeviceStore&>(store).counters().at(name).get<int64_t>();
      };
      const auto late = [&] { return count("rows_fetched") - count("rows_early"); };
      int64_t step = 0;
      train_pass(store, job, 0, 0, 0, step);
      const int64_t fetched = count("rows_fetched"), late_before = late();
      // The rows of the first batch of a pass are asked for with it, and come late.  Hardly any others do, also those
      // that leave the device unchanged before a batch that uses them.
      SyntheticJob watched = job;
      int64_t late_after_first = 0;
      watched.on_push = [&](size_t, int64_t, int64_t number) {
        if (number == 0) late_after_first = late();
      };
      train_pass(store, watched, 0, 0, 0, step);
      EXPECT_GT(count("rows_fetched") - fetched, 100);
      EXPECT_LE(late() - late_before, (count("rows_fetched") - fetched) / 2);
      EXPECT_LE(late() - late_after_first, 8);
      remote.run().end_run();
    });
  });
  cluster.run();
}

// The device has room for all rows.  Most rows of a batch are in none of the next two.
TEST(DeviceBeforeServers, OnlyRowsOfTheLastBatchAreLeftForTheEndOfAPass) {
  for (const char* device : {"emulated", "emulated:0,emulated:1"}) {
    SyntheticJob job;
    job.small = true;
    job.steps = {{12, 12}};
    job.device = DeviceOptions{.type = device, .rows = 512, .window = 3};
    const std::vector<float> expected = train_locally(job);
    ShardCluster cluster(job, {.servers = 2});
    cluster.network().set_default_link(RecoveringCluster::link());
    cluster.spawn(0, [&](RemoteStore& remote) {
      with_store(remote, job, [&](ParameterStore& store) {
        const auto written = [&] {
          return dynamic_cast<DeviceStore&>(store).counters().at("rows_written_back").get<size_t>();
        };
        SyntheticJob watched = job;
        size_t after_last = 0;
        watched.on_push = [&](size_t, int64_t, int64_t number) {
          if (number == 11) after_last = written();
        };
        int64_t step = 0;
        for (int64_t pass = 0; pass < 2; ++pass) {
          const size_t before = written();
          std::set<uint64_t> used;
          for (int64_t s = step; s < step + 12; ++s) {
            const SyntheticBatch batch = job.batch(0, s);
            used.insert(batch.plans[0].keys.begin(), batch.plans[0].keys.end());
          }
          train_pass(store, watched, 0, pass, 0, step);
          if (pass == 0) {
            EXPECT_EQ(written(), used.size()) << "each row goes back once";
          }
          const size_t last_keys = job.batch(0, step - 1).plans[0].keys.size();
          EXPECT_GT(after_last, before + last_keys);
          EXPECT_LE(written(), after_last + last_keys);
        }
        expect_same_bits(expected, all_weights(store, job.small));
        remote.run().end_run();
      });
    });
    cluster.run();
  }
}

// The rows of a table with a policy, and the counts of its decisions.
struct Outcome {
  std::vector<uint64_t> keys;
  std::vector<float> weights;
  RowReport report;
};

Outcome outcome_of(const SyntheticJob& job, int servers) {
  ShardCluster cluster(job, {.servers = servers});
  Outcome outcome;
  cluster.spawn(0, [&](RemoteStore& remote) {
    with_store(remote, job, [&](ParameterStore& store) {
      run_trainer(store, remote.group(), remote.run(), job, 0);
      outcome = {store.keys(0), all_weights(store, job.parameters()), store.row_report(0)};
      remote.run().end_run();
    });
  });
  cluster.run();
  return outcome;
}

TEST(DeviceBeforeServers, RowsComeAndGoByAPolicyAsWithoutADevice) {
  for (const char* policy : kPolicies) {
    for (const char* type : {"adagrad", "momentum"}) {
      for (int64_t rows : {32, 512}) {
        SCOPED_TRACE(cat(policy, " ", type, " ", rows));
        SyntheticJob job;
        job.optimizer = {{"type", type}, {"learning_rate", 0.05}, {"l2", 0.001}};
        job.rows = parse_policy(policy);
        job.steps = {{9, 8}};
        job.small = true;
        const Outcome plain = outcome_of(job, 2);
        job.device = DeviceOptions{.type = "emulated", .rows = rows, .window = 2};
        const Outcome there = outcome_of(job, 2);
        EXPECT_EQ(plain.keys, there.keys);
        EXPECT_EQ(plain.report, there.report);
        EXPECT_GT(there.report.expired + there.report.evicted + there.report.refused, 0u);
        expect_same_bits(plain.weights, there.weights);
      }
    }
  }
}

TEST(DeviceBeforeServers, WhoeverCrashesTheJobEndsAsIfNobodyHad) {
  expect_crashes_to_change_nothing(20, [](Random& random) { return Plan(random, 2); });
}

}  // namespace
}  // namespace ps
