// The benchmarks of all-reduce: time, bandwidth and wrong values by algorithm, number of ranks and size, with
// the terms of nccl-tests.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/statistics.h"
#include "bench/all_reduce/open_mpi.h"
#include "bench/all_reduce/rank_team.h"
#include "bench/all_reduce/suite.h"
#include "bench/peers/gloo.h"
#include "collective/algorithm.h"
#include "collective/exchange_communicator.h"

namespace ps {

namespace {

// A size of arrays, and how many calls are timed.
struct SizeCase {
  const char* name;
  size_t bytes;
  int calls;  // number of calls of a run at full size
};

// These calls of ours take about a second or two in all.
constexpr SizeCase kSizes[] = {
    {"1K", size_t{1} << 10, 10000},
    {"64K", size_t{64} << 10, 10000},
    {"4M", size_t{4} << 20, 64},
    {"64M", size_t{64} << 20, 4},
};
constexpr int kRanks[] = {2, 4};

// A run has fewer calls where they would take longer than this, in seconds.  Gloo took 9 to 22 ms for 64 KB over 4 ranks on a
// machine with 2 cores, so that 10,000 calls were minutes.
constexpr double kLongestRun = 10;

// Smaller arrays are no more than a chunk to each peer, which one connection carries.
constexpr size_t kFewestBytesToSpread = size_t{4} << 20;

// Returns the bytes of a call at this scale.  Sizes up to 64 KiB are not scaled, since benchmarks are named
// after them: only their calls are fewer.
size_t scaled_bytes(double scale, size_t bytes) {
  constexpr size_t kLeast = size_t{64} << 10;
  const double scaled = scale * static_cast<double>(bytes / sizeof(float)) * sizeof(float);
  return std::min(bytes, std::max(kLeast, static_cast<size_t>(scaled) / sizeof(float) * sizeof(float)));
}

// Returns an even number of calls, since figures are means of pairs: see means_of_pairs.
int scaled_calls(double scale, int calls) {
  return 2 * std::max(1, static_cast<int>(std::lround(scale * calls / 2)));
}

// Returns the value of element i on rank r; the sums over the ranks are exact.
float given(int rank, size_t i) {
  return static_cast<float>(static_cast<int>(i % 1021) * (rank + 1));
}

// Returns how many sums differ from what `ranks` arrays of given() add up to: (i % 1021) * (1 + 2 + ... +
// ranks).
uint64_t count_wrong(std::span<const float> sums, int ranks) {
  uint64_t wrong = 0;
  const int weights = ranks * (ranks + 1) / 2;
  for (size_t i = 0; i < sums.size(); ++i) {
    wrong += sums[i] != static_cast<float>(static_cast<int>(i % 1021) * weights);
  }
  return wrong;
}

// Returns the mean of each pair of calls.  Calls alternate between two states: of two ranks, the one that
// waited in a call is often ahead in the next.  The median of single calls would describe one of the states
// alone.
std::vector<double> means_of_pairs(const std::vector<double>& micros) {
  std::vector<double> means;
  for (size_t i = 1; i < micros.size(); i += 2) means.push_back((micros[i - 1] + micros[i]) / 2);
  return means;
}

// Returns the figures of a run with the names of nccl-tests.  The bandwidth of the algorithm is the bytes
// divided by the time; that of the bus is what a link carries in the best algorithm.
std::vector<Figure> figures_of(const std::vector<double>& of_calls, size_t bytes, int ranks) {
  const std::vector<double> micros = means_of_pairs(of_calls);
  const double typical = median(micros), algorithm = static_cast<double>(bytes) / typical / 1e3;
  return {{kCallMicros, typical},
          {kCallTail, quantile(of_calls, 0.99) / typical},
          {"algorithm GB/s", algorithm},
          {"bus GB/s", algorithm * 2 * (ranks - 1) / ranks}};
}

// An all-reduce of this process's ranks.  One owner thread, which is none of the ranks'.
//
// The timed calls sum whatever the arrays hold: they begin as zeros in prepare() and stay zeros, so that no
// value overflows after thousands of calls.  The last call of a run has known values and every rank checks
// all of its sums.  wrong_ is set to all values before a run, so that a run which did nothing fails.  Rank
// 0's clock gives the times, since a call ends on all ranks at nearly the same time.
class Sums final : public Workload {
 public:
  Sums(const BenchSettings& settings, int ranks, const SizeCase& size, const AllReduceAlgorithm* algorithm,
       MakeRankSum make)
      : ranks_(ranks),
        bytes_(scaled_bytes(settings.scale, size.bytes)),
        calls_(scaled_calls(settings.scale, size.calls)),
        algorithm_(algorithm),
        clock_(settings.clock),
        data_(static_cast<size_t>(ranks), std::vector<float>(bytes_ / sizeof(float))),
        sent_(static_cast<size_t>(ranks)),
        team_(ranks, std::move(make)) {}

