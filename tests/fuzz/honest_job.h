// HonestJob: trainers that take their part in a run on a shard as ps-wire(5) says, and end it.  Their gradients depend
// on the weights that they pull, so that a weight that is lost, late or applied twice changes all that follow.  Used
// by ShardPeers.
#ifndef PS_TESTS_FUZZ_HONEST_JOB_H_
#define PS_TESTS_FUZZ_HONEST_JOB_H_

#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "config/json.h"
#include "net/channel.h"
#include "net/sim/sim_network.h"
#include "optim/synthetic_parameter.h"
#include "ps/wire/gather.h"
#include "ps/wire/hello.h"
#include "ps/wire/run_messages.h"
#include "support/gather_body.h"

namespace ps {

// The parameters of every job; the first of two shards has neither the second nor the fourth.
inline std::vector<ParameterSpec> peer_parameters() {
  return {synthetic_parameter("table", ParameterKind::kRows, true, 0, 3),
          synthetic_parameter("embedding", ParameterKind::kRows, false, 40, 4),
          synthetic_parameter("matrix", ParameterKind::kMatrix, false, 8, 5),
          synthetic_parameter("running", ParameterKind::kStatistic, false, 1, 4)};
}

// One trainer, driven by its answers.  An error that is an answer ends the program: honest trainers get none.
class HonestTrainer {
 public:
  HonestTrainer(SimHost& host, const Address& server, const Hello& hello)
      : hello_(hello), channel_(host, pool_, server, options()) {
    channel_.connect();
  }

  bool welcomed() const { return hello_.known; }
  bool ended() const { return ended_; }
  const std::string& weights() const { return weights_; }

 private:
  static constexpr uint64_t kSteps = 4;
  static constexpr size_t kTableRow = 3, kMatrix = 8 * 5;  // floats

  ChannelOptions options() {
    ChannelOptions options;
    options.connection = alive_within(std::chrono::seconds(15));
    options.give_up_after = kNever;
    options.hello_type = static_cast<uint16_t>(Message::kHello);
    options.hello = [this] { return Payload(Hello::spec().to_json(hello_).dump()); };
    options.on_hello = [this](const Frame& frame) { welcome(frame); };
    options.on_given_up = [](const Error& error) { fail_honest(error); };
    return options;
  }

  [[noreturn]] static void fail_honest(const Error& error) {
    std::fprintf(stderr, "an honest trainer was told: %s\n", error.message().c_str());
    std::abort();
  }

  void welcome(const Frame& frame) {
    const Json json = parse_json({frame.body.data(), frame.body.size()}, "welcome");
    const RunStatus status = Welcome::spec().parse(json, "welcome").run_status;
    if (std::exchange(hello_.known, true)) return;
    step_ = status.step + status.held;
    pass_ = status.pass;
    gathering_ = status.gathered;
    gather([this] { pull(); });
  }

  void ask(Message type, std::string body, std::function<void(const Frame&)> then) {
    channel_.request(static_cast<uint16_t>(type), Payload(std::move(body)), std::chrono::hours(2),
                     [then = std::move(then)](Answer answer) {
                       if (answer.error) fail_honest(*answer.error);
                       then(answer.frame);
                     });
  }

  void gather(std::function<void()> then) {
    const char marker = kGathered;
    ask(Message::kGather, gather_body({.number = gathering_++, .bytes = {&marker, 1}, .first = 0, .rest = 0}),
        [then = std::move(then)](const Frame&) { then(); });
  }

  // The keys of this step's batch, or all that any batch has.
  std::vector<uint64_t> keys(bool all) const {
    std::vector<uint64_t> keys;
    Random random(77 + static_cast<uint64_t>(hello_.rank), num_done_);
    for (uint64_t key = 0; key < 24; ++key) {
      if (all || random.below(4) == 0) keys.push_back(key * 1009);
    }
    return keys;
  }

  static std::string parts(const std::vector<uint64_t>& keys) {
    std::string parts;
    encode_key_slice(0, keys, parts);
    encode_range_slice(2, 0, 8, false, parts);
    return parts;
  }

