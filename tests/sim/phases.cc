// One fault in one frame, at every phase of frames of every type, in both directions: no bit changes.
#include <filesystem>

#include "cluster.h"
#include "config/spec.h"
#include "support/environment.h"
#include "support/scratch_folder.h"

namespace ps {
namespace {

constexpr ProxyFault::Kind kAtAByte[] = {ProxyFault::kCut, ProxyFault::kHold, ProxyFault::kDelay,
                                         ProxyFault::kFlip};
constexpr ProxyFault::Kind kOfAFrame[] = {ProxyFault::kDuplicate, ProxyFault::kSwap};

// Before the header, in it, at its end, in the body, far into it; faults past the end hit the last byte.
constexpr uint64_t kPhases[] = {0, 20, kFrameHeaderBytes - 1, kFrameHeaderBytes, 300, 1 << 20};

// The result of a job.
struct Outcome {
  std::vector<float> weights;
  std::vector<std::string> told;  // to its first trainer
};

const Proxy::Script kNoFault = [](ProxyDirection, const FrameHeader&) { return ProxyFault(); };

class Phases : public testing::TestWithParam<Message> {
 protected:
  // The job, with a proxy in front of every port of its servers.
  virtual Outcome run(const Proxy::Script& script) = 0;

  // With the fault in the second frame of its type and direction.
  void survive(ProxyDirection direction, const ProxyFault& fault) {
    if (num_faults_++ % try_every() != 0) return;
    SCOPED_TRACE(cat("fault ", int{fault.kind}, " at byte ", fault.at_byte,
                     direction == ProxyDirection::kToTarget ? " to a server" : " to a trainer"));
    int seen = 0;
    const Outcome outcome = run([&](ProxyDirection where, const FrameHeader& header) {
      const bool here = where == direction && header.type == static_cast<uint16_t>(GetParam());
      return here && seen++ == 1 ? fault : ProxyFault();
    });
    EXPECT_GE(seen, 2);
    expect_same_bits(calm_.weights, outcome.weights);
    EXPECT_EQ(calm_.told, outcome.told);
  }

  void survive_all() {
    calm_ = run(kNoFault);
    for (ProxyDirection direction : {ProxyDirection::kToTarget, ProxyDirection::kToClient}) {
      for (ProxyFault::Kind kind : kAtAByte) {
        for (uint64_t phase : kPhases) survive(direction, {.kind = kind, .at_byte = phase, .delay = 50ms});
      }
      for (ProxyFault::Kind kind : kOfAFrame) survive(direction, {.kind = kind, .delay = 50ms});
    }
  }

  Outcome calm_;
  int64_t num_faults_ = 0;  // that there are, tried or not
};

std::string name_of(const testing::TestParamInfo<Message>& info) {
  const std::map<Message, std::string> names = {
      {Message::kDescribe, "Describe"},
      {Message::kHello, "Hello"},
      {Message::kPull, "Pull"},
      {Message::kPush, "Push"},
      {Message::kCommit, "Commit"},
      {Message::kGather, "Gather"},
      {Message::kKeys, "Keys"},
      {Message::kEndRun, "EndRun"},
      {Message::kLoad, "Load"},
      {Message::kRowReport, "RowReport"},
      {Message::kSaveLease, "SaveLease"},
      {Message::kCheckpoint, "Checkpoint"},
      {Message::kCheckpointShard, "RowSlice"},
      {Message::kCheckpointSlice, "CheckpointShardSlice"},
      {Message::kTrainerChunk, "StateChunk"},
  };
  return names.at(info.param);
}

// A job that clips by norm trains, and its weights are read.
class PhasesOfTraining : public Phases {
 protected:
  PhasesOfTraining() {
    job_.optimizer = {{"type", "momentum"}, {"learning_rate", 0.05}, {"clip_global_norm", 0.5}};
    job_.steps = {{2, 1}, {3, 1}};
    job_.small = true;
  }

  Outcome run(const Proxy::Script& script) override {
    ShardCluster cluster(job_, {2, 1, 0});
    cluster.put_proxies(script);
    Outcome outcome{cluster.train(), {}};
    for (auto& shard : cluster.shards()) EXPECT_EQ(shard->shard()->counters().steps, 4u);
    return outcome;
  }

 private:
  SyntheticJob job_;
};

TEST_P(PhasesOfTraining, AreSurvivedInBothDirections) {
  survive_all();
}

INSTANTIATE_TEST_SUITE_P(Messages, PhasesOfTraining,
                         testing::Values(Message::kDescribe, Message::kHello, Message::kPull, Message::kPush,
                                         Message::kCommit, Message::kGather, Message::kKeys,
                                         Message::kEndRun),
                         name_of);

// A job with rounded gradients and a table whose rows come and go, with checkpoints.
class CheckpointedJob {
 public:
  explicit CheckpointedJob(bool copies = true) : copies_(copies) {
    job_.optimizer = {{"type", "adagrad"}, {"learning_rate", 0.05}};
    job_.rows = RowPolicy::spec().parse({{"admission", {{"count", 2}}}}, "rows");
    job_.steps = {{3, 3, 2}, {3, 3, 2}};
    job_.small = true;
    job_.types.push = RowType::kInt8;
  }

