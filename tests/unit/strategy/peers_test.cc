#include "strategy/peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "strategy/strategy.h"
#include "support/thread_communicator.h"

namespace ps::peers_test {
namespace {

using testing::HasSubstr;

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
    return error.message();
  }
  return "accepted";
}

PeerOptions three_peers(size_t num_addresses) {
  PeerOptions options;
  options.size = 3;
  options.peers.resize(num_addresses, {"127.0.0.1", 7164});
  return options;
}

TEST(Peers, OneAddressOrOneForEachTrainerLetsThemMeet) {
  for (size_t num : {1, 3}) {
    EXPECT_EQ(message_of([&] { check_peers(three_peers(num)); }), "accepted");
  }
  EXPECT_THAT(message_of([] { check_peers(three_peers(0)); }), HasSubstr("give --peers HOST:PORT"));
  EXPECT_THAT(message_of([] { check_peers(three_peers(2)); }),
              HasSubstr("cluster.peers: 2 addresses of 3 trainers"));
  PeerOptions by_mpi = three_peers(0);
  by_mpi.mpi = true;
  EXPECT_EQ(message_of([&] { check_peers(by_mpi); }), "accepted");
}

// Each trainer compares its job with those of the others.  Returns what they throw, by rank.
std::vector<std::string> compare_jobs(const std::vector<Json>& jobs) {
  auto communicators = make_thread_communicators({.size = static_cast<int>(jobs.size())});
  std::vector<std::string> messages(jobs.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < jobs.size(); ++rank) {
    threads.emplace_back([&, rank] {
      messages[rank] = find_other_job(*communicators[rank], jobs[rank]).value_or("accepted");
    });
  }
  for (std::thread& thread : threads) thread.join();
  return messages;
}

TEST(Peers, EveryTrainerSaysWhichOneHasAnotherJobAndWhatDiffers) {
  const Json job = {{"job", {{"seed", 1}}}, {"optimizer", {{"type", "sgd"}}}};
  Json other = job;
  other["optimizer"]["type"] = "adam";
  for (const std::string& message : compare_jobs({job, job, job})) EXPECT_EQ(message, "accepted");
  for (const std::string& message : compare_jobs({job, job, other})) {
    EXPECT_THAT(message, HasSubstr("trainer 2 has another job than trainer 0: optimizer.type is "));
    EXPECT_THAT(message, HasSubstr("adam"));
  }
}

TEST(Peers, AllReduceNamesAnAlgorithmOfTheCatalogue) {
  auto check = [](const char* strategy) {
    const Json object = Json::parse(strategy);
    return message_of([&] { find_strategy(object).check(object, {{"type", "sgd"}}); });
  };
  for (const char* name : {"auto", "direct", "chain", "server", "ring", "halving_doubling", "tree"}) {
    EXPECT_EQ(check(cat(R"({"type": "all_reduce", "algorithm": ")", name, R"("})").c_str()), "accepted");
  }
  EXPECT_THAT(check(R"({"type": "all_reduce", "algorithm": "quick"})"),
              HasSubstr("train.strategy.algorithm"));
}

}  // namespace
}  // namespace ps::peers_test
