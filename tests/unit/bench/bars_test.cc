#include "bench/bars.h"

#include <algorithm>

#include "bench/bar_table.h"
#include "bench/bars_report.h"
#include "bench/catalog.h"
#include "bench_test.h"
#include "config/json.h"

namespace ps::bars_test {
namespace {

using testing::HasSubstr;
using testing::Not;

Result result(const std::string& name, int threads, std::vector<double> seconds, double items) {
  Result out;
  out.name = name;
  out.unit = std::string("rows");
  out.threads = threads;
  out.seconds = std::move(seconds);
  out.work.items = items;
  return out;
}

class BarsTest : public testing::Test {
 protected:
  BarsTest() {
    own_.figures = {{"MB", 120}, {"loss", 0.303}};
    own_.of_limit = 0.25;
    own_.peers = {{"a/b/one", 4}, {"a/b/two", 0.5}};
    one_.figures = {{"loss", 0.31}};
    two_.figures = {{"loss", 0.30}, {"MB", 300}};
  }

  std::vector<Result> all() const { return {alone_, one_, two_, own_}; }

  std::optional<double> value(Quantity quantity, const std::string& of = "") const {
    return measured({.quantity = quantity, .of = of}, own_, all());
  }

  Result alone_ = result("a/b", 1, {4}, 100);
  Result own_ = result("a/b", 2, {1, 2, 8}, 100);
  Result one_ = result("a/b/one", 1, {8}, 100);
  Result two_ = result("a/b/two", 1, {1}, 100);
};

TEST_F(BarsTest, EachQuantityIsOfTheMedianRun) {
  EXPECT_EQ(value(Quantity::kSeconds), 2);
  EXPECT_EQ(value(Quantity::kRate), 50);
  EXPECT_EQ(value(Quantity::kFigure, "MB"), 120);
  EXPECT_EQ(value(Quantity::kLimitShare), 0.25);
  EXPECT_EQ(value(Quantity::kPeerRate, "a/b/one"), 4);
  EXPECT_EQ(value(Quantity::kPeerTime, "a/b/two"), 2);
  EXPECT_EQ(value(Quantity::kThreadGain), 2);
}

TEST_F(BarsTest, FigureIsSetBesideTheLeastOfAnyPeer) {
  EXPECT_DOUBLE_EQ(*value(Quantity::kPeerFigure, "loss"), 0.303 / 0.30);
  EXPECT_DOUBLE_EQ(*value(Quantity::kPeerFigure, "MB"), 120.0 / 300);
}

TEST_F(BarsTest, WhatDidNotRunIsNotMeasured) {
  EXPECT_EQ(value(Quantity::kFigure, "none"), std::nullopt);
  EXPECT_EQ(value(Quantity::kPeerRate, "a/b/three"), std::nullopt);
  EXPECT_EQ(value(Quantity::kPeerFigure, "none"), std::nullopt);
  EXPECT_EQ(measured({.quantity = Quantity::kThreadGain}, own_, {&own_, 1}), std::nullopt);
  own_.skipped = std::string("why");
  EXPECT_EQ(value(Quantity::kRate), std::nullopt);
}

TEST_F(BarsTest, VerdictTellsWhichBoundIsMet) {
  Bar low{.must = 10, .want = 5}, high{.at_least = true, .must = 5, .want = 10};
  EXPECT_EQ(verdict(low, 5), "wanted");
  EXPECT_EQ(verdict(low, 10), "met");
  EXPECT_EQ(verdict(low, 10.1), "missed");
  EXPECT_EQ(verdict(high, 10), "wanted");
  EXPECT_EQ(verdict(high, 5), "met");
  EXPECT_EQ(verdict(high, 4.9), "missed");
  EXPECT_EQ(verdict(high, std::nullopt), "-");
  EXPECT_EQ(verdict({.want = 5}, 6), "missed");
  EXPECT_EQ(verdict({.must = 5}, 4), "met");
}

// A benchmark "a/b" with bars at 2 threads, as it is reported.
class BarsReportTest : public BarsTest {
 protected:
  std::string report(bool markdown, double scale = 1) {
    benchmark_.unit = "rows";
    std::vector<Task> tasks = {{&benchmark_, 2}};
    Machine machine;
    machine.processor = "P";
    return bars_report(machine, scale, 3, tasks, all(), markdown);
  }

