// Steps that a shard applies in slices: the same bits for slices of any size, rows that read as before the step or as after it
// in between, and requests that finish the step, or wait for its end in their order.
#include <numeric>

#include "base/random.h"
#include "net/sim/sim_network.h"
#include "optim/synthetic_parameter.h"
#include "ps/server/deferred_requests.h"
#include "ps/server/shard_host.h"
#include "ps/server/snapshot_fields.h"
#include "shard_test.h"

namespace ps::sliced_steps_test {
namespace {

using testing::ElementsAre;

class SlicedStepsTest : public ShardTest {
 protected:
  // A shard that is busy with a slice of so much work at a time.
  void make_sliced(int trainers, uint64_t work, Consistency consistency = {}) {
    limits_.slice_work = work;
    make(trainers, consistency);
    shard_->runner().on_busy([this] { ++num_slices_; });
  }
  void go_on() {
    while (shard_->runner().busy()) shard_->runner().go_on();
  }

  // Some of the rows, drawn.
  static std::vector<uint64_t> draw_keys(Random& random) {
    std::vector<uint64_t> keys;
    for (uint64_t key = 0; key < 100; ++key) {
      if (random.below(3) == 0) keys.push_back(key);
    }
    return keys;
  }
  static std::vector<uint64_t> all_keys() {
    std::vector<uint64_t> keys(100);
    std::iota(keys.begin(), keys.end(), uint64_t{0});
    return keys;
  }

  // Trains; in the pauses of each step somebody reads.
  std::vector<float> train(uint64_t work, Consistency consistency) {
    make_sliced(2, work, consistency);
    Random random(7, 3), reader(7, 4);
    for (uint64_t step = 0; step < 70; ++step) {
      for (int rank = 0; rank < 2; ++rank) {
        push(rank, step, draw_keys(random), 0.25f + static_cast<float>(random.below(1000)) / 512);
        while (shard_->runner().busy()) {
          weights({reader.below(100)});
          shard_->runner().go_on();
        }
      }
    }
    return weights(all_keys());
  }

  int num_slices_ = 0;
};

TEST_F(SlicedStepsTest, SlicesOfAnySizeGiveTheSameBits) {
  for (const Json& optimizer :
       {Json{{"type", "adagrad"}, {"learning_rate", 0.1}},
        Json{{"type", "momentum"}, {"learning_rate", 0.01}, {"l1", 0.01}, {"l2", 0.01}},
        Json{{"type", "adam"}, {"learning_rate", 0.1}}}) {
    for (const bool async : {false, true}) {
      SCOPED_TRACE(cat(optimizer.dump(), " ", async));
      optimizer_ = optimizer;
      num_slices_ = 0;
      const std::vector<float> at_once = train(SliceWork::kUnlimited, {.async = async});
      EXPECT_EQ(num_slices_, 0);
      for (const uint64_t work : {1, 7, 300}) {
        num_slices_ = 0;
        const std::vector<float> sliced = train(work, {.async = async});
        EXPECT_GT(num_slices_, 70) << work;
        EXPECT_EQ(std::memcmp(at_once.data(), sliced.data(), sliced.size() * sizeof(float)), 0) << work;
      }
    }
  }
}

// With momentum an idle step changes a row too: one whose gradient is to come must not read as if it had been idle.
TEST_F(SlicedStepsTest, ARowReadsAsBeforeTheStepOrAsAfterIt) {
  optimizer_ = {{"type", "momentum"}, {"learning_rate", 1}, {"momentum", 0.5}};
  make_sliced(1, 1);
  push(0, 0, all_keys(), 1);
  go_on();
  const float before = weights({0})[0];
  push(0, 1, all_keys(), 1);
  bool some_were_mixed = false;
  while (shard_->runner().busy()) {
    const std::vector<float> rows = weights(all_keys());
    const auto num_before = std::ranges::count(rows, before);
    const auto num_after = std::ranges::count(rows, -2.5f);
    EXPECT_EQ(num_before + num_after, 100);
    some_were_mixed |= num_before > 0 && num_after > 0;
    shard_->runner().go_on();
  }
  EXPECT_TRUE(some_were_mixed);
  EXPECT_EQ(before, -1);
  EXPECT_THAT(weights(all_keys()), testing::Each(-2.5f));
}

TEST_F(SlicedStepsTest, ATrainersRequestHasTheStepFinished) {
  make_sliced(1, 1);
  const OutcomePtr pushed = push(0, 0, {1, 2, 3}, 1);
  ASSERT_TRUE(shard_->runner().busy());
  EXPECT_TRUE(pushed->waits());
  EXPECT_EQ(pull(0, 1, {3})->floats(2)[0], -1);
  EXPECT_FALSE(shard_->runner().busy());
  EXPECT_FALSE(pushed->waits());
  push(0, 1, {1, 2, 3}, 1);
  ASSERT_TRUE(shard_->runner().busy());
  shard_->membership().refuse_waiting(Error(Code::kUnavailable, "the server is ending"));
  EXPECT_EQ(shard_->steps().clock(), 2u) << "the step was over before";
  EXPECT_THAT(weights({1, 2, 3}), ElementsAre(-2, -2, -2));
}

TEST_F(SlicedStepsTest, SquaresAreMeasuredInSlicesToo) {
  optimizer_ = {{"type", "sgd"}, {"learning_rate", 1}, {"clip_global_norm", 1}};
  make_sliced(1, 1);
  const OutcomePtr pushed = push(0, 0, {1, 2, 3, 4}, 2);
  ASSERT_TRUE(shard_->runner().busy());
  EXPECT_TRUE(pushed->waits());
  go_on();
  ASSERT_FALSE(pushed->waits());
  EXPECT_EQ(pushed->done().squares[0].value(), 32);
  const OutcomePtr applied = commit(0, 0, {64, 0});
  EXPECT_TRUE(applied->waits());
  go_on();
  EXPECT_FALSE(applied->waits());
  EXPECT_THAT(weights({1, 4}), ElementsAre(-0.25, -0.25));
}

// ---- requests that wait

class Noted final : public DeferredRequest {
 public:
  Noted(const ShardHost& host, std::vector<std::string>& notes, std::string name)
      : host_(host), notes_(notes), name_(std::move(name)) {}
  void handle() override {
    notes_.push_back(cat(name_, " at step ", host_.shard_or_null()->steps().clock()));
  }
  void fail(const Error& error) override { notes_.push_back(cat(name_, ": ", error.message())); }

