// Times random accesses to memory.  Cache lines are read where each address is known beforehand (independent)
// or where each line holds the address of the next (dependent); rows are read, changed and written.
//
// The region is far larger than caches and, with small pages, than the address range of the processor's TLBs.
#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/hash.h"
#include "base/thread_pool.h"
#include "bench/limits/suite.h"
#include "bench/pages.h"

namespace ps {

namespace {

constexpr uint64_t kFullRandomBytes = uint64_t{1} << 31;
constexpr uint64_t kLeastRandomBytes = uint64_t{1} << 20;
constexpr uint64_t kLineBytes = 64, kLineWords = kLineBytes / sizeof(uint64_t);

uint64_t random_bytes(const BenchSettings& settings) {
  return scaled_power(settings.scale, kFullRandomBytes, kLeastRandomBytes);
}

// Calls use(position) for the hashed positions, in [0, mask], of the counters [begin, end).  Prefetches the
// line of each position kAhead positions before: further than the processor looks ahead by itself, and fewer
// lines than the first-level cache holds.
template <class Address, class Use>
void visit_ahead(int64_t begin, int64_t end, uint64_t mask, Address&& address, Use&& use) {
  constexpr int64_t kAhead = 32;
  for (int64_t i = begin; i < end; ++i) {
    __builtin_prefetch(address(hash_key(static_cast<uint64_t>(i + kAhead)) & mask));
    use(hash_key(static_cast<uint64_t>(i)) & mask);
  }
}

// Independent reads of lines.  The memory can work on many reads at once, since all positions are known
// from a counter: this is the limit of a table that finds a batch of keys.  A run reads half as many lines
// as there are, for each thread.  One owner thread, which the threads of pool_ help.
class IndependentLines final : public Workload {
 public:
  IndependentLines(const BenchSettings& settings, PageKind kind)
      : pool_(settings.threads),
        pages_(random_bytes(settings), kind),
        mask_(pages_.size() / kLineBytes - 1),
        reads_(static_cast<int64_t>(mask_ + 1) * settings.threads / 2),
        sums_(settings.threads) {
    for (uint64_t line = 0; line <= mask_; ++line) words()[line * kLineWords] = line;
  }

  void run() override {
    pool_.run(pool_.threads(), [&](int64_t index) {
      const ThreadPart part = thread_part(reads_, pool_.threads(), index);
      const uint64_t* memory = words();
      uint64_t sum = 0;
      visit_ahead(
          part.begin, part.end, mask_, [&](uint64_t line) { return memory + line * kLineWords; },
          [&](uint64_t line) { sum += memory[line * kLineWords]; });
      sums_[index] = sum;
    });
  }

  // Line n holds n, so the sum of the lines is the sum of the positions, which needs no memory.
  void check() override {
    uint64_t expected = 0;
    for (int64_t i = 0; i < reads_; ++i) expected += hash_key(static_cast<uint64_t>(i)) & mask_;
    expect_equal("sum of lines", std::accumulate(sums_.begin(), sums_.end(), uint64_t{0}), expected);
  }

  Work work() const override {
    return {.bytes = static_cast<double>(reads_ * kLineBytes), .items = static_cast<double>(reads_)};
  }

 private:
  uint64_t* words() const { return pages_.as<uint64_t>().data(); }

  ThreadPool pool_;
  const Pages pages_;
  const uint64_t mask_;
  const int64_t reads_;  // number of reads by all threads together
  std::vector<uint64_t> sums_;
};

// Dependent reads of lines, on each thread.  A read must end before the next can begin, so a run measures
// the latency of memory: this is what a map with linked nodes pays.  One owner thread, which the threads of
// pool_ help.
class DependentLines final : public Workload {
 public:
  DependentLines(const BenchSettings& settings, PageKind kind)
      : pool_(settings.threads),
        pages_(random_bytes(settings), kind),
        mask_(pages_.size() / kLineBytes - 1),
        steps_(static_cast<int64_t>(mask_ + 1) / 16),
        ends_(settings.threads) {
    for (uint64_t line = 0; line <= mask_; ++line) pages_.as<uint64_t>()[line * kLineWords] = next(line);
  }

  void run() override {
    pool_.run(pool_.threads(), [&](int64_t index) {
      const uint64_t* memory = pages_.as<uint64_t>().data();
      uint64_t line = start(index);
      for (int64_t i = 0; i < steps_; ++i) line = memory[line * kLineWords];
      ends_[index] = line;
    });
  }

  void check() override {
    for (size_t thread = 0; thread < ends_.size(); ++thread) {
      uint64_t line = start(static_cast<int64_t>(thread));
      for (int64_t i = 0; i < steps_; ++i) line = next(line);
      expect_equal("end of a chain of lines", ends_[thread], line);
    }
  }

  Work work() const override {
    double lines = static_cast<double>(steps_) * pool_.threads();
    return {.bytes = lines * kLineBytes, .items = lines};
  }

