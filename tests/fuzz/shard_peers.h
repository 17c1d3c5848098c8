// ShardPeers: a shard of a server on a simulated network, and peers that say to it what a script of bytes has them
// say: any message in any order, from any number of connections.  Used by the harness ps_shard, and by
// sim_any_order, which draws scripts from seeds.
//
// A promise of the shard that is broken ends the program.  The shard promises that
// - no request is answered with an error that is a mistake of ours, kInternal;
// - all that peers make it hold stays within its limits;
// - synchronous trainers that train beside readers and strangers end with the same bits as without them;
// - when the peers have gone, trainers can begin a run, and end it;
// - then nothing is held for those that have gone.
#ifndef PS_TESTS_FUZZ_SHARD_PEERS_H_
#define PS_TESTS_FUZZ_SHARD_PEERS_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/temporary_folder.h"
#include "fuzz/honest_job.h"
#include "fuzz/peer_messages.h"
#include "fuzz/script.h"
#include "fuzz/script_peer.h"
#include "net/sim/sim_network.h"
#include "ps/server/shard_server.h"
#include "ps/wire/run_messages.h"

namespace ps {

// How the shard is set up.
struct ShardSetting {
  uint32_t consistency = 0;  // 0: synchronous, 1: stale, 2: asynchronous, 3: ahead, 4: 2 with a greatest lag
  bool clips = false;        // gradients by norm: steps are applied in two
  bool coded = false;        // gradients may come in the bytes of a codec
  bool goes_on = false;      // without trainers that are gone
  bool has_others = false;   // the job has another shard, which is not there
  bool honest = false;       // trainers train beside the peers
  bool slices = false;       // steps are applied in slices, with time in between
  uint32_t saves = 0;        // 0: no checkpoints, 1: checkpoints, 2: with a log

  ShardSetting() = default;
  explicit ShardSetting(Script& script) {
    consistency = script.choice(5);
    const uint8_t bits = script.byte();
    clips = bits & 1, coded = bits & 2, goes_on = bits & 4, has_others = bits & 8, honest = bits & 16,
    slices = bits & 32;
    saves = script.choice(8);
    if (saves > 2) saves = 0;
  }

  int trainers() const { return consistency == 3 ? 1 : 2; }
  auto operator<=>(const ShardSetting&) const = default;
};

class ShardPeers {
 public:
  explicit ShardPeers(const ShardSetting& setting) : setting_(setting) {
    job_.fingerprint = Json::object();
    job_.parameters = [](const DataSchema&) { return peer_parameters(); };
    Json optimizer = {{"type", "momentum"}, {"learning_rate", 0.05}};
    if (setting.clips) optimizer["clip_global_norm"] = 0.5;
    job_.optimizers = make_optimizer_plan(optimizer, "sum");
    if (setting.coded) job_.push_codec = {{"type", "int8"}};
    const Consistency kConsistencies[] = {
        {}, {.staleness = 1}, {.async = true}, {.ahead = 2}, {.async = true, .max_lag = 2}};
    job_.consistency = kConsistencies[setting.consistency];
    job_.trainer_loss = {.timeout = std::chrono::seconds(10), .go_on = setting.goes_on};
    if (setting.saves > 0) {
      folder_.emplace(default_temporary_parent());
      job_.checkpoints.directory = folder_->path("checkpoints");
      job_.checkpoints.own_thread = false;
      job_.checkpoints.job = Json::object();
      job_.checkpoints.steps = 2;
      job_.checkpoints.durable = setting.saves == 2;
    }
    begin_server();
  }
  ~ShardPeers() { end_server(); }

  void run(Script& script) {
    if (setting_.honest) {
      honest_ = std::make_unique<HonestJob>(network_, server_->address(), hello(), 1000);
      run_until([this] { return honest_->welcomed(); });
    }
    constexpr int kMostActions = 150;
    for (int i = 0; i < kMostActions && !script.ended(); ++i) {
      act(script);
      check();
    }
    peers_.clear();
    if (honest_) {
      run_until([this] { return honest_->ended(); });
      if (setting_.consistency == 0) PS_CHECK(honest_->weights() == calm_weights(setting_));
      honest_.reset();
    }
    expect_recovered();
  }

