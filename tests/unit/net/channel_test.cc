#include "net/channel.h"

#include "net_test.h"

namespace ps::channel_test {
namespace {

class ChannelTest : public EveryNetwork {
 protected:
  ChannelTest() {
    options_.on_waiting = [this](const std::string& message) { waiting_.push_back(message); };
    options_.backoff.first = 2ms;
  }
  void serve() {
    Address address = address_ ? *address_ : world_->any_port();
    server_ = std::make_unique<Server>(world_->server(), address, ServerOptions(), service_.factory());
    address_ = server_->address();
  }
  Channel& channel() {
    if (!channel_) channel_ = std::make_unique<Channel>(world_->client(), pool_, *address_, options_);
    return *channel_;
  }
  void ask(uint16_t type, const std::string& text, Duration timeout = 20s) {
    channel().request(type, Payload(text), timeout, answers_.collect());
  }
  void run_until_answers(size_t count) {
    run_until([&] { return answers_.count() == count; });
  }
  void run_until_asked(size_t count) {
    run_until([&] { return service_.requests.size() == count; });
  }

  // An address where nobody is.
  void serve_nobody() {
    serve();
    server_.reset();
  }

  TestService service_;
  ChannelOptions options_;
  BufferPool pool_;
  std::optional<Address> address_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Channel> channel_;
  Answers answers_;
  std::vector<std::string> waiting_;
};

TEST_P(ChannelTest, RequestsWaitForAServerThatComesLaterAndTellForWhom) {
  serve_nobody();
  ask(kEcho, "patient");
  run_until([this] { return waiting_.size() == 3; });
  serve();
  run_until_answers(1);
  EXPECT_EQ(answers_.texts, std::vector<std::string>{"patient"});
  EXPECT_THAT(waiting_[0],
              testing::StartsWith(cat("waiting for '", to_text(*address_), "': cannot connect")));
}

TEST_P(ChannelTest, ThePausesBetweenTriesGrow) {
  serve_nobody();
  std::vector<Time> tries;
  Loop& loop = world_->client().loop();
  options_.on_waiting = [&](const std::string&) { tries.push_back(loop.now()); };
  options_.backoff.longest = 16ms;
  Time earliest = loop.now();
  channel().connect();
  run_until([&tries] { return tries.size() == 8; });
  // 2, 4, 8, 16, 16… ms, of which the second half is left to chance.  A try may be noted late, but none is
  // early.
  for (size_t i = 0; i < 7; ++i) {
    earliest += std::min<Duration>((1 << i) * 1ms, 8ms);
    EXPECT_GE(tries[i + 1], earliest);
  }
}

TEST_P(ChannelTest, UnansweredRequestsAreSentAgainInTheirOrderOverTheNextConnection) {
  serve();
  ask(kEcho, "first");
  run_until_answers(1);
  for (const char* text : {"a", "b", "c"}) ask(kLater, text);
  run_until_asked(4);
  server_.reset();
  service_.later.clear();
  serve();
  run_until_asked(7);
  EXPECT_EQ(std::vector(service_.requests.begin() + 4, service_.requests.end()),
            (std::vector<std::string>{"a", "b", "c"}));
  service_.answer_later();
  run_until_answers(4);
  EXPECT_TRUE(answers_.errors.empty());
  EXPECT_EQ(channel().counters().requests_resent, 3u);
}

TEST_P(ChannelTest, AnsweredRequestsAreNotSentAgain) {
  serve();
  ask(kLater, "open");
  ask(kEcho, "answered");
  run_until_answers(1);
  server_.reset();
  service_.later.clear();
  service_.requests.clear();
  serve();
  run_until_asked(1);
  EXPECT_EQ(service_.requests[0], "open");
}

TEST_P(ChannelTest, ADeadlineIsKeptWithAndWithoutAServer) {
  serve();
  ask(kEcho, "now", 10s);
  run_until_answers(1);
  ask(kLater, "never", 20ms);
  run_until_answers(2);
  run_until_asked(2);
  ASSERT_EQ(answers_.errors.size(), 1u);
  EXPECT_EQ(answers_.errors[0].code(), Code::kUnavailable);
  EXPECT_EQ(answers_.errors[0].message(),
            cat("server '", to_text(*address_), "': no answer within the deadline"));
  service_.answer_later();
  run_until([this] { return channel().counters().answers_unexpected == 1; });
  server_.reset();
  ask(kEcho, "late", 20ms);
  run_until_answers(3);
  EXPECT_EQ(answers_.errors.size(), 2u);
  EXPECT_EQ(channel().num_pending(), 0u);
}

// A machine may be slow between two requests, so that a shorter time ends after a longer one: a deadline lies between the
// times before and after its request, and none may come before one that was surely earlier.
TEST_P(ChannelTest, DeadlinesComeInTheirOwnOrder) {
  serve();
  struct Asked {
    Time least, most;
  };
  Loop& loop = world_->client().loop();
  std::vector<Asked> late;
  for (int ms : {30, 10, 20}) {
    auto asked = std::make_shared<Asked>();
    asked->least = add_time(loop.now(), ms * 1ms);
    channel().request(kLater, Payload(), ms * 1ms, [&late, asked](Answer answer) {
      EXPECT_TRUE(answer.error);
      late.push_back(*asked);
    });
    asked->most = add_time(loop.now(), ms * 1ms);
  }
  run_until([&late] { return late.size() == 3; });
  for (size_t i = 1; i < late.size(); ++i) EXPECT_LE(late[i - 1].least, late[i].most) << i;
}

TEST_P(ChannelTest, ACancelledRequestIsNotAnswered) {
  serve();
  uint64_t id = channel().request(kLater, Payload(std::string("x")), 20s, [](Answer) { FAIL(); });
  ask(kEcho, "y");
  run_until_answers(1);
  channel().cancel(id);
  channel().cancel(id);
  channel().cancel(12345);
  EXPECT_EQ(channel().num_pending(), 0u);
  service_.answer_later();
  run_until([this] { return channel().counters().answers_unexpected == 1; });
  ask(kEcho, "z");
  run_until_answers(2);
}

TEST_P(ChannelTest, ABusyServerIsAskedAgain) {
  serve();
  service_.busy = 3;
  ask(kBusy, "please");
  run_until_answers(1);
  EXPECT_EQ(answers_.texts, std::vector<std::string>{"please"});
  EXPECT_EQ(service_.requests.size(), 4u);
}

// A slow machine may have no answer at all before a short deadline; then it gets more time.
TEST_P(ChannelTest, AServerThatStaysBusyIsNamedWhenTheDeadlineComes) {
  serve();
  service_.busy = 1 << 30;
  std::string message;
  for (std::chrono::milliseconds patience = 30ms; !message.ends_with(": busy"); patience *= 4) {
    ASSERT_LT(patience, 20s);
    const size_t requests = service_.requests.size(), asked = answers_.errors.size() + 1;
    ask(kBusy, "please", patience);
    run_until_answers(asked);
    ASSERT_EQ(answers_.errors.size(), asked);
    EXPECT_EQ(answers_.errors.back().code(), Code::kUnavailable);
    message = answers_.errors.back().message();
    EXPECT_THAT(message, testing::HasSubstr("no answer within the deadline"));
    EXPECT_LE(service_.requests.size() - requests, static_cast<size_t>(patience / 2ms)) << "not a storm";
  }
}

TEST_P(ChannelTest, ItGivesUpAndTheNextRequestBeginsAnew) {
  serve_nobody();
  options_.give_up_after = 30ms;
  ask(kEcho, "one");
  ask(kEcho, "two");
  run_until_answers(2);
  ASSERT_EQ(answers_.errors.size(), 2u);
  EXPECT_EQ(answers_.errors[0].code(), Code::kUnavailable);
  EXPECT_THAT(answers_.errors[0].message(), testing::HasSubstr("cannot be reached for"));
  serve();
  ask(kEcho, "three");
  run_until_answers(3);
  EXPECT_EQ(answers_.texts, std::vector<std::string>{"three"});
}

TEST_P(ChannelTest, TheHelloComesFirstOnEveryConnection) {
  options_.hello_type = kHello;
  options_.hello = [] { return Payload(std::string("hello")); };
  std::string greeting;
  options_.on_hello = [&greeting](const Frame& frame) { greeting = text_of(frame); };
  serve();
  ask(kEcho, "a");
  run_until_answers(1);
  EXPECT_EQ(greeting, "hello");
  server_.reset();
  serve();
  ask(kEcho, "b");
  run_until_answers(2);
  EXPECT_EQ(service_.requests, (std::vector<std::string>{"hello", "a", "hello", "b"}));
}

TEST_P(ChannelTest, AHelloThatIsRefusedForGoodEndsTheRequests) {
  for (uint16_t type : {kHello, kFail}) {
    options_.hello_type = type;
    options_.hello = [] { return Payload(); };
    options_.on_hello = [](const Frame&) { fail(Code::kFenced, "another server owns this"); };
    serve();
    ask(kEcho, "a");
    run_until([this] { return answers_.count() == 1; });
    EXPECT_EQ(answers_.errors.at(0).code(), Code::kFenced);
    EXPECT_THAT(answers_.errors.at(0).message(), testing::EndsWith("another server owns this"));
    answers_ = {};
    channel_.reset();
    server_.reset();
  }
}

TEST_P(ChannelTest, AHelloThatIsNotYetPossibleIsSaidAgain) {
  options_.hello_type = kBusy;
  options_.hello = [] { return Payload(std::string("hello")); };
  service_.busy = 2;
  serve();
  ask(kEcho, "a");
  run_until_answers(1);
  EXPECT_EQ(service_.requests, (std::vector<std::string>{"hello", "hello", "hello", "a"}));
}

TEST_P(ChannelTest, AHelloWithoutAnAnswerIsATry) {
  options_.hello_type = kLater;
  options_.hello = [] { return Payload(std::string("hello")); };
  options_.connect_timeout = 50ms;
  options_.give_up_after = kNever;
  serve();
  ask(kEcho, "a");
  run_until([this] {
    return service_.requests.size() >= 2 && std::ranges::any_of(waiting_, [](const std::string& message) {
             return message.ends_with("no answer to the hello in time");
           });
  });
}

TEST_P(ChannelTest, ManyRequestsAreUnderWayAtOnceAndEachGetsItsOwnAnswer) {
  serve();
  std::vector<int> got;
  for (int i = 0; i < 2000; ++i) {
    channel().request(kEcho, Payload(std::to_string(i)), 20s, [&got, i](Answer answer) {
      EXPECT_EQ(text_of(answer.take()), std::to_string(i));
      got.push_back(i);
    });
  }
  run_until([&got] { return got.size() == 2000; });
}

TEST_P(ChannelTest, ACallbackMayAskAgain) {
  serve();
  int rounds = 0;
  std::function<void()> again = [&] {
    channel().request(kEcho, Payload(), 20s, [&](Answer) {
      if (++rounds < 100) again();
    });
  };
  again();
  run_until([&rounds] { return rounds == 100; });
}

TEST_P(ChannelTest, AnAnswerThatIsTooLongIsAnError) {
  options_.max_answer_bytes = 100;
  serve();
  ask(kEcho, pattern(101));
  ask(kEcho, "short");
  run_until_answers(2);
  EXPECT_EQ(answers_.errors.at(0).code(), Code::kUsage);
  EXPECT_EQ(answers_.texts, std::vector<std::string>{"short"});
}

TEST_P(ChannelTest, AnAnswerInPiecesIsOneAnswer) {
  serve();
  for (const char* text : {"a", "b"}) ask(kLater, text);
  run_until_asked(2);
  const auto give = [this](size_t index, const std::string& text) {
    service_.later[index].responder.answer_piece(std::make_shared<const Payload>(text));
  };
  give(0, "first ");
  give(1, "another ");
  give(0, pattern(300000));
  give(0, "");
  service_.later[1].responder.answer(Payload(std::string("answer")));
  service_.later[0].responder.answer(Payload(std::string(" last")));
  run_until_answers(2);
  EXPECT_EQ(answers_.texts,
            (std::vector<std::string>{"another answer", cat("first ", pattern(300000), " last")}));
}

TEST_P(ChannelTest, PiecesOfAnAnswerThatDoesNotComeAreForgotten) {
  serve();
  ask(kLater, "x");
  for (size_t asked = 1; asked <= 3; ++asked) {
    run_until_asked(asked);
    Responder& responder = service_.later.back().responder;
    responder.answer_piece(std::make_shared<const Payload>(std::string("piece")));
    ask(kEcho, "has come");
    run_until_answers(asked);
    service_.requests.pop_back();
    if (asked == 1) server_.reset(), service_.later.clear(), serve();  // the connection is lost
    if (asked == 2) responder.fail(Error(Code::kUnavailable, "not now"));
    if (asked == 3) responder.answer(Payload(std::string(" and end")));
  }
  run_until_answers(4);
  EXPECT_EQ(answers_.texts.back(), "piece and end");
}

TEST_P(ChannelTest, AnAnswerWhosePiecesAreTooLongIsAnError) {
  options_.max_answer_bytes = 100;
  serve();
  ask(kLater, "x");
  run_until_asked(1);
  for (int i = 0; i < 3; ++i) {
    service_.later[0].responder.answer_piece(std::make_shared<const Payload>(pattern(40)));
  }
  run_until_answers(1);
  EXPECT_EQ(answers_.errors.at(0).code(), Code::kUsage);
}

TEST_P(ChannelTest, AnAnswerWhoseLastPieceIsTooMuchIsAnError) {
  options_.max_answer_bytes = 100;
  serve();
  for (const char* text : {"x", "y"}) ask(kLater, text);
  run_until_asked(2);
  for (size_t last : {61, 60}) {
    Responder& responder = service_.later[61 - last].responder;
    responder.answer_piece(std::make_shared<const Payload>(pattern(40)));
    responder.answer(Payload(pattern(last)));
  }
  run_until_answers(2);
  EXPECT_EQ(answers_.errors.at(0).code(), Code::kUsage);
  EXPECT_EQ(answers_.texts, std::vector<std::string>{cat(pattern(40), pattern(60))});
}

TEST_P(ChannelTest, TheErrorOfACallIsThrown) {
  serve();
  EXPECT_EQ(text_of(channel().call(kEcho, Payload(std::string("x")), 20s)), "x");
  EXPECT_THROW(channel().call(kFail, Payload(), 20s), Error);
  EXPECT_THROW(channel().call(kLater, Payload(), 10ms), Error);
}

PS_ON_EVERY_NETWORK(ChannelTest);

}  // namespace
}  // namespace ps::channel_test
