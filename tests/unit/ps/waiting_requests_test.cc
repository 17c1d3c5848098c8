// The requests that a shard has not answered.
#include "ps/server/waiting_requests.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "run_parts.h"

namespace ps::waiting_requests_test {
namespace {

class WaitingRequestsTest : public testing::Test {
 protected:
  OutcomePtr pull(int rank, uint64_t step) {
    auto outcome = std::make_shared<Outcome>();
    ReplyPtr reply = std::make_unique<RecordingReply>(outcome);
    PullRequest request;
    request.step = step;
    run_.pulls.wait(rank, std::move(request), reply);
    return outcome;
  }

  OutcomePtr gather(int rank) {
    auto outcome = std::make_shared<Outcome>();
    run_.gathering.give(rank, "given", HeldBytes());
    run_.gathering.add_reply(rank, GatherRequest{.bytes = "given"},
                             std::make_unique<RecordingReply>(outcome));
    return outcome;
  }

  RunParts run_{{}, 2};
  WaitingRequests waiting_{run_.pulls, run_.gathering, *run_.clock};
};

TEST_F(WaitingRequestsTest, ArePullsPushesAndWhatIsGathered) {
  EXPECT_FALSE(waiting_.any());
  pull(0, 1);
  EXPECT_EQ(waiting_.size(), 1u);
  run_.push(0, 0, 1);
  EXPECT_EQ(waiting_.size(), 2u);
  gather(1);
  EXPECT_EQ(waiting_.size(), 3u);
  EXPECT_TRUE(waiting_.any());
}

TEST_F(WaitingRequestsTest, OfConnectionsThatAreGoneAreForgottenButTheirPushStays) {
  OutcomePtr requests[] = {pull(0, 1), run_.push(0, 0, 1), gather(1)};
  for (OutcomePtr& each : requests) each->wanted = false;
  waiting_.forget_unwanted();
  EXPECT_EQ(waiting_.size(), 0u);
  EXPECT_TRUE(waiting_.any());
}

TEST_F(WaitingRequestsTest, GiveTheirRepliesAway) {
  OutcomePtr requests[] = {pull(0, 1), run_.push(0, 0, 1), gather(1)};
  std::vector<ReplyPtr> replies = waiting_.release_replies();
  ASSERT_EQ(replies.size(), 3u);
  EXPECT_FALSE(waiting_.any());
  for (ReplyPtr& reply : replies) reply->fail(Error(Code::kUnavailable, "over"));
  for (OutcomePtr& each : requests) EXPECT_TRUE(each->error);
}

}  // namespace
}  // namespace ps::waiting_requests_test