 private:
  // Returns the line after `line`, by a linear congruential generator of full period (Knuth, TAOCP 2,
  // 3.2.1.2): it makes one cycle through all lines, whose order no prefetcher guesses.
  uint64_t next(uint64_t line) const {
    return (line * 6364136223846793005ULL + 1442695040888963407ULL) & mask_;
  }

  // Returns the first line of a thread.  Threads begin far from each other on the cycle.
  uint64_t start(int64_t thread) const { return hash_key(static_cast<uint64_t>(thread) + 1) & mask_; }

  ThreadPool pool_;
  const Pages pages_;
  const uint64_t mask_;
  const int64_t steps_;  // number of reads by each thread
  std::vector<uint64_t> ends_;
};

// Adds 1 to every float of random rows.  This is the limit of a push: each row comes into the cache, is
// changed and goes back.  A run changes half of the rows, or a quarter as many as there are lines, if rows
// are short.  Every change is a 1, and floats count without rounding up to 2^24, so the sum of all memory
// is exactly the number of changes of all runs.  One owner thread, which the threads of pool_ help.
class ChangedRows final : public Workload {
 public:
  ChangedRows(const BenchSettings& settings, PageKind kind, int64_t row_bytes)
      : pool_(settings.threads),
        pages_(random_bytes(settings), kind),
        width_(row_bytes / static_cast<int64_t>(sizeof(float))),
        mask_(pages_.size() / static_cast<uint64_t>(row_bytes) / threads_power() - 1),
        changes_(std::min<int64_t>(static_cast<int64_t>(mask_ + 1) / 2,
                                   static_cast<int64_t>(pages_.size() / kLineBytes) / 4) *
                 settings.threads) {}

  void run() override {
    ++runs_;
    // Every thread has rows of its own, just as every thread of a table has its partitions.
    pool_.run(pool_.threads(), [&](int64_t index) {
      const ThreadPart part = thread_part(changes_, pool_.threads(), index);
      float* memory = pages_.as<float>().data() + index * static_cast<int64_t>(mask_ + 1) * width_;
      auto address = [&](uint64_t row) { return memory + static_cast<int64_t>(row) * width_; };
      visit_ahead(part.begin, part.end, mask_, address, [&](uint64_t row) {
        float* values = address(row);
        for (int64_t i = 0; i < width_; ++i) values[i] += 1;
      });
    });
  }

  void check() override {
    double sum = 0;
    for (float value : pages_.as<float>()) sum += value;
    expect_near("sum of all changes", sum,
                static_cast<double>(std::max<int64_t>(1, runs_) * changes_ * width_), 0);
  }

  Work work() const override {
    double rows = static_cast<double>(changes_);
    return {.bytes = rows * static_cast<double>(width_) * sizeof(float), .items = rows};
  }

 private:
  // Returns the least power of two that is not less than the number of threads.
  uint64_t threads_power() const {
    uint64_t power = 1;
    while (power < static_cast<uint64_t>(pool_.threads())) power *= 2;
    return power;
  }

  ThreadPool pool_;
  const Pages pages_;
  const int64_t width_;
  const uint64_t mask_;    // bits of a row's number among the rows of one thread
  const int64_t changes_;  // number of changes by all threads together
  int64_t runs_ = 0;
};

// Adds the benchmark for huge pages and for small ones.
template <class Make>
void add(std::vector<Benchmark>& out, const std::string& name, const std::string& help,
         const std::string& unit, Make make) {
  for (PageKind kind : {PageKind::kHuge, PageKind::kSmall}) {
    bool huge = kind == PageKind::kHuge;
    out.push_back({.name = cat("limits/", name, huge ? "" : "/small-pages"),
                   .help = cat(help, huge ? ", huge pages" : ", pages of 4 KiB"),
                   .unit = unit,
                   .make = [kind, make](const BenchSettings& settings) { return make(settings, kind); },
                   .threaded = true});
  }
}

}  // namespace

std::vector<Benchmark> random_benchmarks() {
  std::vector<Benchmark> out;
  add(out, "lines", "random cache lines read, addresses known ahead", "lines",
      [](const BenchSettings& settings, PageKind kind) {
        return std::make_unique<IndependentLines>(settings, kind);
      });
  add(out, "chain", "random cache lines read, each naming the next", "lines",
      [](const BenchSettings& settings, PageKind kind) {
        return std::make_unique<DependentLines>(settings, kind);
      });
  for (int64_t bytes : {4, 16, 64, 128, 256, 1024}) {
    add(out, cat("rows-", bytes), cat("random rows of ", bytes, " B read and written"), "rows",
        [bytes](const BenchSettings& settings, PageKind kind) {
          return std::make_unique<ChangedRows>(settings, kind, bytes);
        });
  }
  return out;
}

}  // namespace ps