  void pull() {
    if (num_done_ == kSteps) return end_pass();
    ask(Message::kPull, encode_pull({.step = step_}, 2, parts(keys(false))),
        [this](const Frame& frame) { push(frame); });
  }

  void push(const Frame& pulled) {
    const std::vector<uint64_t> batch = keys(false);
    PushHeader header{.step = step_, .info = {10 + hello_.rank, static_cast<int64_t>(pass_)}};
    std::string body = encode_push(header, 2, parts(batch));
    const char* rows = pulled.body.data();
    Random noise(5 + static_cast<uint64_t>(hello_.rank), num_done_);
    for (size_t floats : {batch.size() * kTableRow, kMatrix}) {
      for (size_t i = 0; i < floats; ++i) {
        float weight = 0;
        std::memcpy(&weight, rows + i * sizeof(float), sizeof(float));
        put(body, 0.5f * weight + static_cast<float>(noise.uniform()) - 0.5f);
      }
      body.resize(padded(body.size()));
      rows += padded(floats * sizeof(float));
    }
    ask(Message::kPush, body, [this](const Frame& frame) { answered(frame); });
  }

  void answered(const Frame& frame) {
    const Done done = decode_done(frame.body.bytes());
    if (!done.squares.empty() && !std::exchange(commits_, true)) return commit(done);
    if (done.held && !std::exchange(commits_, true)) return commit({});
    commits_ = false;
    ++step_;
    if (!ending_) ++num_done_;
    if (!ending_) return pull();
    done.pass_ended ? finish() : end_pass();
  }

  // The other shards, which are not there, would have given squares of nothing.
  void commit(const Done& done) {
    CommitRequest request{.step = step_, .squares = {}};
    for (const ExactSquares& squares : done.squares) request.squares.push_back(squares.value());
    ask(Message::kCommit, encode_commit(request), [this](const Frame& frame) { answered(frame); });
  }

  void end_pass() {
    ending_ = true;
    const PushHeader header{.step = step_, .info = {0, static_cast<int64_t>(pass_)}, .ended = true};
    ask(Message::kPush, encode_push(header, 0, ""), [this](const Frame& frame) { answered(frame); });
  }

  void finish() {
    ask(Message::kPull, encode_pull({.mode = PullMode::kRead}, 2, parts(keys(true))),
        [this](const Frame& frame) {
          weights_.assign(frame.body.data(), frame.body.size());
          gather([this] { ask(Message::kEndRun, "", [this](const Frame&) { ended_ = true; }); });
        });
  }

  Hello hello_;
  BufferPool pool_;
  Channel channel_;
  uint64_t step_ = 0, pass_ = 0, gathering_ = 0, num_done_ = 0;
  bool commits_ = false;  // its squares are there, or it is held, and commit was sent
  bool ending_ = false, ended_ = false;
  std::string weights_;
};

class HonestJob {
 public:
  // Each trainer is a process with a generation of its own, from `generation` on.
  HonestJob(SimNetwork& network, const Address& server, Hello hello, uint64_t generation) {
    for (hello.rank = 0; hello.rank < hello.trainers; ++hello.rank) {
      hello.generation = generation + static_cast<uint64_t>(hello.rank);
      SimHost& host = network.host(cat("trainer", hello.rank));
      trainers_.push_back(std::make_unique<HonestTrainer>(host, server, hello));
    }
  }

  bool welcomed() const {
    return std::ranges::all_of(trainers_, [](const auto& trainer) { return trainer->welcomed(); });
  }
  bool ended() const {
    return std::ranges::all_of(trainers_, [](const auto& trainer) { return trainer->ended(); });
  }
  const std::string& weights() const { return trainers_[0]->weights(); }

 private:
  std::vector<std::unique_ptr<HonestTrainer>> trainers_;
};

}  // namespace ps

#endif  // PS_TESTS_FUZZ_HONEST_JOB_H_
