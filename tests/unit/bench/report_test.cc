#include "bench/report.h"

#include "bench_test.h"
#include "config/json.h"

namespace ps::report_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result result(const std::string& name, std::vector<double> seconds, double bytes) {
  Result out;
  out.name = name;
  out.unit = std::string("B");  // the literal makes g++ 12 warn of an overlap that is none
  out.seconds = std::move(seconds);
  out.work.bytes = bytes;
  return out;
}

class ReportTest : public testing::Test {
 protected:
  double now_ = 0;
  Script script_;
  std::vector<Benchmark> catalog_ = {scripted("limits/read", script_, now_),
                                     scripted("a/much-longer", script_, now_)};
  std::vector<Task> tasks_ = {{&catalog_[0], 1}, {&catalog_[1], 1}};
  const Machine machine_{.processor = "P",
                         .cores = 2,
                         .cpu_level = "avx2",
                         .memory = uint64_t{3} << 30,
                         .huge_pages = "madvise",
                         .kernel = "K",
                         .compiler = "C",
                         .program = "V"};
};

TEST_F(ReportTest, RatesHaveThreeDigitsAndAPrefix) {
  EXPECT_EQ(rate_text(12.345e9, "B"), "12.3 GB/s");
  EXPECT_EQ(rate_text(1.5e6, "rows"), "1.5 M rows/s");
  EXPECT_EQ(rate_text(999, "B"), "999 B/s");
  EXPECT_EQ(rate_text(1000, "trips"), "1 k trips/s");
}

TEST_F(ReportTest, HeaderNamesTheMachine) {
  ReportTable table(tasks_, false);
  std::string header = table.header(machine_, 0.5, 7);
  EXPECT_THAT(header,
              HasSubstr("processor   P, 2 cores, avx2 kernels\nmemory      3.0 GiB, huge pages: madvise\n"));
  EXPECT_THAT(header,
              HasSubstr("kernel      K\ncompiler    C\npskit       V\nruns        7 of each, size 0.5\n"));
}

TEST_F(ReportTest, DeviceIsNamedWhereOneIsMeasured) {
  Machine machine = machine_;
  EXPECT_FALSE(machine.json().contains("device"));
  machine.device = "D";
  EXPECT_EQ(machine.json()["device"], "D");
  EXPECT_THAT(ReportTable(tasks_, false).header(machine, 1, 1),
              HasSubstr("pskit       V\ndevice      D\nruns "));
}

TEST_F(ReportTest, AMachineIsReadAsItWasWritten) {
  Machine machine = machine_;
  EXPECT_EQ(Machine::from_json(machine.json()).json(), machine.json());
  machine.device = "D";
  EXPECT_EQ(Machine::from_json(machine.json()).json(), machine.json());
}

TEST_F(ReportTest, ColumnsAreAligned) {
  ReportTable table(tasks_, false);
  Result full = result("a/much-longer", {1}, 2e9);
  full.of_limit = 0.4567;
  full.peers = {{"a/b/slow", 5.123}, {"a/b/other", 2}};
  full.figures = {{"bytes a row", 140.6}, {"p99.9", 3}};
  std::string header = table.header(machine_, 1, 5);
  EXPECT_EQ(header.substr(header.rfind("\n", header.size() - 2) + 1),
            "benchmark      threads            median              best  of limit  peer\n");
  EXPECT_EQ(table.row(result("limits/read", {1, 2, 4}, 8e9)),
            "limits/read          1            4 GB/s            8 GB/s         -     -\n");
  EXPECT_EQ(
      table.row(full),
      "a/much-longer        1            2 GB/s            2 GB/s    45.7 %  5.12 x slow  bytes a row 140.6, "
      "p99.9 3\n");
}

TEST_F(ReportTest, WhatWasSkippedSaysWhy) {
  ReportTable table(tasks_, false);
  Result skipped = result("limits/read", {}, 0);
  skipped.skipped = std::string("libx is not installed");
  EXPECT_EQ(table.row(skipped), "limits/read          1  skipped: libx is not installed\n");
  EXPECT_EQ(result_json(skipped).dump(),
            R"({"name":"limits/read","threads":1,"skipped":"libx is not installed"})");
}

