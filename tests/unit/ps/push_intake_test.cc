// Pushes that come to a shard: those that make no sense leave nothing behind.
#include "ps/server/push_intake.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ps/wire/run_status.h"
#include "run_parts.h"

namespace ps::push_intake_test {
namespace {

class PushIntakeTest : public testing::Test {
 protected:
  PushRequest request(const PushHeader& header, float gradient, uint64_t key = 1) {
    std::string parts;
    encode_key_slice(0, std::vector{key}, parts);
    std::string body = encode_push(header, 1, parts);
    put(body, gradient);
    body.resize(padded(body.size()), '\0');
    return decode_push(to_buffer(run_.held.pool(), body), run_.tables.widths());
  }

  // The code with which a push is refused; nothing when it is admitted.
  std::optional<Code> refusal(PushRequest request, bool resumed = false) {
    try {
      intake_.check_order(0, request, resumed);
      intake_.admit(0, request);
    } catch (const Error& error) {
      return error.code();
    }
    return std::nullopt;
  }

  RunParts run_{Consistency()};
  const PushCodecs codecs_{};  // none
  PushIntake intake_{
      run_.tables,
      run_.memory,
      codecs_,
      *run_.clock,
      {run_.roster, run_.applier, run_.states, run_.pulls, run_.held, run_.checkpoints, run_.counters}};
};

TEST_F(PushIntakeTest, AdmittedPushIsHeldUntilItIsForgotten) {
  PushRequest push = request({.step = 0, .info = {1, 0}}, 2);
  auto [room, encoded] = intake_.admit(0, push);
  EXPECT_GT(room.bytes(), 0u);
  EXPECT_EQ(encoded.size(), 0u) << "rows of f32 are not decoded";
  PendingPush& pending = run_.clock->trainer(0).pending_push(push);
  intake_.hold(pending, std::move(push), std::move(room));
  EXPECT_EQ(pending.slices.size(), 1u);
  EXPECT_EQ(run_.counters.pushes, 1u);
  EXPECT_EQ(run_.counters.rows_pushed, 1u);
  EXPECT_GT(run_.held.bytes_in_use(HeldKind::kPushes), 0u);
  intake_.end_steps();
  EXPECT_EQ(*pending.slices.at(0).floats(pending.slices.at(0).row_slices[0]), 2);
  run_.clock->restart(2);
  EXPECT_EQ(run_.held.bytes_in_use(HeldKind::kPushes), 0u);
}

TEST_F(PushIntakeTest, StepThatComesTooEarlyIsRefusedAndSaysSoWhereALogMayHaveLostItsEnd) {
  EXPECT_EQ(refusal(request({.step = 0, .info = {1, 0}}, 2)), std::nullopt);
  EXPECT_EQ(refusal(request({.step = 5, .info = {1, 0}}, 2)), Code::kData);
  EXPECT_EQ(refusal(request({.step = 5, .info = {1, 0}}, 2), /*resumed=*/true), kStateLost);
  EXPECT_EQ(refusal(request({.step = 0, .info = {1, 0}, .slice = 7, .num_slices = 1 << 16}, 2)),
            std::nullopt);
  EXPECT_EQ(refusal(request({.step = 0, .info = {1, 0}, .slice = 7, .num_slices = (1 << 16) + 1}, 2)),
            Code::kData);
}

TEST_F(PushIntakeTest, RefusedPushHoldsNothing) {
  EXPECT_EQ(refusal(request({.step = 0, .info = {1, 0}}, std::nanf(""))), Code::kData);
  EXPECT_EQ(refusal(request({.step = 0, .info = {1, 0}}, 1, /*key=*/1000)), Code::kData);
  EXPECT_EQ(refusal(request({.step = 0, .ended = true}, 1)), Code::kData) << "gradients after the end";
  EXPECT_EQ(run_.counters.refused_not_finite, 1u);
  EXPECT_EQ(run_.held.bytes_in_use(HeldKind::kPushes), 0u);
}

TEST_F(PushIntakeTest, PullThatWasNeverMadeCannotBeNamed) {
  std::string body = encode_push({.step = 0, .info = {1, 0}, .pulled = 3}, 0, "");
  body.resize(padded(body.size()), '\0');
  EXPECT_EQ(refusal(decode_push(to_buffer(run_.held.pool(), body), run_.tables.widths())), Code::kData);
}

}  // namespace
}  // namespace ps::push_intake_test
