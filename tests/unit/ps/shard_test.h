// One shard, driven directly: no network, no threads.
#ifndef PS_TESTS_UNIT_PS_SHARD_TEST_H_
#define PS_TESTS_UNIT_PS_SHARD_TEST_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "config/json.h"
#include "ps/server/shard.h"
#include "recording_reply.h"

namespace ps {

// A table of width 2 with weights that begin at zero, and a statistic of width 1; plain SGD of rate 1.
class ShardTest : public testing::Test {
 protected:
  void make(int trainers, Consistency consistency = {}, const char* gradient = "sum") {
    ParameterSpec table, statistic;
    table.name = "table";
    table.kind = ParameterKind::kRows;
    table.sparse = true;
    table.rows = 100;
    table.cols = 2;
    statistic.name = "statistic";
    statistic.kind = ParameterKind::kStatistic;
    statistic.rows = statistic.cols = 1;
    shard_ = std::make_unique<Shard>(std::vector{table, statistic}, make_optimizer_plan(optimizer_, gradient),
                                     place_, consistency, loss_, limits_, push_codec_);
    for (int rank = 0; rank < trainers; ++rank) join(rank, trainers, 1);
  }

  OutcomePtr commit(int rank, uint64_t step, std::vector<double> squares) {
    return send([&](ReplyPtr& reply) { shard_->commit(rank, {step, std::move(squares)}, reply); });
  }

  RunStatus join(int rank, int trainers, uint64_t generation, bool known = false, uint64_t run = 0) {
    return shard_->membership().join({rank, trainers, generation, known, run}, now_);
  }
  OutcomePtr give(int rank, const GatherRequest& piece) {
    return send([&](ReplyPtr& reply) { shard_->gather(rank, piece, reply); });
  }
  OutcomePtr gather(int rank, uint64_t number, const std::string& bytes) {
    return give(rank, {.number = number, .bytes = bytes, .first = 0, .rest = 0});
  }
  void leave(int rank, int trainers, uint64_t generation) {
    shard_->membership().leave({rank, trainers, generation, true}, now_);
  }

  OutcomePtr pull(int rank, uint64_t step, const std::vector<uint64_t>& keys, uint64_t number = 0,
                  RowType type = RowType::kF32) {
    std::string parts;
    encode_key_slice(0, keys, parts);
    return send([&](ReplyPtr& reply) {
      PullHeader header{.step = step, .type = type, .number = number};
      shard_->pull(rank, decode_pull(encode_pull(header, 1, parts)), reply);
    });
  }

  // A gradient whose elements are all `gradient`.
  OutcomePtr push(int rank, uint64_t step, const std::vector<uint64_t>& keys, float gradient,
                  int64_t samples = 1) {
    return push_slice(rank, {.step = step, .info = {samples, 0}}, keys, gradient);
  }
  OutcomePtr push_slice(int rank, const PushHeader& header, const std::vector<uint64_t>& keys,
                        float gradient) {
    std::string parts;
    encode_key_slice(0, keys, parts);
    std::string body = encode_push(header, 1, parts);
    for (size_t i = 0; i < 2 * keys.size(); ++i) put(body, gradient);
    return push_body(rank, body);
  }
  // Gradients for the keys of a pull.
  OutcomePtr push_pulled(int rank, uint64_t step, uint64_t pulled, const std::vector<float>& gradients) {
    std::string body = encode_push({.step = step, .info = {1, 0}, .pulled = pulled}, 0, "");
    for (float gradient : gradients) put(body, gradient);
    return push_body(rank, body);
  }
  OutcomePtr push_statistic(int rank, uint64_t step, float value, int64_t samples) {
    std::string parts;
    encode_range_slice(1, 0, 1, true, parts);
    std::string body = encode_push({.step = step, .info = {samples, 0}}, 1, parts);
    put(body, value);
    return push_body(rank, body);
  }
  OutcomePtr push_end(int rank, uint64_t step) {
    return push_body(rank, encode_push({.step = step, .ended = true}, 0, ""));
  }
  OutcomePtr push_body(int rank, std::string body) {
    body.resize(padded(body.size()));
    Buffer buffer = pool_.take(body.size());
    std::copy(body.begin(), body.end(), buffer.data());
    return send([&](ReplyPtr& reply) {
      shard_->push(rank, decode_push(std::move(buffer), shard_->tables().widths()), reply);
    });
  }

  // A reader's pull of one part.
  OutcomePtr read(Shard& shard, const std::string& parts) {
    return send([&](ReplyPtr& reply) {
      shard.pulls().read(~uint64_t{0}, decode_pull(encode_pull({.mode = PullMode::kRead}, 1, parts)), reply);
    });
  }

  // The first element of rows.
  std::vector<float> weights(const std::vector<uint64_t>& keys) {
    std::string parts;
    encode_key_slice(0, keys, parts);
    const std::vector<float> rows = read(*shard_, parts)->floats(2 * keys.size());
    std::vector<float> first;
    for (size_t i = 0; i < keys.size(); ++i) first.push_back(rows[2 * i]);
    return first;
  }
  float statistic() {
    std::string parts;
    encode_range_slice(1, 0, 1, true, parts);
    return read(*shard_, parts)->floats(1)[0];
  }

  std::string refusal(const std::function<void()>& body, Code code) {
    try {
      body();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.message();
      return error.message();
    }
    return "accepted";
  }

  Json optimizer_ = {{"type", "sgd"}, {"learning_rate", 1}};
  Json push_codec_ = nullptr;
  ShardPlace place_;
  ShardLimits limits_;
  TrainerLoss loss_{.timeout = std::chrono::seconds(10)};
  BufferPool pool_;
  Time now_{};
  std::unique_ptr<Shard> shard_;

 private:
  template <class Body>
  OutcomePtr send(Body&& body) {
    auto outcome = std::make_shared<Outcome>();
    ReplyPtr reply = std::make_unique<RecordingReply>(outcome);
    body(reply);
    return outcome;
  }
};

}  // namespace ps

#endif  // PS_TESTS_UNIT_PS_SHARD_TEST_H_
