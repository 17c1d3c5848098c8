// Measures for how long a shard is held at a time.  Two trainers push the same two million rows, or pull them,
// or load or return them, or end a pass at which all rows are judged.  Each call on the shard by the thread of a port, for a request or
// a slice of a step, is timed by itself, since the shard serves no other request during a call.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "bench/pull_push/suite.h"
#include "config/json.h"
#include "config/spec.h"
#include "optim/optimizer_plan.h"
#include "optim/row_policy.h"
#include "optim/synthetic_parameter.h"
#include "ps/server/shard.h"
#include "ps/server/slice_checks.h"
#include "ps/server/snapshot_fields.h"
#include "ps/wire/row_owner.h"
#include "ps/wire/stored_rows.h"

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

enum class HeldBy {
  kFirstStep,
  kSecondStep,
  kStep,
  kCheckpoint,
  kEndOfPass,
  kPull,
  kRead,
  kLoad,
  kStored,
  kReturned
};

// Takes a snapshot, and drops it.
class DroppedSnapshot final : public SnapshotTarget {
 public:
  void add_rows(const TableLayout&, uint32_t, SnapshotRows&&) override {}
  void add_dense(const TableLayout&, const BlockCyclicRows&, std::vector<float>) override {}
};

struct HoldSettings {
  const char* name;
  const char* help;
  HeldBy by = HeldBy::kStep;
  bool sparse = true, spilled = false;
  const char* policy = nullptr;  // of the rows
  bool averages = false;         // means of weights begin with the second step
  bool evicts = false;           // the table has no room for all rows
};

// Steps in which all rows are created, or are found; pulls of all rows; ends of passes.  One owner thread.
//
// The shard is used without sockets and without a thread of its own: messages are encoded, decoded and
// handed over by this thread, as the thread of a port would do, and hold() times each call.  Work that a
// call leaves for later is done in slices by go_on() and read_on(), each of which is a call too.  The
// longest call is the figure, because another request waits as long as that.  Gradients are 1 and the rate
// is 1, so that each step of kHolders trainers lowers every weight by kHolders, which check() sees in three
// rows.  Keys of a sparse table are multiples of 17, so that they leave gaps, as keys of training do.
class ShardHolds final : public Workload {
 public:
  ShardHolds(const BenchSettings& settings, const HoldSettings& what)
      : what_(what),
        cpu_(settings.cpu),
        scratch_(settings.scratch),
        keys_(static_cast<size_t>(std::max(2000.0, 2e6 * settings.scale))) {
    for (size_t i = 0; i < keys_.size(); ++i) keys_[i] = what.sparse ? 17 * i : i;
  }

  // At an end of a pass without a step before it there is nothing to judge.  A first step needs a shard
  // without rows each time; the others need one whose rows are there, and get it by a step that is not
  // counted.
  void prepare() override {
    const bool makes_rows =
        what_.by == HeldBy::kFirstStep || what_.by == HeldBy::kLoad || what_.by == HeldBy::kReturned;
    const bool is_new = makes_rows || what_.by == HeldBy::kSecondStep || !shard_;
    if (is_new) make_shard();
    if (what_.by == HeldBy::kEndOfPass || (is_new && !makes_rows)) step();
    shard_->tables().parameters().end_snapshot();
    forget();
  }

  void run() override {
    forget();
    if (what_.by == HeldBy::kPull || what_.by == HeldBy::kRead) return pull_all();
    if (what_.by == HeldBy::kLoad) return load_all();
    if (what_.by == HeldBy::kStored) return fetch_all();
    if (what_.by == HeldBy::kReturned) return return_all();
    if (what_.by == HeldBy::kCheckpoint)
      hold([&] { shard_->tables().parameters().begin_snapshot(kSnapshotBytes, snapshot_); });
    what_.by == HeldBy::kEndOfPass ? end_pass() : step();
  }

  // A row that does not exist reads as the one that would be created.
  void check() override {
    if (messages_ == 0) fail(Code::kInternal, "nothing was pushed");
    expect_equal("answers", answers_, messages_);
    if (what_.evicts) return check_evicted();
    const std::vector<float> weights = some_weights();
    for (size_t i = 0; i < weights.size(); ++i) {
      expect_near("weight", weights[i], double{beginning_[i]} - kHolders * static_cast<double>(trained_),
                  1e-6);
    }
  }

