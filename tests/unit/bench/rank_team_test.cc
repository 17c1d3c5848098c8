// Ranks of a benchmark that are threads: they sum, and none waits for one that has failed.
#include "bench/all_reduce/rank_team.h"

#include <future>

#include "bench_test.h"
#include "collective/net/options.h"
#include "collective/net_communicator.h"

namespace ps::rank_team_test {
namespace {

using testing::HasSubstr;

TEST(RankTeam, SumsOverRanks) {
  RankTeam team(3, make_net_sums(3, "ring"));
  std::vector<std::vector<float>> data(3, std::vector<float>(10, 1));
  team.run([&](int rank, RankSum& sum) { sum.all_reduce(data[static_cast<size_t>(rank)]); });
  for (const std::vector<float>& one : data) EXPECT_EQ(one, std::vector<float>(10, 3));
}

// There are too many ranks, which rank 0 notices before it listens.  Rank 1 runs on a thread that is left
// alone if it waits for ever.
TEST(RankTeam, WhenRank0FailsBeforeItListensNobodyWaits) {
  const MakeRankSum make = make_net_sums(1 << 30, "ring");
  auto said = std::make_shared<std::promise<std::string>>();
  std::future<std::string> rank1 = said->get_future();
  std::thread([make, said] { said->set_value(message_of([&] { make(1); })); }).detach();
  EXPECT_THAT(message_of([&] { make(0); }), HasSubstr("rank 0 of 1073741824"));
  ASSERT_EQ(rank1.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_THAT(rank1.get(), HasSubstr("rank 0 of 1073741824"));
}

}  // namespace
}  // namespace ps::rank_team_test
