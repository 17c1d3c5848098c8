// Times sequential accesses to memory: reads, copies, and the first touch of pages.
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/thread_pool.h"
#include "bench/limits/suite.h"
#include "bench/pages.h"

namespace ps {

namespace {

constexpr uint64_t kFullStreamBytes = uint64_t{1} << 30;  // far beyond any cache
constexpr uint64_t kLeastStreamBytes = uint64_t{1} << 20;

uint64_t stream_bytes(const BenchSettings& settings) {
  return scaled_power(settings.scale, kFullStreamBytes, kLeastStreamBytes);
}

// Sums in eight lanes, so that the additions wait for the loads alone.
uint64_t sum_words(const uint64_t* words, int64_t count) {
  uint64_t lanes[8] = {};
  for (int64_t i = 0; i < count; i += 8) {
    for (int64_t lane = 0; lane < 8; ++lane) lanes[lane] += words[i + lane];
  }
  uint64_t sum = 0;
  for (uint64_t lane : lanes) sum += lane;
  return sum;
}

void fill_with_index(const Pages& pages) {
  uint64_t index = 0;
  for (uint64_t& word : pages.as<uint64_t>()) word = index++;
}

// Reads of an array.  One owner thread, which the threads of pool_ help.
class ReadMemory final : public Workload {
 public:
  ReadMemory(const BenchSettings& settings, PageKind kind)
      : pool_(settings.threads), pages_(stream_bytes(settings), kind), sums_(settings.threads) {
    fill_with_index(pages_);
  }

  void run() override {
    pool_.run(pool_.threads(), [&](int64_t index) {
      // The shares of threads are whole groups of the eight words that sum_words takes at a time.
      const ThreadPart part = thread_part(static_cast<int64_t>(pages_.size() / 64), pool_.threads(), index);
      sums_[index] = sum_words(pages_.as<uint64_t>().data() + part.begin * 8, (part.end - part.begin) * 8);
    });
  }

  void check() override {
    uint64_t sum = 0, words = pages_.size() / 8;
    for (uint64_t part : sums_) sum += part;
    expect_equal("sum of memory", sum, words * (words - 1) / 2);
  }

  Work work() const override { return {.bytes = static_cast<double>(pages_.size())}; }

 private:
  ThreadPool pool_;
  const Pages pages_;
  std::vector<uint64_t> sums_;  // one for each thread
};

// Copies of an array.  One owner thread, which the threads of pool_ help.
class Copy final : public Workload {
 public:
  Copy(const BenchSettings& settings, PageKind kind)
      : pool_(settings.threads), from_(stream_bytes(settings) / 2, kind), to_(from_.size(), kind) {
    fill_with_index(from_);
  }

  void run() override {
    pool_.run(pool_.threads(), [&](int64_t index) {
      const ThreadPart part = thread_part(static_cast<int64_t>(from_.size()), pool_.threads(), index);
      std::memcpy(to_.data() + part.begin, from_.data() + part.begin, part.end - part.begin);
    });
  }

  void check() override {
    if (std::memcmp(from_.data(), to_.data(), from_.size()) != 0) fail(Code::kInternal, "the copy differs");
    std::memset(to_.data(), 0, to_.size());  // so that the next check sees what the next run copies
  }

  Work work() const override { return {.bytes = static_cast<double>(from_.size())}; }

 private:
  ThreadPool pool_;
  const Pages from_, to_;
};

// The first touch of pages.  One owner thread, which the threads of pool_ help.
class FirstTouch final : public Workload {
 public:
  FirstTouch(const BenchSettings& settings, PageKind kind)
      : bytes_(stream_bytes(settings) / 2), kind_(kind), pool_(settings.threads) {}

  void prepare() override { pages_.reset(), pages_.emplace(bytes_, kind_); }

  void run() override {
    pool_.run(pool_.threads(), [&](int64_t index) {
      const ThreadPart part = thread_part(static_cast<int64_t>(bytes_ / kPageBytes), pool_.threads(), index);
      for (int64_t page = part.begin; page < part.end; ++page) {
        *const_cast<volatile char*>(pages_->data() + page * kPageBytes) = 1;
      }
    });
  }

  void check() override {
    uint64_t touched = 0;
    for (uint64_t byte = 0; byte < bytes_; byte += kPageBytes) touched += pages_->data()[byte] == 1;
    expect_equal("pages touched", touched, bytes_ / kPageBytes);
  }

  Work work() const override { return {.bytes = static_cast<double>(bytes_)}; }

 private:
  static constexpr uint64_t kPageBytes = 4096;

  const uint64_t bytes_;
  const PageKind kind_;
  ThreadPool pool_;
  std::optional<Pages> pages_;  // new for every run
};

// Adds the benchmark twice: huge pages, which pskit's tables ask for, and small ones, which cost more
// misses of the TLB.
template <class Kind>
void add(std::vector<Benchmark>& out, const std::string& name, const std::string& help) {
  for (PageKind kind : {PageKind::kHuge, PageKind::kSmall}) {
    bool huge = kind == PageKind::kHuge;
    out.push_back(
        {.name = cat("limits/", name, huge ? "" : "/small-pages"),
         .help = cat(help, huge ? ", huge pages" : ", pages of 4 KiB"),
         .unit = "B",
         .make = [kind](const BenchSettings& settings) { return std::make_unique<Kind>(settings, kind); },
         .threaded = true});
  }
}

}  // namespace

std::vector<Benchmark> stream_benchmarks() {
  std::vector<Benchmark> out;
  add<ReadMemory>(out, "read", "memory read in order");
  add<Copy>(out, "copy", "memory copied in order; bytes copied count once");
  add<FirstTouch>(out, "first-touch", "fresh memory touched for the first time");
  return out;
}

}  // namespace ps
