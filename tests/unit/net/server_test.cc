#include "net/server.h"

#include <sys/resource.h>

#include <thread>

#include "net_test.h"
#include "support/environment.h"

namespace ps::server_test {
namespace {

class ServerTest : public EveryNetwork {
 protected:
  void serve() { serve(service_.factory()); }
  void serve(Server::SessionFactory factory) {
    server_ = std::make_unique<Server>(world_->server(), world_->any_port(), options_, std::move(factory));
  }
  Channel& channel() {
    channels_.push_back(
        std::make_unique<Channel>(world_->client(), pool_, server_->address(), channel_options_));
    return *channels_.back();
  }
  void run_until_answers(size_t count) {
    run_until([&] { return answers_.count() == count; });
  }

  TestService service_;
  ServerOptions options_;
  ChannelOptions channel_options_;
  BufferPool pool_;
  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<Channel>> channels_;
  Answers answers_;
};

TEST_P(ServerTest, AnswersComeBackWhateverTheirSize) {
  serve();
  Channel& asking = channel();
  for (size_t size : {0, 1, 5000, 100000, 5000000}) {
    EXPECT_EQ(text_of(asking.call(kEcho, Payload(pattern(size)), 20s)), pattern(size));
  }
  EXPECT_EQ(service_.requests.size(), 5u);
}

TEST_P(ServerTest, AnswersMayComeLaterAndInAnotherOrder) {
  serve();
  Channel& asking = channel();
  for (const char* text : {"a", "b", "c"})
    asking.request(kLater, Payload(std::string(text)), 20s, answers_.collect());
  run_until([this] { return service_.later.size() == 3; });
  service_.answer_later();
  run_until_answers(3);
  EXPECT_EQ(answers_.texts, (std::vector<std::string>{"c", "b", "a"}));
}

TEST_P(ServerTest, OneAnswerMayServeMany) {
  serve();
  Channel& asking = channel();
  for (int i = 0; i < 3; ++i) asking.request(kLater, Payload(), 20s, answers_.collect());
  run_until([this] { return service_.later.size() == 3; });
  auto payload = std::make_shared<const Payload>(pattern(100000));
  for (TestService::Later& later : service_.later) later.responder.answer(payload);
  run_until_answers(3);
  for (const std::string& text : answers_.texts) EXPECT_TRUE(text == pattern(100000));
}

TEST_P(ServerTest, WhatASessionThrowsIsTheAnswerAndTheConnectionLives) {
  serve();
  Channel& asking = channel();
  try {
    asking.call(kFail, Payload(), 20s);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFenced);
    EXPECT_EQ(error.message(), "another server owns this");
  }
  EXPECT_EQ(text_of(asking.call(kEcho, Payload(std::string("x")), 20s)), "x");
  EXPECT_EQ(server_->counters().connections_opened, 1u);
}

// The answer, that it was dropped, has the channel ask again.
TEST_P(ServerTest, AForgottenRequestIsAnsweredToo) {
  service_.forgetful = 1;
  serve();
  EXPECT_EQ(text_of(channel().call(kForget, Payload(std::string("again")), 20s)), "again");
  EXPECT_LT(service_.forgetful, 0);
}

TEST_P(ServerTest, UnknownTypesAndLongBodiesAreRefusedAndTheConnectionLives) {
  service_.max_body_bytes = 100;
  serve();
  Channel& asking = channel();
  for (auto [type, size] : {std::pair(999, 0), std::pair(int{kEcho}, 101)}) {
    try {
      asking.call(static_cast<uint16_t>(type), Payload(pattern(static_cast<size_t>(size))), 20s);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUsage);
    }
  }
  EXPECT_EQ(text_of(asking.call(kEcho, Payload(pattern(100)), 20s)), pattern(100));
  EXPECT_EQ(server_->counters().connections_opened, 1u);
  EXPECT_EQ(server_->counters().frames_refused, 2u);
}

TEST_P(ServerTest, TheDeadlineTravelsAlong) {
  serve();
  channel().call(kEcho, Payload(), 7s);
  EXPECT_LE(service_.last_deadline_ms, 7000u);
  EXPECT_GE(service_.last_deadline_ms, 6000u);
}