 private:
  const ShardHost& host_;
  std::vector<std::string>& notes_;
  const std::string name_;
};

class DeferredRequestsTest : public testing::Test {
 protected:
  DeferredRequestsTest() {
    job_.fingerprint = Json::object();
    job_.parameters = [](const DataSchema&) {
      return std::vector{synthetic_parameter("table", ParameterKind::kRows, true, 0, 1)};
    };
    job_.optimizers = make_optimizer_plan({{"type", "sgd"}}, "sum");
    ShardLimits limits;
    limits.slice_work = 1;
    host_ = std::make_unique<ShardHost>(network_.host("server").loop(), job_, limits, [](const Error&) {});
    Hello hello;
    hello.rank = 0, hello.trainers = 1, hello.generation = 1;
    hello.job = Json::object();
    hello.schema = to_json(DataSchema());
    hello.place = to_json(ShardPlace());
    host_->admit(hello);
    host_->join({hello.rank, hello.trainers, hello.generation, false, 0, false});
  }

  void push(uint64_t step) {
    std::string parts;
    encode_key_slice(0, std::vector<uint64_t>{1, 2, 3}, parts);
    std::string body = encode_push({.step = step, .info = {1, 0}}, 1, parts);
    for (int i = 0; i < 3; ++i) put(body, 1.0f);
    body.resize(padded(body.size()));
    ReplyPtr reply = std::make_unique<RecordingReply>(std::make_shared<Outcome>());
    host_->shard().push(0, decode_push(to_buffer(pool_, body), host_->shard().tables().widths()), reply);
  }
  void defer(const std::string& name) {
    auto request = std::make_unique<Noted>(*host_, notes_, name);
    request->held = host_->shard().hold_request(0, HeldKind::kDeferred);
    host_->deferred().defer(std::move(request));
  }
  uint64_t held() const {
    ShardStatus status;
    host_->describe(status);
    for (const HeldStatus& kind : status.held) {
      if (kind.kind == std::string("deferred requests")) return kind.bytes;
    }
    return 0;
  }

  SimNetwork network_{1};
  ServedJob job_;
  BufferPool pool_;
  std::unique_ptr<ShardHost> host_;
  std::vector<std::string> notes_;
};

TEST_F(DeferredRequestsTest, AreHandledInTheirOrderWhenTheStepIsOver) {
  EXPECT_FALSE(host_->deferred().must_wait());
  push(0);
  ASSERT_TRUE(host_->deferred().must_wait());
  for (const char* name : {"first", "second", "third"}) defer(name);
  EXPECT_EQ(held(), 3 * DeferredRequest::kBytes);
  EXPECT_THAT(notes_, ElementsAre());
  EXPECT_TRUE(network_.run_until([this] { return !host_->deferred().must_wait(); }, seconds_duration(10)));
  EXPECT_THAT(notes_, ElementsAre("first at step 1", "second at step 1", "third at step 1"));
  EXPECT_EQ(held(), 0u);
}

TEST_F(DeferredRequestsTest, AreRefusedWhenTheServerEnds) {
  push(0);
  defer("first");
  host_->refuse_waiting(Error(Code::kUnavailable, "the server is ending"));
  EXPECT_THAT(notes_, ElementsAre("first: the server is ending"));
  EXPECT_FALSE(host_->deferred().must_wait());
}

}  // namespace
}  // namespace ps::sliced_steps_test