  Work work() const override { return {.items = static_cast<double>(keys_.size())}; }
  std::vector<Figure> figures() const override {
    return {{kLongestHold, 1e3 * longest_}, {"calls", static_cast<double>(calls_)}};
  }

 private:
  static constexpr uint64_t kSnapshotBytes = uint64_t{256} << 20;  // as much as shards give a checkpoint

  // Every step makes the rows that the one before has evicted.
  void check_evicted() const {
    const RowReport report = shard_->tables().row_report(0);
    if (report.evicted > 0 && report.rows < keys_.size()) return;
    fail(Code::kInternal, "evicted ", report.evicted, " rows, and has ", report.rows);
  }

  // Makes a shard without rows, which two trainers have joined.  With on_busy set the shard leaves work for
  // later calls, as it does for a port; without it, steps would be applied at once.  The functions
  // themselves have nothing to do, since go_on() and pull_all() make those calls.
  void make_shard() {
    ParameterSpec spec = synthetic_parameter("table", ParameterKind::kRows, what_.sparse,
                                             what_.sparse ? 0 : std::ssize(keys_), kHeldWidth);
    if (what_.policy != nullptr)
      spec.row_policy = RowPolicy::spec().parse(parse_json(what_.policy, "rows"), "rows");
    if (what_.evicts) spec.row_policy->limit = std::ssize(keys_) / 2;
    Json optimizer = {{"type", "sgd"}, {"learning_rate", 1}};
    if (what_.averages) optimizer["average"] = {{"begin_step", 1}};
    OptimizerPlan plan = make_optimizer_plan(optimizer, "sum");
    plan.cpu = cpu_;
    ShardLimits limits;
    if (what_.spilled) limits.spill = {scratch_, keys_.size() * kHeldWidth};  // a quarter of the rows
    shard_.reset();
    shard_ =
        std::make_unique<Shard>(std::vector{spec}, plan, ShardPlace(), Consistency(), TrainerLoss(), limits);
    shard_->runner().on_busy([] {});
    shard_->pulls().on_room([] {});
    for (int rank = 0; rank < kHolders; ++rank) shard_->membership().join({rank, kHolders, 1}, Time());
    steps_ = trained_ = pass_ = 0;
    beginning_ = some_weights();
  }

  // Returns the weights of the first, the middle and the last row.
  std::vector<float> some_weights() const {
    const std::vector<uint64_t> keys = {keys_.front(), keys_[keys_.size() / 2], keys_.back()};
    std::vector<float> weights(keys.size() * static_cast<size_t>(kHeldWidth));
    shard_->tables().parameters().table(0)->read_rows(keys, weights.data());
    return weights;
  }

  void forget() { longest_ = 0, calls_ = 0, answers_ = 0, messages_ = 0; }

  // Pushes gradients of one from both trainers, in messages as long as a trainer's.  The slices of the two
  // come in turn, as from trainers that work at the same speed.
  void step() {
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
    ++steps_, ++trained_;
  }

  // Sets all rows to ones, which are new, in the largest messages that a shard takes.
  void load_all() {
    for (const auto some : largest_messages(keys_)) {
      const std::vector<float> ones(some.size() * static_cast<size_t>(kHeldWidth), 1.0f);
      std::string row_slices;
      encode_key_slice(0, some, row_slices);
      std::string body = encode_load(1, row_slices);
      body.append(reinterpret_cast<const char*>(ones.data()), ones.size() * sizeof(float));
      body.resize(padded(body.size()));
      Buffer received = to_buffer(pool_, body);
      hold([&] { shard_->load(decode_load(std::move(received), shard_->tables().widths())); });
      ++messages_, ++answers_;
    }
    beginning_.assign(beginning_.size(), 1.0f);
  }

  // Asks for all rows as they are stored, as a trainer does that trains them on its device.
  void fetch_all() {
    for (const auto some : largest_messages(keys_)) {
      RowSlice slice;
      slice.keys.assign(some.begin(), some.end());
      const size_t least = some.size() * static_cast<size_t>(kHeldWidth) * sizeof(float);
      hold([&] { answers_ += shard_->stored_rows({&slice, 1}).size() >= least; });
      ++messages_;
    }
  }