 private:
  static constexpr uint64_t kLimit = 64 << 10;  // of each kind of memory

  ShardLimits limits() const {
    ShardLimits limits;
    if (setting_.slices) limits.slice_work = 100, limits.slice_rest = std::chrono::microseconds(300);
    limits.request_bytes = limits.held_bytes = limits.answer_bytes = kLimit;
    limits.tables = std::make_shared<MemoryBudget>(64 << 20);
    limits.array_bytes = 16 << 10;
    limits.max_connections = 24;
    limits.max_readers = 6;
    return limits;
  }

  void begin_server() {
    server_ = std::make_unique<ShardServer>(network_.host("server"), Address{"server", 7000}, job_, limits());
    server_->set_ports({{7000}, 1, 1});
  }
  void end_server() {
    peers_.clear();
    honest_.reset();
    server_.reset();
  }

  Hello hello() const {
    Hello hello;
    hello.trainers = setting_.trainers();
    hello.job = Json::object();
    hello.schema = to_json(DataSchema());
    const int others = setting_.has_others ? 1 : 0;
    hello.place = to_json(ShardPlace{.num_dense = 1 + others});
    return hello;
  }

  template <class Done>
  void run_until(Done&& done) {
    PS_CHECK(network_.run_until(done, network_.now() + std::chrono::hours(1)));
  }

  // The weights of the honest job where there are no peers.
  static const std::string& calm_weights(const ShardSetting& setting) {
    static std::map<ShardSetting, std::string> all;
    std::string& weights = all[setting];
    if (!weights.empty()) return weights;
    ShardSetting at_once = setting;
    at_once.slices = false;
    ShardPeers calm(at_once);
    HonestJob job(calm.network_, calm.server_->address(), calm.hello(), 1000);
    calm.run_until([&] { return job.ended(); });
    return weights = job.weights();
  }

  // ---- what the script has the peers do

  void act(Script& script) {
    const uint32_t action = script.choice(32);
    if (action == 0) return restart();
    if (action == 1) return network_.run_for(std::chrono::seconds(1 + script.choice(40)));
    if (peers_.empty() || action == 2) {
      peers_.push_back(std::make_unique<ScriptPeer>(network_.host("peer"), server_->address()));
      if (peers_.size() > 8) peers_.erase(peers_.begin());
    }
    ScriptPeer& peer = *peers_[script.choice(static_cast<uint32_t>(peers_.size()))];
    if (action == 3)
      return void(peers_.erase(peers_.begin() + script.choice(static_cast<uint32_t>(peers_.size()))));
    if (action == 4) return peer.read(script.yes());
    if (action == 5) return peer.send_bytes(script.bytes(script.choice(60)));
    if (action == 6) return peer.send(script.byte(), script.bytes(script.choice(40)));
    send(script, peer, action);
    if (!script.rarely()) network_.run_for(std::chrono::milliseconds(1));
  }

  void send(Script& script, ScriptPeer& peer, uint32_t action) {
    const Shard* shard = server_->shard();
    const uint64_t run = shard ? shard->roster().run() : 0, step = shard ? shard->steps().clock() : 0;
    const auto say = [&](Message type, const std::string& body) {
      peer.send(static_cast<uint16_t>(type), body);
    };
    if (action < 12) {
      const Message type = action < 11 ? Message::kHello : Message::kRunEnd;
      return say(type, hello_message(script, hello(), run, setting_.honest));
    }
    if (action < 15) return say(Message::kPull, pull_message(script, step));
    if (action < 20) return say(Message::kPush, push_message(script, step));
    switch (action) {
      case 20:
        return say(Message::kCommit, commit_message(script, step));
      case 21:
      case 22:
        return say(Message::kGather, gather_message(script, gathered_));
      case 23:
        gathered_ += script.choice(2);  // what peers believe
        return script.yes() ? say(Message::kKeys, keys_message(script))
                            : say(Message::kGatheredSlice, gathered_message(script, gathered_));
      case 24:
        return say(Message::kLoad, load_message(script));
      case 25:
        return say(script.yes() ? Message::kEndRun : Message::kLeaveRun, "");
      case 26:
        return say(Message::kSaveLease, save_message(script, run));
      case 27:
        return say(Message::kCheckpoint, encode_checkpoint_request(script.yes() ? -1 : script.choice(3)));
      case 28:
        return script.yes() ? say(Message::kCheckpointShard, encode_shard_request(script.number()))
                            : say(Message::kCheckpointSlice, slice_message(script));
      case 29:
        return say(Message::kTrainerChunk, encode_chunk_request(static_cast<uint32_t>(script.number())));
      case 30: {
        const ScriptParts parts(script);
        return say(Message::kStoredRows, encode_row_slices(parts.count, parts.encoded));
      }
      default:
        return tell_or_return(script, peer);
    }
  }