  // Begins with a model, trains two passes of three, copies the checkpoint of the end of each, if it copies,
  // and says who saves.
  Outcome begin(const std::string& folder, const Proxy::Script& script) {
    Outcome outcome;
    run(folder, /*resume=*/false, script, [&](RemoteStore& store, int rank) {
      if (rank == 0) load(store);
      store.group().barrier();
      int64_t step = 0;
      for (int64_t pass = 0; pass < 2; ++pass) {
        train_pass(store, job_, rank, pass, 0, step);
        if (copies_ && rank == 0) copy_checkpoint(store, pass, join_path(folder, "copies"));
        store.group().gather("figures");
      }
      if (rank == 0) {
        EXPECT_TRUE(store.run().elect_saver(SaveStage::kBegin, "model").elected);
        outcome.told.push_back(RowReport::spec().to_json(store.row_report(0)).dump());
        outcome.weights = all_weights(store, job_.small);
        EXPECT_TRUE(store.run().elect_saver(SaveStage::kDone, "model").elected);
      }
      store.group().gather("the run is left before its end");
    });
    return outcome;
  }

  // Other servers and trainers train the third.
  Outcome go_on(const std::string& folder, const Proxy::Script& script) {
    Outcome outcome;
    run(folder, /*resume=*/true, script, [&](RemoteStore& store, int rank) {
      const std::vector<std::string> states = store.run().restored_states();
      if (rank == 0) outcome.told = states;
      run_trainer(store, store.group(), store.run(), job_, rank);
      if (rank == 0) outcome.weights = all_weights(store, job_.small);
      store.group().gather("the run is left before its end");
    });
    return outcome;
  }

 private:
  void run(const std::string& folder, bool resume, const Proxy::Script& script,
           const std::function<void(RemoteStore&, int rank)>& body) {
    ShardCluster cluster(job_, {2, 1, 0});
    CheckpointSettings& settings = cluster.served().checkpoints;
    settings.directory = join_path(folder, "checkpoints");
    settings.files = &unsynced_files();
    settings.job = Json::object();
    settings.own_thread = false;
    settings.resume = resume;
    make_directories(settings.directory);
    cluster.put_proxies(script);
    for (int rank = 0; rank < job_.trainers(); ++rank) {
      RemoteOptions options = cluster.options(rank);
      options.checkpoint_at_end = [cuts = copies_ && !resume](int64_t) { return cuts; };
      options.hello.passes = 3;
      options.hello.resume = resume;
      cluster.spawn(options, [&body, rank](RemoteStore& store) {
        store.checkpoints().on_checkpoint([rank](std::string& state) { state = cat("trainer ", rank); });
        body(store, rank);
      });
    }
    cluster.run();
    for (auto& shard : cluster.shards()) EXPECT_EQ(shard->shard()->counters().steps, resume ? 2u : 6u);
  }

  static void load(RemoteStore& store) {
    store.load_rows(0, std::vector<uint64_t>{1, 2, 1ull << 40}, std::vector<float>(9, 0.5f).data());
    store.load_all(2, std::vector<float>(200, 0.25f).data());
  }

  static void copy_checkpoint(RemoteStore& store, int64_t pass, const std::string& copies) {
    std::optional<AskedCheckpoint> asked;
    EXPECT_TRUE(store.checkpoints().ask(pass, [&](const AskedCheckpoint& one) { asked = one; }));
    store.checkpoints().wait([&] { return asked.has_value(); }, 60);
    ASSERT_TRUE(asked && asked->counts);
    bool copied = false;
    store.checkpoints().copy(*asked, copies, [&](const std::optional<Error>& error) {
      copied = true;
      EXPECT_FALSE(error) << error->message();
    });
    store.checkpoints().wait([&] { return copied; }, 60);
    ASSERT_TRUE(copied);
    ThreadPool pool(1);
    CheckpointReader(join_path(copies, asked->text)).verify(pool, /*rows=*/true);
  }

  const bool copies_;
  SyntheticJob job_;
};

class PhasesOfSaving : public Phases {
 protected:
  Outcome run(const Proxy::Script& script) override {
    constexpr Message kOfCopies[] = {Message::kCheckpoint, Message::kCheckpointShard,
                                     Message::kCheckpointSlice};
    const bool copies = std::ranges::find(kOfCopies, GetParam()) != std::end(kOfCopies);
    const ScratchFolder folder;
    return CheckpointedJob(copies).begin(folder.path(), script);
  }
};

TEST_P(PhasesOfSaving, AreSurvivedInBothDirections) {
  survive_all();
}

INSTANTIATE_TEST_SUITE_P(Messages, PhasesOfSaving,
                         testing::Values(Message::kLoad, Message::kRowReport, Message::kSaveLease,
                                         Message::kCheckpoint, Message::kCheckpointShard,
                                         Message::kCheckpointSlice),
                         name_of);

class PhasesOfResuming : public Phases {
 protected:
  PhasesOfResuming() { CheckpointedJob().begin(folder_.path(), kNoFault); }

  Outcome run(const Proxy::Script& script) override {
    const ScratchFolder copy;
    std::filesystem::copy(folder_.path(), copy.path(), std::filesystem::copy_options::recursive);
    return CheckpointedJob().go_on(copy.path(), script);
  }

 private:
  const ScratchFolder folder_;
};

TEST_P(PhasesOfResuming, AreSurvivedInBothDirections) {
  survive_all();
}

INSTANTIATE_TEST_SUITE_P(Messages, PhasesOfResuming, testing::Values(Message::kTrainerChunk), name_of);

}  // namespace
}  // namespace ps