  // Returns rows of ones, which are new, each from the trainer that owns it.
  void return_all() {
    for (int rank = 0; rank < kHolders; ++rank) {
      std::vector<uint64_t> owned;
      std::ranges::copy_if(keys_, std::back_inserter(owned),
                           [&](uint64_t key) { return row_owner(key, kHolders) == rank; });
      uint64_t number = 0;
      for (const auto some : largest_messages(owned)) {
        ReturnedRows::Slice slice;
        slice.rows.keys.assign(some.begin(), some.end());
        slice.rows.values.assign(some.size() * static_cast<size_t>(kHeldWidth), 1.0f);
        const std::string body = encode_returned_rows({.number = ++number, .slices = {std::move(slice)}});
        hold([&] { shard_->return_rows(rank, body); });
        ++messages_, ++answers_;
      }
    }
    beginning_.assign(beginning_.size(), 1.0f);
  }

  // Returns the keys of messages with as many rows as one may set.
  static std::vector<std::span<const uint64_t>> largest_messages(std::span<const uint64_t> keys) {
    const size_t rows = std::min<size_t>(kMostSetRows, kMostRowBytes / (kHeldWidth * sizeof(float)));
    std::vector<std::span<const uint64_t>> messages;
    for (size_t first = 0; first < keys.size(); first += rows)
      messages.push_back(keys.subspan(first, std::min(rows, keys.size() - first)));
    return messages;
  }

  // Ends the pass by a push without gradients from each trainer, whereupon the shard judges all rows.
  void end_pass() {
    for (int rank = 0; rank < kHolders; ++rank) {
      const StepInfo info{0, static_cast<int64_t>(pass_)};
      send(rank, encode_push({.step = steps_, .info = info, .ended = true}, 0, ""));
    }
    ++steps_, ++pass_;
  }

  // Pulls all rows, in as few answers as they fit into.  A pull by a trainer is answered with the rows of
  // its step; a reader asks in mode kRead, which makes no rows.  The shard may answer a large pull in
  // pieces: read_on() goes on until the answer is there.
  void pull_all() {
    const size_t rows = std::min<size_t>(kMostKeys, kMaxMessageBytes / (kHeldWidth * sizeof(float)));
    for (size_t first = 0; first < keys_.size(); first += rows) {
      const auto some = std::span(keys_).subspan(first);
      std::string row_slices;
      encode_key_slice(0, some.first(std::min(rows, some.size())), row_slices);
      const bool reads = what_.by == HeldBy::kRead;
      PullHeader header{.step = steps_, .number = ++pulls_};
      if (reads) header = {.mode = PullMode::kRead};
      const std::string body = encode_pull(header, 1, row_slices);
      ReplyPtr reply = std::make_unique<CountedReply>(answers_);
      ++messages_;
      hold([&] {
        reads ? shard_->pulls().read(~uint64_t{0}, decode_pull(body), reply)
              : shard_->pull(0, decode_pull(body), reply);
      });
      go_on();
      while (answers_ < messages_) hold([&] { shard_->pulls().read_on(); });
    }
  }

  void go_on() {
    while (shard_->runner().busy()) hold([&] { shard_->runner().go_on(); });
  }

  // Sends one slice of a step, from one trainer: the header, the keys (with their numbers of uses, if rows
  // have a policy), and the gradients [keys, kHeldWidth] as floats behind them.
  void push(int rank, uint32_t slice, uint32_t slices, std::span<const uint64_t> keys,
            std::span<const float> gradient) {
    std::string row_slices;
    if (what_.policy != nullptr) {
      encode_counted_slice(0, keys, std::vector<KeyCount>(keys.size(), KeyCount{1, 0}), row_slices);
    } else {
      encode_key_slice(0, keys, row_slices);
    }
    const PushHeader header{.step = steps_, .info = {1, 0}, .slice = slice, .num_slices = slices};
    std::string body = encode_push(header, 1, row_slices);
    body.append(reinterpret_cast<const char*>(gradient.data()),
                keys.size() * static_cast<size_t>(kHeldWidth) * sizeof(float));
    send(rank, std::move(body));
  }