TEST_F(ReportTest, JsonHoldsEveryRun) {
  Result one = result("a/b", {1, 2, 4}, 8);
  one.limit = std::string("limits/read"), one.of_limit = 0.5;
  one.peers = {{"a/c", 3}};
  one.figures = {{"f", 1}};
  EXPECT_EQ(result_json(one).dump(),
            R"({"name":"a/b","threads":1,"unit":"B","bytes":8.0,"items":0.0,"seconds":[1.0,2.0,4.0],)"
            R"("median_rate":4.0,"best_rate":8.0,"limit":{"name":"limits/read","share":0.5},)"
            R"("peers":{"a/c":3.0},"figures":{"f":1.0}})");
  Json all = document(machine_, 1, 3, {&one, 1});
  EXPECT_EQ(all["machine"]["processor"], "P");
  EXPECT_EQ(all["results"].size(), 1);
}

class BaselineTest : public ReportTest {
 protected:
  // Medians 10, 20 and, at 2 threads, 40 B/s.
  Baseline baseline() {
    std::vector<Result> former = {result("a", {1}, 10), result("b", {1}, 20), result("b", {1}, 40)};
    former[2].threads = 2;
    return Baseline(document(machine_, 1, 1, former), "base.json");
  }

  Result compared(const std::string& name, int threads, double rate) {
    Result out = result(name, {1}, rate);
    out.threads = threads;
    baseline().compare(out);
    return out;
  }
};

TEST_F(BaselineTest, RateIsComparedAtTheSameNumberOfThreads) {
  EXPECT_EQ(compared("b", 1, 10).of_baseline, 0.5);
  EXPECT_EQ(compared("b", 2, 10).of_baseline, 0.25);
  EXPECT_EQ(compared("a", 2, 10).of_baseline, std::nullopt);
}

TEST_F(BaselineTest, EachRateBelowTheBarIsNamed) {
  std::vector<Result> now = {compared("a", 1, 8.99), compared("b", 1, 18), compared("b", 2, 4),
                             compared("c", 1, 1)};
  EXPECT_THAT(below_bar(now, 0.9),
              ElementsAre("a, threads 1: 8.99 B/s, 0.899 times the baseline, expected 0.9 or more",
                          "b, threads 2: 4 B/s, 0.1 times the baseline, expected 0.9 or more"));
  EXPECT_THAT(below_bar(now, 0.05), IsEmpty());
}

TEST_F(BaselineTest, BaselineOfOtherBenchmarksIsAnError) {
  std::vector<Result> now = {compared("c", 1, 1)};
  EXPECT_EQ(message_of([&] { below_bar(now, 0.9); }), "2 the baseline has none of the benchmarks that ran");
}

TEST_F(BaselineTest, SkippedResultsHaveNone) {
  Result skipped = result("a", {}, 0);
  skipped.skipped = std::string("why");
  baseline().compare(skipped);
  EXPECT_EQ(skipped.of_baseline, std::nullopt);
  Baseline of_skipped(document(machine_, 1, 1, {&skipped, 1}), "base.json");
  Result now = result("a", {1}, 1);
  of_skipped.compare(now);
  EXPECT_EQ(now.of_baseline, std::nullopt);
}

TEST_F(BaselineTest, OtherDocumentsAreRefused) {
  for (const char* text : {"[]", "{}", "3", R"({"results": 3})", R"({"results": [{}]})",
                           R"({"results": [{"name": 1, "threads": 1, "median_rate": 1}]})",
                           R"({"results": [{"name": "a", "threads": "1", "median_rate": 1}]})"}) {
    EXPECT_EQ(message_of([&] { Baseline(Json::parse(text), "base.json"); }),
              "2 base.json: not what ps-bench --json prints")
        << text;
  }
}

}  // namespace
}  // namespace ps::report_test
