// A connection whose requests take long, many of them in a few bytes, lets others have their turn between two of them.
#include <algorithm>
#include <chrono>
#include <thread>

#include "net_test.h"

namespace ps::turns_test {
namespace {

// Works for a while on each request, and notes who asked.
class SlowSession final : public Session {
 public:
  SlowSession(std::vector<std::string>& asked, SessionLink link) : asked_(asked) { link.establish(); }
  std::optional<uint64_t> max_body_bytes(uint16_t) override { return 100; }
  void on_request(Frame frame, Responder& responder) override {
    std::this_thread::sleep_for(6ms);
    asked_.push_back(text_of(frame));
    responder.answer(Payload());
  }

 private:
  std::vector<std::string>& asked_;
};

class Turns : public testing::TestWithParam<bool> {};

TEST_P(Turns, OfOneWithManyLongRequestsAreShort) {
  TcpWorld world(/*local=*/GetParam());
  std::vector<std::string> asked;
  Server server(world.server(), world.any_port(), {},
                [&asked](SessionLink link) { return std::make_unique<SlowSession>(asked, std::move(link)); });
  BufferPool pool;
  Channel many(world.client(), pool, server.address(), {}), one(world.client(), pool, server.address(), {});
  many.call(kEcho, Payload(), 20s);
  one.call(kEcho, Payload(), 20s);
  asked.clear();
  Answers answers;
  constexpr size_t kMany = 20;
  for (size_t i = 0; i < kMany; ++i)
    many.request(kEcho, Payload(std::string("many")), 20s, answers.collect());
  one.request(kEcho, Payload(std::string("one")), 20s, answers.collect());
  ASSERT_TRUE(world.run_until([&] { return answers.count() == kMany + 1; }));
  EXPECT_TRUE(answers.errors.empty());
  const auto at = std::ranges::find(asked, "one") - asked.begin();
  EXPECT_LE(at, 3) << "of " << kMany;
}

INSTANTIATE_TEST_SUITE_P(Networks, Turns, testing::Bool(),
                         [](const auto& each) { return std::string(each.param ? "local" : "tcp"); });

}  // namespace
}  // namespace ps::turns_test
