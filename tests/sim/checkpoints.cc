// Servers whose disk fails: the checkpoint that it meets fails, and nothing else.
#include <cerrno>

#include "checkpoint/checkpoint_directory.h"
#include "cluster.h"
#include "config/json.h"
#include "store/local_store.h"
#include "support/environment.h"
#include "support/faulty_files.h"
#include "support/scratch_folder.h"

namespace ps {
namespace {

// One trainer of two servers, which asks for checkpoints and goes on training until they are done.
class FailingDisk : public testing::Test {
 protected:
  FailingDisk() {
    job_.small = true;
    job_.steps = {{0}};  // as it likes
  }

  // Runs `body` on a store; the weights are then those of a process that took as many steps alone.
  void run(const std::function<void(RemoteStore&)>& body) {
    system_files().remove(directory_);
    Log log("ps-serve", LogLevel::kInfo);
    ShardCluster cluster(job_, {2, 1, 0});
    CheckpointSettings& settings = cluster.served().checkpoints;
    settings.directory = directory_;
    settings.files = &files_;
    settings.job = Json::object();
    settings.log = &log;
    settings.own_thread = false;
    for (size_t s = 0; s < 2; ++s) cluster.shards()[s]->publish_to(boards_[s]);
    files_.make_directories(directory_);
    steps_ = 0;
    std::vector<float> weights;
    cluster.spawn(0, [&](RemoteStore& store) {
      store.group().barrier();
      body(store);
      weights = all_weights(store, /*small=*/true);
      store.run().end_run();
    });
    testing::internal::CaptureStderr();
    cluster.run();
    log_ = testing::internal::GetCapturedStderr();
    expect_same_bits(weights, weights_alone());
  }

  AskedCheckpoint checkpoint(RemoteStore& store) {
    std::optional<AskedCheckpoint> end;
    store.checkpoints().ask(-1, [&](const AskedCheckpoint& one) { end = one; });
    while (!end) {
      step(store, steps_++);
      store.checkpoints().wait([&] { return end.has_value(); }, 5);
    }
    return *end;
  }

  // Returns the name of the checkpoint that a restart would take, and verifies all of it.
  std::string newest() {
    ThreadPool pool(1);
    auto verify = [&](const CheckpointReader& reader) { reader.verify(pool, /*rows=*/true); };
    auto unexpected = [](const Error& damage) { ADD_FAILURE() << damage.message(); };
    return cat("step-", open_newest_checkpoint(directory_, verify, unexpected)->manifest().step);
  }

  void expect_whole(const AskedCheckpoint& checkpoint) {
    ThreadPool pool(1);
    CheckpointReader(join_path(directory_, checkpoint.text)).verify(pool, /*rows=*/true);
  }

  // All of it is there and LATEST names it, but a loss of power might take that back: it does not count.
  static bool is_just_not_synced(const AskedCheckpoint& failed) {
    return failed.text.starts_with("cannot sync folder");
  }

  static std::string name_of(const AskedCheckpoint& checkpoint) {
    return cat("step-", step_of_folder(checkpoint.text).value_or(-1));
  }

  // As the status pages tell it.
  uint64_t num_failed() const {
    return boards_[0].latest().checkpoints.failed + boards_[1].latest().checkpoints.failed;
  }

  ScratchFolder scratch_;
  FaultyFiles files_{scratch_.path()};
  const std::string directory_ = scratch_.path("checkpoints");
  SyntheticJob job_;
  StatusBoard boards_[2];
  std::string log_;

 private:
  void step(ParameterStore& store, int64_t number) {
    const SyntheticBatch batch = job_.batch(0, number);
    std::vector<ParameterView<float>> views;
    store.pull(batch.plans, PullMode::kTrain, views);
    batch.fill(0, number, job_.parameters(), views);
    store.push(batch.plans, views, {batch.samples, 0});
  }

  std::vector<float> weights_alone() {
    Device device(1, best_cpu_level());
    LocalStore store(job_.parameters(), job_.plan(), UINT64_MAX, device);
    for (int64_t number = 0; number < steps_; ++number) step(store, number);
    return all_weights(store, /*small=*/true);
  }

  int64_t steps_ = 0;
};

// A full disk stays full until there is room; an error of writing, syncing, renaming, and of memory comes once.  One that
// comes after the checkpoint counts, as old ones are removed, does not take it away.  Each meets every third
// call, and other ones: some hundred runs of the cluster would take a minute.
TEST_F(FailingDisk, FailsOneCheckpointAtWhateverCallAndTrainingGoesOn) {
  struct Failure {
    int error;
    const char* text;
  };
  for (const Failure& failure : {Failure{ENOSPC, "no space left"}, Failure{EIO, "input/output error"},
                                 Failure{ENOMEM, "out of memory"}}) {
    const bool lasting = failure.error == ENOSPC;
    const int every = static_cast<int>(try_every(5));
    int num_failures = 0;
    bool met = true;
    for (int64_t call = lasting ? 0 : 1; met; call += 3 * every) {
      const int64_t before = files_.failed();
      bool counts = true;
      run([&](RemoteStore& store) {
        const AskedCheckpoint first = checkpoint(store);
        ASSERT_TRUE(first.counts) << first.text;
        files_.fail_at(call, failure.error, lasting);
        const AskedCheckpoint second = checkpoint(store);
        files_.heal();
        counts = second.counts;
        expect_whole(first);
        if (counts) {
          ASSERT_EQ(newest(), name_of(second)) << "call " << call;
        } else if (failure.error == ENOMEM) {
          newest();  // is whole; the folder may have its name already
        } else if (!is_just_not_synced(second)) {
          ASSERT_EQ(newest(), name_of(first)) << "call " << call << ": " << second.text;
        }
        const AskedCheckpoint third = checkpoint(store);
        ASSERT_TRUE(third.counts) << "call " << call << ": " << third.text;
        ASSERT_EQ(newest(), name_of(third));
        store.checkpoints().wait([] { return false; }, 2);  // for the status pages
      });
      met = files_.failed() > before;
      ASSERT_TRUE(met || counts) << "call " << call;
      ASSERT_TRUE(counts || num_failed() > 0) << "call " << call;
      const char* const said = counts ? "" : "failed, the one before it stays";
      ASSERT_THAT(log_, testing::HasSubstr(said)) << "call " << call;
      if (met) {
        ASSERT_THAT(log_, testing::HasSubstr(failure.text)) << "call " << call;
      }
      num_failures += !counts;
    }
    EXPECT_GT(num_failures, 20 / every) << "files, manifests, names";
  }
}

}  // namespace
}  // namespace ps