TEST_P(ServerTest, OneConnectionTooManyIsToldSo) {
  options_.max_connections = 2;
  serve();
  for (int i = 0; i < 2; ++i) channel().call(kEcho, Payload(), 20s);
  std::string waiting;
  channel_options_.on_waiting = [&waiting](const std::string& message) { waiting = message; };
  Channel& third = channel();
  third.connect();
  run_until([&waiting] { return !waiting.empty(); });
  EXPECT_THAT(waiting, testing::EndsWith("too many connections, at most 2"));
  channels_.erase(channels_.begin());
  EXPECT_EQ(text_of(third.call(kEcho, Payload(std::string("in")), 20s)), "in")
      << "as soon as another one has gone";
  EXPECT_GE(server_->counters().connections_refused, 1u);
}

TEST_P(ServerTest, OneThatHasNotSaidHelloMakesRoomAndThoseThatHaveStay) {
  options_.max_connections = 2;
  serve([this](SessionLink link) { return std::make_unique<TestSession>(service_, link); });
  Channel& first = channel();
  first.call(kHello, Payload(), 20s);
  channel_options_.give_up_after = Duration(0);
  channel().connect();
  run_until([this] { return server_->num_connections() == 2; });
  Channel& second = channel();
  second.call(kHello, Payload(), 20s);
  run_until([this] { return service_.closed.size() == 1; });
  EXPECT_EQ(service_.closed[0], "too many connections, at most 2");
  EXPECT_EQ(server_->counters().connections_refused, 1u);
  EXPECT_THROW(channel().call(kHello, Payload(), 20s), Error) << "now all are established";
  for (Channel* each : {&first, &second}) {
    EXPECT_EQ(text_of(each->call(kEcho, Payload(std::string("x")), 20s)), "x");
    EXPECT_EQ(each->counters().connections_opened, 1u);
  }
}

// Lets this process have no more than `bytes` of address space beyond what it has.
class AddressSpaceLimit {
 public:
  explicit AddressSpaceLimit(uint64_t bytes) {
    getrlimit(RLIMIT_AS, &before_);
    rlimit limit = before_;
    limit.rlim_cur = address_space_bytes() + bytes;
    setrlimit(RLIMIT_AS, &limit);
  }
  ~AddressSpaceLimit() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

TEST(ServerWithoutMemory, RefusesAFrameForWhichThereIsNoneAndGoesOn) {
  if (is_sanitized()) return;
  TcpWorld world(/*local=*/false);
  TestService service;
  Server server(world.server(), world.any_port(), ServerOptions(), service.factory());
  BufferPool pool;
  Channel asking(world.client(), pool, server.address(), {});
  asking.call(kEcho, Payload(std::string("x")), 20s);
  Payload large(pattern(64 << 20));
  std::optional<Error> refused;
  {
    AddressSpaceLimit limit(16 << 20);
    try {
      asking.call(kEcho, std::move(large), 20s);
    } catch (const Error& error) {
      refused = error;
    }
  }
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code(), Code::kExhausted);
  EXPECT_THAT(refused->message(), testing::HasSubstr("no memory for 64.0 MiB of a frame"));
  EXPECT_EQ(text_of(asking.call(kEcho, Payload(std::string("y")), 20s)), "y");
  EXPECT_EQ(server.counters().connections_opened, 1u);
}

TEST_P(ServerTest, BodiesInUseAreBoundedAndReadingGoesOnWhenTheyAreReleased) {
  options_.max_memory_bytes = 1 << 20;
  service_.keep = true;
  serve();
  constexpr size_t kRequests = 60;
  for (int c = 0; c < 3; ++c) {
    Channel& asking = channel();
    for (size_t i = 0; i < kRequests / 3; ++i) {
      asking.request(kEcho, Payload(pattern(100000)), 25s, answers_.collect());
    }
  }
  while (answers_.count() < kRequests) {
    run_for(3ms);
    ASSERT_LE(service_.kept.size(), 9u);
    // As a shard's kernels may do.
    std::thread([this] { service_.kept.clear(); }).join();
  }
  EXPECT_TRUE(answers_.errors.empty());
}

TEST_P(ServerTest, ABodyBeyondTheWholeBudgetIsRefused) {
  options_.max_memory_bytes = 1 << 20;
  serve();
  EXPECT_THROW(channel().call(kEcho, Payload(pattern(2 << 20)), 20s), Error);
}

TEST_P(ServerTest, OneConnectionHasOnlySoManyRequestsUnderWay) {
  options_.max_unanswered = 4;
  serve();
  Channel& asking = channel();
  for (int i = 0; i < 20; ++i) asking.request(kLater, Payload(), 20s, answers_.collect());
  while (answers_.count() < 20) {
    run_for(2ms);
    ASSERT_LE(service_.later.size(), 4u);
    service_.answer_later();
  }
}