  // Makes one call that is not timed, since an automatic choice measures algorithms in its first call.  Some more, the
  // first time, tell how many a run has.
  void prepare() override {
    team_.run([this](int rank, RankSum& sum) {
      std::ranges::fill(data_[static_cast<size_t>(rank)], 0.0f);
      sum.all_reduce(data_[static_cast<size_t>(rank)]);
    });
    if (!std::exchange(limited_, true)) limit_calls();
    wrong_ = data_.size() * data_[0].size();
  }

  // Times the calls, and ends with one call that is not timed, and whose sum is known.
  void run() override {
    micros_.clear();
    std::atomic<uint64_t> wrong = 0;
    team_.run([&](int rank, RankSum& sum) {
      std::vector<float>& own = data_[static_cast<size_t>(rank)];
      time_calls(rank, sum, own);
      for (size_t i = 0; i < own.size(); ++i) own[i] = given(rank, i);
      sum.all_reduce(own);
      wrong += count_wrong(own, ranks_);
    });
    wrong_ = wrong;
  }

  void check() override { expect_equal("wrong values", wrong_, 0); }

  Work work() const override {
    return {.bytes = static_cast<double>(bytes_) * calls_, .items = static_cast<double>(calls_)};
  }

  std::optional<double> seconds() const override {
    double sum = 0;
    for (double micros : micros_) sum += micros;
    return sum / 1e6;
  }

  std::vector<Figure> figures() const override {
    std::vector<Figure> figures = figures_of(micros_, bytes_, ranks_);
    figures.push_back({"wrong values", static_cast<double>(wrong_)});
    if (algorithm_ != nullptr) {
      const double most = static_cast<double>(*std::ranges::max_element(sent_)) / calls_;
      const double expected = algorithm_->most_sent(static_cast<double>(bytes_), ranks_);
      figures.push_back({kBytesOff, 100 * std::abs(most / expected - 1)});
    }
    return figures;
  }

 private:
  // Some calls tell how many take as long as a run may.
  void limit_calls() {
    const int trials = std::max(1, calls_ / 100);
    const double begin = clock_();
    team_.run([&](int rank, RankSum& sum) {
      for (int call = 0; call < trials; ++call) sum.all_reduce(data_[static_cast<size_t>(rank)]);
    });
    const double most = kLongestRun * trials / std::max(1e-9, clock_() - begin);
    if (calls_ > most) calls_ = 2 * std::max(1, static_cast<int>(most / 2));
  }

  // Makes the calls of a run on this rank's thread.  Only rank 0 writes micros_, and sent_ has a place for
  // each rank, so no lock is needed.
  void time_calls(int rank, RankSum& sum, std::span<float> own) {
    const uint64_t before = sum.bytes_sent();
    for (int call = 0; call < calls_; ++call) {
      const double begin = clock_();
      sum.all_reduce(own);
      if (rank == 0) micros_.push_back(1e6 * (clock_() - begin));
    }
    sent_[static_cast<size_t>(rank)] = sum.bytes_sent() - before;
  }

  const int ranks_;
  const size_t bytes_;
  int calls_;
  bool limited_ = false;                       // calls_ are as many as a run may have
  const AllReduceAlgorithm* const algorithm_;  // null: the number of bytes that are sent is not known
  const Clock clock_;
  std::vector<std::vector<float>> data_;  // one array for each rank
  std::vector<uint64_t> sent_;            // bytes sent, by rank, in the last run
  std::vector<double> micros_;            // time of each call of the last run, on rank 0
  uint64_t wrong_ = 0;                    // wrong values on all ranks after the last run
  RankTeam team_;
};

// An all-reduce of Open MPI.  The seconds are those that the program measured between its own calls;
// starting mpirun is not among them.  One owner thread.
class OpenMpiSums final : public Workload {
 public:
  OpenMpiSums(const BenchSettings& settings, int ranks, const SizeCase& size)
      : ranks_(ranks),
        bytes_(scaled_bytes(settings.scale, size.bytes)),
        calls_(scaled_calls(settings.scale, size.calls)),
        program_(settings.scratch) {}

  void prepare() override { result_ = {}; }
  void run() override { result_ = program_.run(ranks_, bytes_ / sizeof(float), calls_); }
  void check() override {
    expect_equal("calls", result_.micros.size(), static_cast<uint64_t>(calls_));
    expect_equal("wrong values", result_.wrong, 0);
  }
  Work work() const override {
    return {.bytes = static_cast<double>(bytes_) * calls_, .items = static_cast<double>(calls_)};
  }
  std::optional<double> seconds() const override { return result_.seconds; }
  std::vector<Figure> figures() const override { return figures_of(result_.micros, bytes_, ranks_); }