  static void tell_or_return(Script& script, ScriptPeer& peer) {
    const auto say = [&](Message type, const std::string& body) {
      peer.send(static_cast<uint16_t>(type), body);
    };
    switch (script.choice(6)) {
      case 0:
        return say(Message::kReturnRows, returned_message(script));
      case 1:
        return say(Message::kAbsent, "");
      case 2:
        return say(Message::kOptimizers, encode_optimizers_request(script.yes()));
      case 3:
        return say(Message::kRowReport, script.bytes(4));
      case 4:
        return say(Message::kApplied, "");
      default:
        return say(Message::kDescribe, "");
    }
  }

  // Another process on the same port, where a log says how to go on.
  void restart() {
    if (setting_.saves != 2 || setting_.honest) return;
    end_server();
    network_.run_for(std::chrono::seconds(1));
    begin_server();
  }

  // ---- the promises

  // Prints what is held when a promise about it is broken.
  static void expect(bool kept, const ShardStatus& status) {
    if (kept) return;
    for (const HeldStatus& kind : status.held) {
      std::fprintf(stderr, "%s: %llu bytes\n", kind.kind.c_str(),
                   static_cast<unsigned long long>(kind.bytes));
    }
    PS_CHECK(kept);
  }

  // A buffer may be longer than was asked for, and one answer alone is never too long.
  void check() const {
    if (server_->shard() == nullptr) return;
    ShardStatus status;
    server_->shard()->describe(status);
    uint64_t held = 0;
    for (const HeldStatus& kind : status.held) {
      if (kind.kind == "state chunks") continue;  // may take memory of the tables
      if (kind.kind != "answers") {
        held += kind.bytes;
      } else {
        expect(kind.bytes <= kMaxMessageBytes + kMaxMessageBytes / 4, status);
      }
    }
    expect(held <= kLimit + kLimit / 4, status);
  }

  // Trainers of a number that no peer has named end the run that peers have left, or begin another.
  void expect_recovered() {
    network_.run_for(std::chrono::minutes(5));
    PS_CHECK(server_->num_connections() == 0);
    Hello newcomer = hello();
    if (setting_.consistency != 3) newcomer.trainers = 5;
    newcomer.resume = setting_.saves > 0;  // else the folder of a run is refused
    HonestJob job(network_, server_->address(), newcomer, 2000);
    run_until([&] { return job.ended(); });
    ShardStatus status;
    server_->shard()->describe(status);
    for (const HeldStatus& kind : status.held) {
      const bool of_the_run = kind.kind == "trainers" || kind.kind == "gatherings";
      expect(of_the_run || kind.bytes == 0, status);
    }
    PS_CHECK(server_->shard()->num_waiting() == 0);
  }

  const ShardSetting setting_;
  std::optional<TemporaryFolder> folder_;
  SimNetwork network_{1};
  ServedJob job_;
  std::unique_ptr<ShardServer> server_;
  std::vector<std::unique_ptr<ScriptPeer>> peers_;
  std::unique_ptr<HonestJob> honest_;
  uint64_t gathered_ = 0;
};

}  // namespace ps

#endif  // PS_TESTS_FUZZ_SHARD_PEERS_H_