  double now_ = 0;
  Script script_;
  Benchmark benchmark_ = scripted("a/b", script_, now_);
  const Bar seconds_{.what = "whole", .threads = 2, .unit = "s", .must = 3, .want = 1};
};

TEST_F(BarsReportTest, LineHasBoundsVerdictLimitAndPeers) {
  benchmark_.bars = {seconds_};
  EXPECT_THAT(report(true),
              HasSubstr("| what | threads | measured | must | want | verdict | of limit | beside |\n"
                        "|---|---|---|---|---|---|---|---|\n"
                        "| whole | 2 | 2 s | <= 3 s | <= 1 s | met | 25 % | one 8 s, two 1 s |\n"));
  EXPECT_THAT(report(true), HasSubstr("    processor   P, "));
  EXPECT_THAT(report(false), HasSubstr("\nwhole  2        2 s       <= 3 s  <= 1 s  met      25 %"));
}

TEST_F(BarsReportTest, PeersAreToldInTheTermsOfTheBar) {
  benchmark_.bars = {
      {.what = "rate",
       .threads = 2,
       .quantity = Quantity::kPeerRate,
       .of = "a/b/one",
       .unit = "x",
       .at_least = true,
       .must = 3.5},
      {.what = "memory", .threads = 2, .quantity = Quantity::kFigure, .of = "MB", .unit = "MB", .must = 100},
      {.what = "gain",
       .threads = 2,
       .quantity = Quantity::kThreadGain,
       .unit = "x",
       .at_least = true,
       .want = 1.8}};
  std::string text = report(true);
  EXPECT_THAT(text,
              HasSubstr("| rate | 2 | 4 x | >= 3.5 x | - | met | 25 % | one 12.5 rows/s, two 100 rows/s |"));
  EXPECT_THAT(text, HasSubstr("| memory | 2 | 120 MB | <= 100 MB | - | missed | 25 % | two 300 MB |"));
  EXPECT_THAT(text, HasSubstr("| gain | 2 | 2 x | - | >= 1.8 x | wanted | 25 % | - |"));
}

TEST_F(BarsReportTest, WhatIsStatedOfAPeerIsToldOnlyWhereItDidNotRun) {
  benchmark_.bars = {seconds_};
  benchmark_.bars[0].stated = {"a/b/two", "Two: 9 s"};
  EXPECT_THAT(report(false), Not(HasSubstr("stated")));
  benchmark_.bars[0].stated = {"a/b/three", "Three: 9 s"};
  EXPECT_THAT(report(false), HasSubstr("one 8 s, two 1 s, Three: 9 s (stated)\n"));
}

TEST_F(BarsReportTest, OtherSizesHaveNoVerdict) {
  benchmark_.bars = {seconds_};
  EXPECT_THAT(report(false, 0.5), HasSubstr("bars        hold at size 1 alone: no verdicts\n"));
  EXPECT_THAT(report(true, 0.5), HasSubstr("| <= 1 s | - | 25 % |"));
}

TEST_F(BarsReportTest, BarsAtOtherThreadsThanWereRunAreLeftOut) {
  benchmark_.bars = {seconds_};
  benchmark_.bars[0].threads = 1;
  EXPECT_THAT(report(false), Not(HasSubstr("whole")));
}

TEST_F(BarsReportTest, WhatWasNotMeasuredHasADash) {
  benchmark_.bars = {seconds_};
  own_.skipped = std::string("why");
  EXPECT_THAT(report(true), HasSubstr("| whole | 2 | - | <= 3 s | <= 1 s | - |"));
}

TEST_F(BarsReportTest, LimitsOfTheRunFollow) {
  EXPECT_THAT(report(true), Not(HasSubstr("| limit |")));
  alone_.name = std::string("limits/lines");
  EXPECT_THAT(report(true), HasSubstr("| limit | threads | median |\n|---|---|---|\n"
                                      "| limits/lines | 1 | 25 rows/s |\n"));
}

TEST_F(BarsReportTest, JsonHasTheNumbers) {
  benchmark_.bars = {seconds_};
  std::vector<Task> tasks = {{&benchmark_, 2}};
  EXPECT_EQ(bars_json(tasks, all(), 1).dump(),
            R"([{"what":"whole","benchmark":"a/b","threads":2,"measured":2.0,"must":3.0,"want":1.0,)"
            R"("verdict":"met"}])");
  EXPECT_FALSE(bars_json(tasks, all(), 0.5)[0].contains("verdict"));
}

// Bars of the catalogue refer to benchmarks that exist.
TEST(BarsOfTheCatalogue, BelongToBenchmarksThatRunAtTheirThreads) {
  std::vector<Benchmark> catalog = benchmark_catalog();
  for (const BarRow& row : bar_table()) {
    const std::string name = row.benchmark;
    auto found =
        std::find_if(catalog.begin(), catalog.end(), [&](const Benchmark& b) { return b.name == name; });
    ASSERT_NE(found, catalog.end()) << name;
    EXPECT_FALSE(found->bars.empty()) << name;
    for (const Bar& bar : found->bars) {
      EXPECT_TRUE(bar.threads == 1 || found->threaded) << name << ": " << bar.what;
      EXPECT_TRUE(bar.must || bar.want) << name << ": " << bar.what;
    }
  }
}

TEST(BarsOfTheCatalogue, NamePeersAndLimitsThatTheBenchmarkHas) {
  for (const Benchmark& benchmark : benchmark_catalog()) {
    for (const Bar& bar : benchmark.bars) {
      SCOPED_TRACE(benchmark.name + ": " + bar.what);
      bool peer = bar.quantity == Quantity::kPeerRate || bar.quantity == Quantity::kPeerTime;
      if (peer) {
        EXPECT_THAT(benchmark.peers, testing::Contains(bar.of));
      }
      if (!bar.stated.peer.empty()) {
        EXPECT_THAT(benchmark.peers, testing::Contains(bar.stated.peer));
      }
      if (bar.quantity == Quantity::kLimitShare) {
        EXPECT_FALSE(benchmark.limit.empty());
      }
      bool stricter =
          !bar.must || !bar.want || (bar.at_least ? *bar.want >= *bar.must : *bar.want <= *bar.must);
      EXPECT_TRUE(stricter);
    }
  }
}

}  // namespace
}  // namespace ps::bars_test
