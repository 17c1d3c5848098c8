// Measures for how long a shard is held at a time.  Two trainers push the same two million rows, and each
// call on the shard by the thread of a port, for a request or a slice of a step, is timed by itself, since
// the shard serves no other request during a call.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "bench/pull_push/suite.h"
#include "optim/optimizer_plan.h"
#include "optim/synthetic_parameter.h"
#include "ps/server/shard.h"
#include "ps/server/snapshot_fields.h"

namespace ps {

namespace {

constexpr int kHolders = 2;
constexpr int64_t kHeldWidth = 16;

// Counts the answers; an error ends the benchmark.  One owner thread.
class CountedReply final : public Reply {
 public:
  explicit CountedReply(uint64_t& answers) : answers_(answers) {}
  void answer(std::shared_ptr<const Payload>) override { ++answers_; }
  void fail(const Error& error) override { throw Error(error); }
  bool wanted() const override { return true; }

 private:
  uint64_t& answers_;
};

// Steps in which all rows are created, or are found.  One owner thread.
class ShardHolds final : public Workload {
 public:
  ShardHolds(const BenchSettings& settings, bool first)
      : first_(first),
        cpu_(settings.cpu),
        keys_(static_cast<size_t>(std::max(2000.0, 2e6 * settings.scale))) {
    for (size_t i = 0; i < keys_.size(); ++i) keys_[i] = 17 * i;
  }

  void prepare() override {
    if (first_ || !shard_) {
      make_shard();
      if (!first_) step();
    }
    answers_ = messages_ = 0;
  }

  void run() override { step(); }

  // A row that does not exist reads as the one that would be created.
  void check() override {
    if (messages_ == 0) fail(Code::kInternal, "nothing was pushed");
    expect_equal("answers", answers_, messages_);
    const std::vector<float> weights = some_weights();
    for (size_t i = 0; i < weights.size(); ++i) {
      expect_near("weight", weights[i], double{beginning_[i]} - kHolders * static_cast<double>(steps_), 1e-6);
    }
  }

  Work work() const override { return {.items = static_cast<double>(keys_.size())}; }
  std::vector<Figure> figures() const override {
    return {{kLongestHold, 1e3 * longest_}, {"calls", static_cast<double>(calls_)}};
  }

 private:
  void make_shard() {
    ParameterSpec spec = synthetic_parameter("table", ParameterKind::kRows, true, 0, kHeldWidth);
    OptimizerPlan plan = make_optimizer_plan({{"type", "sgd"}, {"learning_rate", 1}}, "sum");
    plan.cpu = cpu_;
    shard_ = std::make_unique<Shard>(std::vector{spec}, plan, ShardPlace(), Consistency(), TrainerLoss());
    shard_->runner().on_busy([] {});
    for (int rank = 0; rank < kHolders; ++rank) shard_->membership().join({rank, kHolders, 1}, Time());
    steps_ = 0;
    beginning_ = some_weights();
  }

  // Returns the weights of the first, the middle and the last row.
  std::vector<float> some_weights() const {
    const std::vector<uint64_t> keys = {keys_.front(), keys_[keys_.size() / 2], keys_.back()};
    std::vector<float> weights(keys.size() * static_cast<size_t>(kHeldWidth));
    shard_->tables().parameters().table(0)->read_rows(keys, weights.data());
    return weights;
  }

  // Pushes gradients of one from both trainers, in messages as long as a trainer's.
  void step() {
    longest_ = 0, calls_ = 0, answers_ = 0, messages_ = 0;
    const size_t rows = std::min<size_t>(kMostKeys, kMessageBytes / (kHeldWidth * sizeof(float)));
    const size_t slices = (keys_.size() + rows - 1) / rows;
    const std::vector<float> gradient(rows * static_cast<size_t>(kHeldWidth), 1.0f);
    for (size_t slice = 0; slice < slices; ++slice) {
      for (int rank = 0; rank < kHolders; ++rank) {
        const auto some = std::span(keys_).subspan(slice * rows);
        push(rank, static_cast<uint32_t>(slice), static_cast<uint32_t>(slices),
             some.first(std::min(rows, some.size())), gradient);
      }
    }
    ++steps_;
  }

  void push(int rank, uint32_t slice, uint32_t slices, std::span<const uint64_t> keys,
            std::span<const float> gradient) {
    std::string row_slices;
    encode_key_slice(0, keys, row_slices);
    const PushHeader header{.step = steps_, .info = {1, 0}, .slice = slice, .num_slices = slices};
    std::string body = encode_push(header, 1, row_slices);
    body.append(reinterpret_cast<const char*>(gradient.data()),
                keys.size() * static_cast<size_t>(kHeldWidth) * sizeof(float));
    body.resize(padded(body.size()));
    Buffer received = to_buffer(pool_, body);
    ReplyPtr reply = std::make_unique<CountedReply>(answers_);
    hold([&] { shard_->push(rank, decode_push(std::move(received), shard_->tables().widths()), reply); });
    ++messages_;
    while (shard_->runner().busy()) hold([&] { shard_->runner().go_on(); });
  }

  template <class Body>
  void hold(Body&& body) {
    const double start = thread_cpu_seconds();
    body();
    longest_ = std::max(longest_, thread_cpu_seconds() - start);
    ++calls_;
  }

  const bool first_;
  const CpuLevel cpu_;
  std::vector<uint64_t> keys_;
  BufferPool pool_;
  std::unique_ptr<Shard> shard_;
  std::vector<float> beginning_;         // some weights before the first step
  uint64_t steps_ = 0;                   // number of steps that the shard has applied
  uint64_t answers_ = 0, messages_ = 0;  // answers and messages of the last step
  size_t calls_ = 0;
  double longest_ = 0;  // longest processor time of a call, in seconds
};

Benchmark holds(const char* name, const char* help, bool first) {
  return {.name = name, .help = help, .unit = "rows", .make = [first](const BenchSettings& settings) {
            return std::make_unique<ShardHolds>(settings, first);
          }};
}

}  // namespace

std::vector<Benchmark> shard_holds() {
  return {
      holds("pull-push/hold/first", "the first step of two million rows of 16, pushed by two trainers", true),
      holds("pull-push/hold/later", "a step of the same rows when they are there", false)};
}

}  // namespace ps