  void send(int rank, std::string body) {
    body.resize(padded(body.size()));
    Buffer received = to_buffer(pool_, body);
    ReplyPtr reply = std::make_unique<CountedReply>(answers_);
    hold([&] { shard_->push(rank, decode_push(std::move(received), shard_->tables().widths()), reply); });
    ++messages_;
    go_on();
  }

  // While rows come from a disk, the thread waits, and others wait for it.  Otherwise processor time is
  // taken, since the wall clock would count the time of other programs as a hold.
  template <class Body>
  void hold(Body&& body) {
    const double start = now();
    body();
    longest_ = std::max(longest_, now() - start);
    ++calls_;
  }

  double now() const { return what_.spilled ? monotonic_seconds() : thread_cpu_seconds(); }

  const HoldSettings what_;
  const CpuLevel cpu_;
  const std::string scratch_;
  std::vector<uint64_t> keys_;
  BufferPool pool_;
  DroppedSnapshot snapshot_;
  std::unique_ptr<Shard> shard_;
  std::vector<float> beginning_;         // some weights before the first step
  uint64_t steps_ = 0;                   // the next step of both trainers
  uint64_t trained_ = 0, pass_ = 0;      // steps and passes that the shard has applied and ended
  uint64_t pulls_ = 0;                   // pulls so far
  uint64_t answers_ = 0, messages_ = 0;  // answers and messages of the last step
  size_t calls_ = 0;
  double longest_ = 0;  // longest processor time of a call, in seconds
};

// Each case is a kind of work that could hold a shard for long: making rows, for which indexes grow, stepping them, fetching
// them from disk, steps of a whole dense table, the step with which means of weights begin, the first step after a
// checkpoint has begun, counting uses for a policy, judging all rows, evicting half of them, large answers, and
// large messages that set rows or ask for stored ones.
constexpr HoldSettings kHolds[] = {
    {.name = "pull-push/hold/first",
     .help = "the first step of two million rows of 16, pushed by two trainers",
     .by = HeldBy::kFirstStep},
    {.name = "pull-push/hold/later", .help = "a step of the same rows when they are there"},
    {.name = "pull-push/hold/spilled",
     .help = "the same, with three quarters of the rows on disk",
     .spilled = true},
    {.name = "pull-push/hold/dense", .help = "a step of as many rows without sparse_update", .sparse = false},
    {.name = "pull-push/hold/average",
     .help = "the step with which means of weights begin",
     .by = HeldBy::kSecondStep,
     .averages = true},
    {.name = "pull-push/hold/average-dense",
     .help = "the same without sparse_update",
     .by = HeldBy::kSecondStep,
     .sparse = false,
     .averages = true},
    {.name = "pull-push/hold/checkpoint",
     .help = "a checkpoint begins, and the rows without sparse_update make a step",
     .by = HeldBy::kCheckpoint,
     .sparse = false},
    {.name = "pull-push/hold/policy", .help = "a step of rows with a policy", .policy = "{}"},
    {.name = "pull-push/hold/shrink",
     .help = "the end of a pass, at which the same rows are judged",
     .by = HeldBy::kEndOfPass,
     .policy = R"({"expire": {"unseen": 9}})"},
    {.name = "pull-push/hold/evict",
     .help = "a step of rows that evicts half of them, since the table is full",
     .policy = R"({"limit": 64, "when_full": "evict"})",
     .evicts = true},
    {.name = "pull-push/hold/load", .help = "the largest messages that set new rows", .by = HeldBy::kLoad},
    {.name = "pull-push/hold/return",
     .help = "the largest messages by which a trainer returns new rows",
     .by = HeldBy::kReturned},
    {.name = "pull-push/hold/stored",
     .help = "messages that ask for as many rows as they are stored",
     .by = HeldBy::kStored},
    {.name = "pull-push/hold/pull", .help = "pulls of the rows by a trainer", .by = HeldBy::kPull},
    {.name = "pull-push/hold/read", .help = "pulls of the rows by a reader", .by = HeldBy::kRead},
};

}  // namespace

std::vector<Benchmark> shard_holds() {
  std::vector<Benchmark> all;
  for (const HoldSettings& what : kHolds) {
    all.push_back(
        {.name = what.name, .help = what.help, .unit = "rows", .make = [what](const BenchSettings& settings) {
           return std::make_unique<ShardHolds>(settings, what);
         }});
  }
  return all;
}

}  // namespace ps