 private:
  const int ranks_;
  const size_t bytes_;
  const int calls_;
  OpenMpiProgram program_;
  OpenMpiResult result_;
};

std::string case_name(int ranks, const SizeCase& size, const std::string& what) {
  return cat("all-reduce/", ranks, "-ranks/", size.name, "/", what);
}

std::string case_help(int ranks, const SizeCase& size, const std::string& what) {
  return cat(size.name, "B of floats over ", ranks, " ranks, ", what);
}

// Returns a benchmark of pskit by one algorithm, or by the automatic choice.  The choice is what users get,
// so it runs in turns with Open MPI and Gloo; figures of bytes need a formula, which only a named algorithm
// has.
Benchmark ours(int ranks, const SizeCase& size, const std::string& algorithm) {
  const AllReduceAlgorithm* entry = algorithm == kAutomatic ? nullptr : &all_reduce_algorithm(algorithm);
  Benchmark out{
      .name = case_name(ranks, size, algorithm),
      .help = case_help(ranks, size, entry == nullptr ? "automatic choice" : cat("algorithm ", algorithm)),
      .unit = "B",
      .make = [=](const BenchSettings& settings) {
        return std::make_unique<Sums>(settings, ranks, size, entry, make_net_sums(ranks, algorithm));
      }};
  if (entry != nullptr) return out;
  out.peers = {case_name(ranks, size, "open-mpi"), case_name(ranks, size, "gloo")};
  out.paired = true;
  return out;
}

// Returns the benchmark of the automatic choice whose peers are the algorithms that it chooses from.  Only
// algorithms that add in the order of ranks are among them, since the choice must give the same bits
// whatever it chooses.
Benchmark choice(int ranks, const SizeCase& size) {
  Benchmark out = ours(ranks, size, kAutomatic);
  out.name = case_name(ranks, size, "choice");
  out.help = case_help(ranks, size, "automatic choice beside what it chooses from");
  out.peers.clear();
  for (const AllReduceAlgorithm* each : all_reduce_catalog()) {
    if (each->in_rank_order) out.peers.push_back(case_name(ranks, size, each->name));
  }
  return out;
}

// Returns the benchmark of several connections between two ranks, beside one.
Benchmark by_connections(int ranks, const SizeCase& size, int connections) {
  const AllReduceAlgorithm& direct = all_reduce_algorithm("direct");
  return {.name = case_name(ranks, size, cat("direct-", connections, "-connections")),
          .help = case_help(ranks, size, cat("algorithm direct over ", connections, " connections a peer")),
          .unit = "B",
          .make =
              [=, &direct](const BenchSettings& settings) {
                return std::make_unique<Sums>(settings, ranks, size, &direct,
                                              make_net_sums(ranks, direct.name, connections));
              },
          .peers = {case_name(ranks, size, direct.name)},
          .paired = true};
}

Benchmark open_mpi(int ranks, const SizeCase& size) {
  return {.name = case_name(ranks, size, "open-mpi"),
          .help = case_help(ranks, size, "Open MPI over TCP"),
          .unit = "B",
          .make = [=](const BenchSettings& settings) {
            return std::make_unique<OpenMpiSums>(settings, ranks, size);
          }};
}

Benchmark gloo(int ranks, const SizeCase& size) {
  return {.name = case_name(ranks, size, "gloo"),
          .help = case_help(ranks, size, "Gloo over TCP"),
          .unit = "B",
          .make = [=](const BenchSettings& settings) {
            return std::make_unique<Sums>(settings, ranks, size, nullptr, make_gloo_sums(ranks));
          }};
}

}  // namespace

// For each number of ranks and size, the peers come before the benchmarks that are compared with them.
std::vector<Benchmark> all_reduce_benchmarks() {
  std::vector<Benchmark> out;
  for (int ranks : kRanks) {
    for (const SizeCase& size : kSizes) {
      for (const AllReduceAlgorithm* each : all_reduce_catalog())
        out.push_back(ours(ranks, size, each->name));
      for (int connections : {2, 4}) {
        if (size.bytes >= kFewestBytesToSpread) out.push_back(by_connections(ranks, size, connections));
      }
      out.push_back(choice(ranks, size));
      out.push_back(open_mpi(ranks, size));
      out.push_back(gloo(ranks, size));
      out.push_back(ours(ranks, size, kAutomatic));
    }
  }
  return out;
}

}  // namespace ps
