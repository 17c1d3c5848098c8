// The requests of operators: each is taken once, and the end stays asked for.
#include "job/operator_requests.h"

#include <gtest/gtest.h>

namespace ps::operator_requests_test {
namespace {

TEST(OperatorRequests, AreTakenOnceHoweverOftenTheyWereMade) {
  Log log("test", LogLevel::kError);
  OperatorRequests requests(log);
  EXPECT_FALSE(requests.take(OperatorRequest::kCheckpoint));
  for (int i = 0; i < 3; ++i) requests.add(OperatorRequest::kCheckpoint, "127.0.0.1:1");
  EXPECT_FALSE(requests.take(OperatorRequest::kShrink));
  EXPECT_FALSE(requests.ends());
  EXPECT_TRUE(requests.take(OperatorRequest::kCheckpoint));
  EXPECT_FALSE(requests.take(OperatorRequest::kCheckpoint));
}

TEST(OperatorRequests, TheEndStaysAskedFor) {
  Log log("test", LogLevel::kError);
  OperatorRequests requests(log);
  requests.add(OperatorRequest::kEnd, "127.0.0.1:1");
  EXPECT_TRUE(requests.ends());
  EXPECT_TRUE(requests.ends());
}

TEST(OperatorRequests, HavePathsOfTheirNames) {
  for (OperatorRequest request :
       {OperatorRequest::kCheckpoint, OperatorRequest::kEnd, OperatorRequest::kShrink}) {
    EXPECT_EQ(parse_operator_request(cat("/", operator_request_name(request))), request);
  }
  for (const char* path : {"", "/", "checkpoint", "/end/", "//end", "/ends", "/End", "/status.json"}) {
    EXPECT_EQ(parse_operator_request(path), std::nullopt) << path;
  }
}

}  // namespace
}  // namespace ps::operator_requests_test