TEST_P(ServerTest, OneThatDoesNotReadIsNotReadAndMemoryStaysBounded) {
  options_.connection.max_queued_bytes = 1 << 20;
  serve();
  Channel& asking = channel();
  asking.call(kEcho, Payload(), 20s);
  for (int i = 0; i < 200; ++i) asking.request(kEcho, Payload(pattern(200000)), 25s, answers_.collect());
  uint64_t most = 0;
  run_until([&] {
    most = std::max(most, server_->pool().bytes_in_use());
    return answers_.count() == 200;
  });
  EXPECT_TRUE(answers_.errors.empty());
  EXPECT_LE(most, 4u << 20);
}

TEST_P(ServerTest, AStrangerThatDoesNotIntroduceItselfIsClosed) {
  options_.handshake_timeout = 500ms;
  serve([this](SessionLink link) { return std::make_unique<TestSession>(service_, link); });
  channel_options_.give_up_after = Duration(0);
  Channel& silent = channel();
  silent.connect();
  Channel& polite = channel();
  polite.call(kHello, Payload(), 20s);
  run_until([this] { return service_.closed.size() == 1; });
  EXPECT_EQ(service_.closed[0], "no handshake in time");
  EXPECT_EQ(server_->num_connections(), 1u);
  run_for(700ms);
  EXPECT_EQ(server_->num_connections(), 1u) << "who is established stays";
}

TEST_P(ServerTest, AStrangersBodiesAreShort) {
  options_.max_handshake_bytes = 100;
  serve([this](SessionLink link) { return std::make_unique<TestSession>(service_, link); });
  Channel& asking = channel();
  EXPECT_THROW(asking.call(kEcho, Payload(pattern(101)), 20s), Error);
  asking.call(kHello, Payload(pattern(100)), 20s);
  asking.call(kEcho, Payload(pattern(101)), 20s);
}

TEST_P(ServerTest, ASessionThatCannotBeMadeClosesWithTheReason) {
  serve([](SessionLink) -> std::unique_ptr<Session> { fail(Code::kAuthentication, "not you"); });
  try {
    channel().call(kEcho, Payload(), 20s);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kAuthentication);
    EXPECT_THAT(error.message(), testing::EndsWith("not you"));
  }
}

TEST_P(ServerTest, DrainingAnswersWhatWasAskedAndTakesNobodyNew) {
  serve();
  Channel& asking = channel();
  asking.request(kLater, Payload(std::string("asked")), 20s, answers_.collect());
  run_until([this] { return service_.later.size() == 1; });
  channel();
  server_->drain();
  run_for(5ms);
  EXPECT_EQ(server_->num_connections(), 1u);
  service_.answer_later();
  run_until_answers(1);
  EXPECT_EQ(answers_.texts, std::vector<std::string>{"asked"});
  run_until([this] { return server_->num_connections() == 0; });
  channel_options_.give_up_after = 20ms;
  EXPECT_THROW(channel().call(kEcho, Payload(), 20s), Error);
}

TEST_P(ServerTest, DrainingEndsAlthoughSomebodyGoesOnAsking) {
  serve();
  channel_options_.give_up_after = 20ms;
  Channel& asking = channel();
  std::function<void(Answer)> again = [&](Answer answer) {
    answers_.collect()(std::move(answer));
    if (answers_.errors.empty()) asking.request(kEcho, Payload(), 20s, again);
  };
  for (int i = 0; i < 10; ++i) asking.request(kEcho, Payload(), 20s, again);
  run_until([this] { return answers_.count() > 100; });
  server_->drain();
  run_until([this] { return server_->num_connections() == 0; });
  run_until([&] { return asking.num_pending() == 0; });
}

TEST_P(ServerTest, AnAnswerForSomebodyWhoHasGoneGoesNowhere) {
  serve();
  channel().request(kLater, Payload(), 20s, answers_.collect());
  run_until([this] { return service_.later.size() == 1; });
  EXPECT_TRUE(service_.later[0].responder.wanted());
  channels_.clear();
  run_until([this] { return server_->num_connections() == 0; });
  EXPECT_FALSE(service_.later[0].responder.wanted());
  EXPECT_EQ(service_.wanted_at_close, 0) << "a session may forget them when it is told";
  service_.answer_later();
  EXPECT_EQ(answers_.count(), 0u);
}

PS_ON_EVERY_NETWORK(ServerTest);

}  // namespace
}  // namespace ps::server_test
