#include "bench/runner.h"

#include <cmath>

#include "bench_test.h"

namespace ps::runner_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class RunnerTest : public testing::Test {
 protected:
  Result run(const Benchmark& benchmark, int threads = 1) { return runner_.run({&benchmark, threads, {}}); }

  // "name threads" of what is planned.
  std::vector<std::string> plan(const std::vector<Benchmark>& catalog, std::vector<std::string> suites,
                                const std::string& filter = "", std::vector<int> threads = {1}) {
    std::vector<std::string> out;
    for (const Task& task : plan_tasks(catalog, suites, filter, threads)) {
      out.push_back(cat(task.benchmark->name, " ", task.threads));
    }
    return out;
  }

  double now_ = 0;
  Script script_;
  Runner runner_{BenchSettings{.clock = [this] { return now_; }}, 5};
};

TEST_F(RunnerTest, OnlyRunsAfterTheCheckedOneAreTimed) {
  Result result = run(scripted("a/b", script_, now_));
  EXPECT_EQ(script_.events, "prcprprprprprc");
  EXPECT_THAT(result.seconds, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(result.median_rate(), 10.0 / 3);
  EXPECT_EQ(result.best_rate(), 10.0);
}

TEST_F(RunnerTest, TimeThatARunTellsGoesBeforeTheClock) {
  script_.own_seconds = 0.25;
  EXPECT_EQ(run(scripted("a/b", script_, now_)).seconds, std::vector<double>(5, 0.25));
}

// The first value is of the run that is checked, which does not count.
TEST_F(RunnerTest, FiguresAreMediansOverTheTimedRuns) {
  script_.figure = {1000, 1, 9, 2, 4, 3};
  Result result = run(scripted("a/b", script_, now_));
  ASSERT_EQ(result.figures.size(), 1);
  EXPECT_EQ(result.figures[0].value, 3);
}

TEST_F(RunnerTest, BenchmarkMayAllowFewerRunsThanAreAskedFor) {
  Benchmark benchmark = scripted("a/b", script_, now_);
  benchmark.most_runs = 2;
  EXPECT_EQ(run(benchmark).seconds.size(), 2);
  benchmark.most_runs = 100;
  EXPECT_EQ(run(benchmark).seconds.size(), 5);
}

TEST_F(RunnerTest, RateCountsItemsUnlessTheUnitIsBytes) {
  Benchmark benchmark = scripted("a/b", script_, now_);
  benchmark.unit = "rows";
  EXPECT_EQ(run(benchmark).best_rate(), 20.0);
}

TEST_F(RunnerTest, WrongAnswerStopsItBeforeAnythingIsTimed) {
  script_.wrong_check = 1;
  EXPECT_EQ(message_of([&] { run(scripted("a/b", script_, now_)); }), "1 a/b: answer: 41, expected 42");
  EXPECT_EQ(script_.events, "prc");
}

TEST_F(RunnerTest, AnswerThatGoesWrongLaterIsCaughtToo) {
  script_.wrong_check = 2;
  EXPECT_EQ(message_of([&] { run(scripted("a/b", script_, now_)); }), "1 a/b: answer: 41, expected 42");
}

TEST_F(RunnerTest, WhatTheMachineLacksIsSkippedSayingWhy) {
  Benchmark benchmark = scripted("a/b", script_, now_);
  benchmark.make = [](const BenchSettings&) -> std::unique_ptr<Workload> {
    fail(Code::kUnavailable, "libx is not installed");
  };
  EXPECT_EQ(run(benchmark).skipped, "libx is not installed");
}

TEST_F(RunnerTest, AnyOtherFaultOfSettingUpIsAnError) {
  Benchmark benchmark = scripted("a/b", script_, now_);
  benchmark.make = [](const BenchSettings&) -> std::unique_ptr<Workload> {
    fail(Code::kExhausted, "no memory");
  };
  EXPECT_EQ(message_of([&] { run(benchmark); }), "6 a/b: no memory");
}

TEST_F(RunnerTest, ResultIsSetBesideItsLimitAndItsPeers) {
  Script fast{.seconds = {100, 1}, .work = {.bytes = 1000}};
  Script slow{.seconds = {12}, .work = {.bytes = 10}};
  run(scripted("limits/fast", fast, now_));
  run(scripted("a/slow", slow, now_));
  Benchmark benchmark = scripted("a/b", script_, now_);
  benchmark.limit = "limits/fast";
  benchmark.peers = {"a/never", "a/slow"};
  Result result = run(benchmark);
  // Medians: 10 B in 3 s, the limit 1000 B in 1 s, the peer 10 B in 12 s.
  EXPECT_DOUBLE_EQ(*result.of_limit, 10.0 / 3 / 1000);
  EXPECT_THAT(result.peers, ElementsAre(Pair("a/slow", 4.0)));
}

// A machine that is slow in some runs: by the medians, which are of different runs, nothing could be told.
TEST_F(RunnerTest, EachRunOfAPairedBenchmarkIsComparedWithThoseRightBeforeIt) {
  Script limit{.seconds = {100, 1, 9, 1, 9, 9}, .work = {.bytes = 10}};
  Script peer{.seconds = {100, 3, 27, 3, 27, 27}, .work = {.bytes = 10}, .figure = {9, 5, 45, 5, 45, 45}};
  script_.seconds = {100, 2, 18, 2, 18, 2};
  script_.figure = {1, 10, 90, 10, 90, 10};
  const Benchmark of_limit = scripted("limits/it", limit, now_), of_peer = scripted("a/peer", peer, now_);
  Benchmark benchmark = scripted("a/b", script_, now_);
  benchmark.limit = of_limit.name;
  benchmark.peers = {of_peer.name};
  benchmark.paired = true;
  run(of_limit);
  run(of_peer);
  limit.events = peer.events = "";
  const Result result = runner_.run({&benchmark, 1, {&of_limit, &of_peer}});
  EXPECT_EQ(limit.events, "prprprprprpr");
  EXPECT_DOUBLE_EQ(*result.of_limit, 0.5);
  EXPECT_THAT(result.peers, ElementsAre(Pair("a/peer", testing::DoubleEq(1.5))));
  ASSERT_EQ(result.of_peers.size(), 1);
  EXPECT_EQ(result.of_peers[0].name, "bytes a row");
  EXPECT_DOUBLE_EQ(result.of_peers[0].value, 2);
}

TEST_F(RunnerTest, PairedBenchmarkRunsWithoutWhatTheMachineLacks) {
  Benchmark lacking = scripted("a/peer", script_, now_);
  lacking.make = [](const BenchSettings&) -> std::unique_ptr<Workload> { fail(Code::kUnavailable, "none"); };
  run(lacking);
  Benchmark benchmark = scripted("a/b", script_, now_);
  benchmark.peers = {lacking.name};
  benchmark.paired = true;
  const Result result = runner_.run({&benchmark, 1, {&lacking}});
  EXPECT_TRUE(result.peers.empty());
  EXPECT_TRUE(result.of_peers.empty());
}

TEST_F(RunnerTest, ShareOfALimitInAnotherUnitComesFromWhatTheRunNeedsOfIt) {
  Script lines{.seconds = {1}, .work = {.items = 100}};
  Benchmark limit = scripted("limits/lines", lines, now_);
  limit.unit = "lines";
  run(limit);
  script_.work.of_limit = 150;
  Benchmark benchmark = scripted("a/b", script_, now_);
  benchmark.limit = "limits/lines";
  EXPECT_DOUBLE_EQ(*run(benchmark).of_limit, 0.5);
}

TEST_F(RunnerTest, LimitAtAsManyThreadsGoesBeforeThatAtOne) {
  Script one{.seconds = {1}, .work = {.bytes = 100}}, two{.seconds = {1}, .work = {.bytes = 200}};
  run(scripted("limits/read", one, now_), 1);
  run(scripted("limits/read", two, now_), 2);
  Benchmark benchmark = scripted("a/b", script_, now_);
  benchmark.limit = "limits/read";
  EXPECT_DOUBLE_EQ(*run(benchmark, 1).of_limit, 10.0 / 3 / 100);
  EXPECT_DOUBLE_EQ(*run(benchmark, 2).of_limit, 10.0 / 3 / 200);
  EXPECT_DOUBLE_EQ(*run(benchmark, 4).of_limit, 10.0 / 3 / 100);
}

class PlanTest : public RunnerTest {
 protected:
  Benchmark benchmark(const std::string& name, bool threaded, const std::string& limit = "",
                      const std::vector<std::string>& peers = {}) {
    Benchmark out = scripted(name, script_, now_);
    out.threaded = threaded;
    out.limit = limit;
    out.peers = peers;
    return out;
  }

  std::vector<Benchmark> catalog_ = {benchmark("limits/read", true), benchmark("limits/disk", false),
                                     benchmark("parse/text", true, "limits/read", {"parse/text/strtod"}),
                                     benchmark("parse/text/strtod", false)};
};

TEST_F(PlanTest, LimitsAndPeersThatWereNotChosenComeFirst) {
  EXPECT_THAT(plan(catalog_, {"parse"}, "text"),
              ElementsAre("limits/read 1", "parse/text/strtod 1", "parse/text 1"));
}

TEST_F(PlanTest, EachIsPlannedOnceForEachNumberOfThreadsThatItCanUse) {
  EXPECT_THAT(plan(catalog_, {"all", "limits"}, "", {1, 2, 1}),
              ElementsAre("limits/read 1", "limits/read 2", "limits/disk 1", "parse/text/strtod 1",
                          "parse/text 1", "parse/text 2"));
}

TEST_F(PlanTest, PairedBenchmarkKnowsWhatItRunsBeside) {
  catalog_[2].paired = true;
  const std::vector<std::string> suites = {"parse"};
  const std::vector<int> threads = {1};
  const std::vector<Task> tasks = plan_tasks(catalog_, suites, "text", threads);
  ASSERT_EQ(tasks.size(), 3);
  EXPECT_THAT(tasks[0].beside, ElementsAre());
  EXPECT_THAT(tasks[2].beside, ElementsAre(&catalog_[0], &catalog_[3]));
}

TEST_F(PlanTest, WithBarsAloneTheOthersAreLeftOut) {
  catalog_[2].bars = {{.what = "parse"}};
  std::vector<std::string> names;
  std::vector<std::string> suites = {"all"};
  std::vector<int> threads = {1};
  for (const Task& task : plan_tasks(catalog_, suites, "", threads, true)) {
    names.push_back(task.benchmark->name);
  }
  EXPECT_THAT(names, ElementsAre("limits/read", "parse/text/strtod", "parse/text"));
}

TEST_F(PlanTest, NothingToRunIsAnError) {
  EXPECT_THAT(message_of([&] { plan(catalog_, {"limits"}, "nothing"); }),
              HasSubstr("2 no benchmark has 'nothing'"));
}

TEST(Expectations, NumbersThatAreNotNumbersAreNeverNear) {
  expect_near("loss", 1.005, 1, 0.01);
  EXPECT_EQ(message_of([] { expect_near("loss", 1.02, 1, 0.01); }), "1 loss: 1.02, expected 1");
  EXPECT_THAT(message_of([] { expect_near("loss", std::nan(""), 1, 0.01); }), HasSubstr("loss: nan"));
}

}  // namespace
}  // namespace ps::runner_test
