// A compute trainer without readers asks a server for the end of the run, on simulated time.
#include "heter/run_end_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "net/server.h"
#include "net/sim/sim_network.h"

namespace ps::run_end_watch_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class RunEndWatchTest : public testing::Test {
 protected:
  class EndSession final : public Session {
   public:
    explicit EndSession(RunEndWatchTest& test) : test_(test) {}
    std::optional<uint64_t> max_body_bytes(uint16_t) override { return 1 << 20; }
    void on_request(Frame frame, Responder& responder) override {
      EXPECT_EQ(frame.header.type, static_cast<uint16_t>(Message::kRunEnd));
      ++test_.questions_;
      if (test_.refuses_) fail(Code::kAuthentication, "not for you");
      responder.answer(Payload(encode_run_end(test_.end_)));
    }

   private:
    RunEndWatchTest& test_;
  };

  void start_server() {
    server_.emplace(network_.host("server"), Address{"server", 1}, ServerOptions(),
                    [this](SessionLink) { return std::make_unique<EndSession>(*this); });
  }

  // Returns the reason that the watch gives within this time; empty: none.
  std::string reason_within(Duration duration) {
    const Time until = add_time(network_.now(), duration);
    std::optional<std::string> reason;
    while (!reason && network_.now() < until) {
      reason = watch_.over();
      network_.run_for(100ms);
    }
    return reason.value_or("");
  }

  SimNetwork network_{1};
  Log log_{"test", LogLevel::kError};
  RunEnd end_;
  bool refuses_ = false;
  int questions_ = 0;
  std::optional<Server> server_;
  RunEndWatch watch_{network_.host("compute"),
                     [] {
                       RemoteOptions remote;
                       remote.servers = {{"server", 1}};
                       remote.server_timeout = 5s;
                       return remote;
                     },
                     /*patience=*/60s, log_};
};

TEST_F(RunEndWatchTest, ARunOfWhichNothingIsLeftIsOverAtOnce) {
  start_server();
  EXPECT_EQ(reason_within(30s), "") << "it has not ended";
  EXPECT_NEAR(questions_, 27, 4) << "one a second, and the time that it takes to be answered";
  end_ = {.ended = true, .passes = 3};
  EXPECT_EQ(reason_within(3s), "the run has ended after 3 passes, and nothing is left to train");
}

TEST_F(RunEndWatchTest,
       ARunAfterWhichAnotherMayBeginIsOverWhenNoReaderComesForTheTimeThatTrainersAreWaitedFor) {
  start_server();
  end_ = {.ended = true, .passes = 0};
  EXPECT_EQ(reason_within(50s), "");
  watch_.rest();  // a reader was here meanwhile
  EXPECT_EQ(reason_within(50s), "");
  end_.ended = false;
  EXPECT_EQ(reason_within(5s), "") << "another run has begun";
  end_.ended = true;
  EXPECT_EQ(reason_within(50s), "");
  EXPECT_EQ(reason_within(15s), "the run has ended, and no reader has come for 60 s");
}

TEST_F(RunEndWatchTest, AServerThatCannotBeReachedIsWaitedForAsLongAsATrainerWaits) {
  try {
    reason_within(30s);
    ADD_FAILURE() << "it waits on";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnavailable);
    EXPECT_THAT(error.message(), HasSubstr("server:1"));
  }
  EXPECT_LT(network_.now() - Time(), 10s);
}

TEST_F(RunEndWatchTest, AServerThatRefusesTheQuestionIsNotAskedAgainUntilAReaderWasHere) {
  start_server();
  refuses_ = true;
  EXPECT_EQ(reason_within(30s), "");
  EXPECT_EQ(questions_, 1);
  watch_.rest();
  EXPECT_EQ(reason_within(3s), "");
  EXPECT_EQ(questions_, 2);
}

}  // namespace
}  // namespace ps::run_end_watch_test
