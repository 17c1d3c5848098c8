#include "bench/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "bench/pages.h"
#include "bench/process/child.h"
#include "cli/progress.h"
#include "support/environment.h"
#include "support/scratch_folder.h"

namespace ps::catalog_test {
namespace {

// Every benchmark at its smallest, in a folder of the test's own.
BenchSettings smallest(int threads, const ScratchFolder& scratch) {
  return {.scale = 1e-4,
          .threads = threads,
          .scratch = scratch.path(),
          .cache = scratch.path("cache"),
          .programs = program_folder(),
          .device = "emulated",
          .clock = monotonic_seconds};
}

// They are built with this test, beside it.
TEST(Catalog, ProgramsThatBenchmarksRunAreThere) {
  EXPECT_TRUE(exists(program_folder() + "/ps-train"));
  EXPECT_TRUE(exists(program_folder() + "/ps-serve"));
  EXPECT_TRUE(exists(program_folder() + "/ps-datagen"));
}

TEST(Catalog, NamesAreUniqueAndWhatTheyReferToIsThere) {
  std::vector<Benchmark> catalog = benchmark_catalog();
  std::set<std::string> names;
  for (const Benchmark& benchmark : catalog) {
    EXPECT_TRUE(names.insert(benchmark.name).second) << benchmark.name;
    EXPECT_FALSE(benchmark.help.empty()) << benchmark.name;
    EXPECT_FALSE(benchmark.unit.empty()) << benchmark.name;
  }
  for (const Benchmark& benchmark : catalog) {
    EXPECT_TRUE(benchmark.limit.empty() || names.contains(benchmark.limit)) << benchmark.name;
    for (const std::string& peer : benchmark.peers) EXPECT_TRUE(names.contains(peer)) << benchmark.name;
  }
}

TEST(Catalog, SuitesAreNamedOnce) {
  std::vector<std::string> names = suite_names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_THAT(names, testing::Contains("limits"));
}

// Runs it twice, and checks after each; false when the machine lacks what it needs.
bool is_right(const Benchmark& benchmark, int threads, const ScratchFolder& scratch) {
  std::unique_ptr<Workload> workload;
  try {
    workload = benchmark.make(smallest(threads, scratch));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnavailable) << benchmark.name << ": " << error.message();
    return false;
  }
  for (int i = 0; i < 2; ++i) {
    workload->prepare();
    workload->run();
    workload->check();
  }
  Work work = workload->work();
  EXPECT_GT(benchmark.unit == "B" ? work.bytes : work.items, 0) << benchmark.name;
  return true;
}

TEST(Catalog, EveryBenchmarkGivesTheRightAnswerAtAnyNumberOfThreads) {
  const ScratchFolder scratch;
  int right = 0;
  for (const Benchmark& benchmark : benchmark_catalog()) {
    SCOPED_TRACE(benchmark.name);
    if (!benchmark.threaded || try_every() == 1) right += is_right(benchmark, 1, scratch);
    if (benchmark.threaded) is_right(benchmark, 3, scratch);
  }
  EXPECT_GT(right, 0);
}

// A benchmark whose run did nothing has no right answer to show.
TEST(Catalog, EveryBenchmarkRefusesTheAnswerOfARunThatNeverWas) {
  const ScratchFolder scratch;
  for (const Benchmark& benchmark : benchmark_catalog()) {
    std::unique_ptr<Workload> workload;
    try {
      workload = benchmark.make(smallest(1, scratch));
    } catch (const Error&) {
      continue;
    }
    workload->prepare();
    EXPECT_THROW(workload->check(), Error) << benchmark.name;
  }
}

TEST(Pages, BothKindsAreZeroAndAligned) {
  for (PageKind kind : {PageKind::kHuge, PageKind::kSmall}) {
    Pages pages(12345, kind);
    EXPECT_EQ(reinterpret_cast<uint64_t>(pages.data()) % (2 << 20), 0);
    for (char byte : pages.as<char>()) ASSERT_EQ(byte, 0);
    EXPECT_EQ(pages.as<char>().size(), 12345);
  }
}

TEST(Pages, PartsCoverAllItemsOnce) {
  int64_t next = 0;
  for (int64_t index = 0; index < 7; ++index) {
    const ThreadPart part = thread_part(100, 7, index);
    EXPECT_EQ(part.begin, next);
    next = part.end;
  }
  EXPECT_EQ(next, 100);
}

TEST(Pages, SizesArePowersOfTwoWithinTheScale) {
  EXPECT_EQ(scaled_power(1, 1 << 20, 4096), 1 << 20);
  EXPECT_EQ(scaled_power(0.3, 1 << 20, 4096), 1 << 18);
  EXPECT_EQ(scaled_power(1e-9, 1 << 20, 4096), 4096);
}

}  // namespace
}  // namespace ps::catalog_test
