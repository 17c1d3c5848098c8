#include "bench/bars.h"

#include <algorithm>

#include "bench/all_reduce/suite.h"
#include "bench/checkpoint/suite.h"
#include "bench/process/suite.h"
#include "bench/pull_push/suite.h"

namespace ps {

namespace {

struct BarRow {
  const char* benchmark;
  Bar bar;
};

constexpr const char* kVw = "process/logistic/vw";

Bar at_most(const char* what, int threads, Quantity quantity, const char* of, const char* unit, double must,
            double want) {
  return {.what = what,
          .threads = threads,
          .quantity = quantity,
          .of = of,
          .unit = unit,
          .at_least = false,
          .must = must,
          .want = want};
}

Bar at_least(const char* what, int threads, Quantity quantity, const char* of, const char* unit, double must,
             double want) {
  Bar bar = at_most(what, threads, quantity, of, unit, must, want);
  bar.at_least = true;
  return bar;
}

Bar seconds(const char* what, int threads, double must, double want, const char* stated,
            const char* stated_peer = "") {
  Bar bar = at_most(what, threads, Quantity::kSeconds, "", "s", must, want);
  bar.stated = {stated_peer, stated};
  return bar;
}

Bar rate(const char* what, int threads, double must, double want, const char* stated = "",
         const char* stated_peer = "") {
  Bar bar = at_least(what, threads, Quantity::kRate, "", "", must, want);
  bar.stated = {stated_peer, stated};
  return bar;
}

Bar of_peer(const char* what, int threads, const char* peer, double must, double want) {
  return at_least(what, threads, Quantity::kPeerRate, peer, "x", must, want);
}

Bar figure(const char* what, const char* of, const char* unit, std::optional<double> must,
           std::optional<double> want, const char* stated = "", const char* stated_peer = "") {
  Bar bar{.what = what, .threads = 1, .quantity = Quantity::kFigure, .of = of, .unit = unit};
  bar.must = must, bar.want = want;
  bar.stated = {stated_peer, stated};
  return bar;
}

Bar at_threads(int threads, Bar bar) {
  bar.threads = threads;
  return bar;
}

// The table, in its order.
std::vector<BarRow> training_rows() {
  return {
      {"process/logistic", seconds("logistic regression, libsvm to saved model, whole process", 2, 0.4, 0.24,
                                   "Vowpal Wabbit 9.11: 1.2 s", kVw)},
      {"process/logistic", seconds("logistic regression, libsvm to saved model, whole process", 1, 0.6, 0.45,
                                   "Vowpal Wabbit 9.11: 1.81 s", kVw)},
      {"process/logistic", at_most("logistic regression: loss on held-out data, over the best peer's", 1,
                                   Quantity::kPeerFigure, "held-out loss", "x", 1.005, 1.0)},
      {"process/logistic-passes", seconds("later passes, data in memory", 1, 0.25, 0.15, "xLearn: 0.75 s")},
      {"process/logistic-passes", seconds("later passes, data in memory", 2, 0.19, 0.12, "xLearn: 0.38 s")},
      {"process/fm-8-passes",
       seconds("factorisation machine, k = 8, later passes", 1, 0.33, 0.2, "xLearn: 1.0 s")},
      {"process/fm-8-passes",
       seconds("factorisation machine, k = 8, later passes", 2, 0.24, 0.14, "xLearn: 0.48 s")},
      {"train/embedding-16", of_peer("embedding rows of 16", 1, "train/embedding-16/torch", 8, 15)},
      {"train/embedding-16", of_peer("embedding rows of 16", 2, "train/embedding-16/torch", 8, 15)},
      // Wanted are 1.3 times the 8 bytes of each of the 3,867,172 rows touched, and 64 MB.
      {"process/logistic", at_threads(2, figure("logistic regression, whole process: peak memory", "MB", "MB",
                                                291, 104, "Vowpal Wabbit 9.11: 291 MB", kVw))},
      {"process/logistic-hashed", at_most("64-bit ids against ids with a known maximum", 1,
                                          Quantity::kPeerTime, "process/logistic", "x", 2, 1.4)},
      {"process/logistic-hashed", at_most("64-bit ids against ids with a known maximum", 2,
                                          Quantity::kPeerTime, "process/logistic", "x", 2, 1.4)},
      {"process/fc-demo", at_threads(2, figure("fc demo, 18,182,296 x 256: memory", "MB", "MB", 400, 150,
                                               "PaddlePaddle: 18.6 GB"))},
      {"process/fc-demo", seconds("fc demo: a pass", 2, 0.15, 0.05, "PaddlePaddle: 0.33 s")},
      {"process/fc-demo",
       at_threads(2, figure("fc demo: a save", "save s", "s", 0.3, 0.1, "PaddlePaddle: 25 s"))},
  };
}

std::vector<BarRow> parse_rows() {
  std::vector<BarRow> rows = {
      {"parse/libsvm-binary", rate("parse libsvm, binary values", 1, 1.75e9, 2.4e9, "dmlc-core: 0.70 GB/s")},
      {"parse/libsvm-values", rate("parse libsvm, 4-digit values", 1, 1.1e9, 1.7e9, "dmlc-core: 0.69 GB/s")},
      {"parse/libsvm-binary", at_least("parse libsvm, binary values, 2 threads against 1", 2,
                                       Quantity::kThreadGain, "", "x", 1.6, 1.8)},
      {"parse/libsvm-values", at_least("parse libsvm, 4-digit values, 2 threads against 1", 2,
                                       Quantity::kThreadGain, "", "x", 1.6, 1.8)},
      {"parse/batches/records",
       at_least("records to batches, share of memory copied", 1, Quantity::kLimitShare, "", "%", 0.10, 0.25)},
      {"parse/criteo", rate("parse criteo", 1, 0.8e9, 1.5e9)},
      {"parse/multislot", rate("parse multislot", 1, 0.8e9, 1.5e9)},
  };
  return rows;
}

std::vector<BarRow> table_rows() {
  Bar lines = at_least("table: pull, lines read, share of random cache lines", 1, Quantity::kLimitShare, "",
                       "%", 0, 0.45);
  lines.must.reset();
  return {
      {"table/find", of_peer("table: find 20 million ids in batches", 1, "table/find/libcuckoo", 3.5, 5)},
      {"table/pull", of_peer("table: pull rows of 16 + 16 floats", 1, "table/pull/libcuckoo", 3.5, 5)},
      {"table/pull", lines},
      {"table/push", of_peer("table: push with fused AdaGrad", 1, "table/push/libcuckoo", 3, 5)},
      {"table/spill/pull",
       of_peer("table: pull of rows most of which are on disk", 1, "table/spill/pull/rocksdb", 1, 2)},
      {"table/spill/push",
       of_peer("table: push of rows most of which are on disk", 1, "table/spill/push/rocksdb", 1, 2)},
      {"table/grow", figure("table: memory of rows of 128 B, steady", "memory", "x", 1.35, 1.22)},
      {"table/grow", figure("table: peak memory while it grows", "peak", "x", 1.6, 1.35)},
      {"table/grow", figure("table: p99.9 of a batch while it grows", "p99.9/median", "x median", 20, 5)},
  };
}

std::vector<BarRow> datagen_rows() {
  return {
      {"process/datagen", rate("ps-datagen, libsvm, sorted ids", 1, 0.7e6, 1.2e6, "numpy: 0.1 M examples/s",
                               "process/datagen/numpy")},
      {"process/datagen", at_least("ps-datagen, libsvm, sorted ids, 2 threads against 1, the same bytes", 2,
                                   Quantity::kThreadGain, "", "x", 1.7, 1.8)},
  };
}

// Training through one server on the same machine.
Bar over_one_process(const std::string& what) {
  Bar bar = at_most("", 1, Quantity::kPeerFigure, kCpuSeconds, "x", 2, 2);
  bar.what = what + ", through a server: processor time, over one process";
  return bar;
}

// Published figures of ps-lite: one client, one server, 4 requests in flight, ascending keys, on two cores.
std::vector<BarRow> pull_push_rows() {
  Bar twice_raw = at_least("one key, there and back: share of the raw round trips", 1, Quantity::kLimitShare,
                           "", "%", 0, 0.5);
  twice_raw.must.reset();
  return {
      {"pull-push/pull/10k-of-16",
       rate("pull 10,000 random keys, 4 million rows of 16", 1, 3 * 4.1e6, 5 * 4.1e6, "ps-lite: 4.1 M/s")},
      {"pull-push/push/10k-of-16",
       rate("push 10,000 random keys, 4 million rows of 16", 1, 4 * 3.1e6, 7 * 3.1e6, "ps-lite: 3.1 M/s")},
      {"pull-push/pull/10M-of-1",
       rate("pull 10 million keys, rows of 1", 1, 2 * 11e6, 3 * 11e6, "ps-lite: 11 M/s")},
      {"pull-push/push/10M-of-1",
       rate("push 10 million keys, rows of 1", 1, 2 * 11e6, 3 * 11e6, "ps-lite: 11 M/s")},
      {"pull-push/round-trip/local", figure("one key, there and back, --local-sockets: median", kMicroseconds,
                                            "µs", 60, std::nullopt, "ps-lite: 118 µs")},
      {"pull-push/round-trip", twice_raw},
      {"pull-push/idle", figure("a shard's processor time while nobody asks", kIdlePercent, "%", 1, 1)},
      {"pull-push/pull/100k-of-16", at_least("pull 100,000 rows of 16: bytes, share of loopback TCP", 1,
                                             Quantity::kLimitShare, "", "%", 0.35, 0.5)},
      {"pull-push/pull/10k-of-1",
       figure("wire bytes a key of width 1, of 8 + 4 x width", kWireShare, "x", 0.75, 0.5)},
      {"pull-push/pull/10k-of-16/f16",
       figure("wire bytes a key of width 16 as f16, of 8 + 4 x width", kWireShare, "x", 0.75, 0.5)},
      {"pull-push/busy/adam/2-ports",
       of_peer("a busy server, steps with Adam: 2 ports against 1", 1, "pull-push/busy/adam", 1.3, 1.6)},
      {"process/served/fc-demo", over_one_process("fc demo, whole programs")},
      {"process/served/logistic", over_one_process("logistic regression, batches of 4096, whole programs")},
      {"pull-push/train/fc-demo", over_one_process("fc demo, passes in memory, TCP")},
      {"pull-push/train/fc-demo/local", over_one_process("fc demo, passes in memory, --local-sockets")},
      {"pull-push/train/logistic",
       over_one_process("logistic regression, batches of 4096, passes in memory, TCP")},
      {"pull-push/train/logistic/local",
       over_one_process("logistic regression, batches of 4096, passes in memory, --local-sockets")},
      {"pull-push/train/deep/1G",
       figure("waiting on a link of 1 Gbit/s and 5 ms, staleness 2", kWaitingPercent, "%", 20, 20)},
  };
}

std::vector<BarRow> checkpoint_rows() {
  auto of_disk = [](const char* what) { return at_least(what, 2, Quantity::kLimitShare, "", "%", 0.7, 0.7); };
  Bar share = figure("serving while a checkpoint is written: throughput, of serving alone", kServingShare,
                     "x", 0.8, 0.8);
  share.at_least = true;
  return {
      {"checkpoint/write/plain", of_disk("write 2 GB of rows, not compressed: share of the disk")},
      {"checkpoint/write/zstd", rate("write 2 GB of rows with zstd", 2, 400e6, 400e6)},
      {"checkpoint/restore/plain", of_disk("restore 2 GB of rows, not compressed: share of the disk")},
      {"checkpoint/restore/zstd", rate("restore 2 GB of rows with zstd", 2, 400e6, 400e6)},
      {"checkpoint/restart", seconds("restart to ready, 1 GB of rows with zstd", 2, 5, 5, "")},
      {"checkpoint/serving", share},
      {"checkpoint/serving", figure("serving while a checkpoint is written: p99.9 of a request, longer by",
                                    kTailMilliseconds, "ms", 2, 2)},
      {"checkpoint/model", rate("ps-ckpt2model of 2 GB of rows", 2, 300e6, 300e6)},
      {"checkpoint/model",
       at_threads(2, figure("ps-ckpt2model of 2 GB of rows: memory", kMegabytes, "MB", 200, 200))},
  };
}

Bar of_copy(const char* what) {
  return at_least(what, 1, Quantity::kLimitShare, "", "%", 0.3, 0.6);
}

std::vector<BarRow> codec_rows() {
  Bar selection = of_peer("DGC: the largest thousandth of 64 M floats", 1, "dgc/select/torch-sampled", 6, 10);
  selection.stated = {"dgc/select/torch-sampled", "torch: 1.28 GB/s"};
  return {
      {"codec/fp16/encode", of_copy("fp16: encode, share of memory copied")},
      {"codec/fp16/decode", of_copy("fp16: decode, share of memory copied")},
      {"codec/bf16/encode", of_copy("bf16: encode, share of memory copied")},
      {"codec/bf16/decode", of_copy("bf16: decode, share of memory copied")},
      {"codec/int8/encode", of_copy("int8: encode, share of memory copied")},
      {"codec/int8/decode", of_copy("int8: decode, share of memory copied")},
      {"codec/one_bit/encode-feedback", of_copy("1-bit: encode with residual, share of memory copied")},
      {"codec/one_bit/decode", of_copy("1-bit: decode, share of memory copied")},
      {"dgc/select/sampled", selection},
      {"dgc/step", at_least("DGC: a whole local step, memory traffic, share of a copy's", 1,
                            Quantity::kLimitShare, "", "%", 0.6, 0.9)},
  };
}

// Beside Open MPI, at its defaults over TCP, and Gloo; at 1 KB Open MPI spins, and ours waits.
std::vector<BarRow> all_reduce_rows() {
  struct Beside {
    const char *benchmark, *what, *peer;
    double must, want;
  };
  constexpr Beside kBeside[] = {
      {"all-reduce/2-ranks/1K/auto", "all-reduce of 1 KB, 2 ranks, of Open MPI",
       "all-reduce/2-ranks/1K/open-mpi", 0.2, 0.3},
      {"all-reduce/2-ranks/64K/auto", "all-reduce of 64 KB, 2 ranks, of Open MPI",
       "all-reduce/2-ranks/64K/open-mpi", 0.7, 1},
      {"all-reduce/2-ranks/4M/auto", "all-reduce of 4 MB, 2 ranks, of Open MPI",
       "all-reduce/2-ranks/4M/open-mpi", 0.7, 1},
      {"all-reduce/2-ranks/64M/auto", "all-reduce of 64 MB, 2 ranks, of Open MPI",
       "all-reduce/2-ranks/64M/open-mpi", 1.2, 2},
      {"all-reduce/4-ranks/64K/auto", "all-reduce of 64 KB, 4 ranks, of Open MPI",
       "all-reduce/4-ranks/64K/open-mpi", 0.7, 1},
      {"all-reduce/4-ranks/4M/auto", "all-reduce of 4 MB, 4 ranks, of Open MPI",
       "all-reduce/4-ranks/4M/open-mpi", 0.7, 1},
      {"all-reduce/4-ranks/64M/auto", "all-reduce of 64 MB, 4 ranks, of Open MPI",
       "all-reduce/4-ranks/64M/open-mpi", 0.7, 1},
      {"all-reduce/2-ranks/64K/auto", "all-reduce of 64 KB, 2 ranks, of Gloo", "all-reduce/2-ranks/64K/gloo",
       1.5, 3},
      {"all-reduce/4-ranks/64K/auto", "all-reduce of 64 KB, 4 ranks, of Gloo", "all-reduce/4-ranks/64K/gloo",
       1.5, 3},
  };
  std::vector<BarRow> rows;
  for (const Beside& row : kBeside) {
    rows.push_back({row.benchmark, of_peer(row.what, 1, row.peer, row.must, row.want)});
  }
  rows.push_back({"all-reduce/2-ranks/64K/auto",
                  figure("all-reduce of 64 KB, 2 ranks: p99 of a call", kCallTail, "x median", 5, 5)});
  rows.push_back({"all-reduce/4-ranks/64K/auto",
                  figure("all-reduce of 64 KB, 4 ranks: p99 of a call", kCallTail, "x median", 5, 5)});
  for (const char* name : {"all-reduce/2-ranks/64K/choice", "all-reduce/4-ranks/4M/choice"}) {
    rows.push_back({name, at_most("all-reduce, automatic choice: time, over the best of what it chooses from",
                                  1, Quantity::kPeerFigure, kCallMicros, "x", 1.25, 1.1)});
  }
  for (const char* name : {"all-reduce/4-ranks/4M/direct", "all-reduce/4-ranks/4M/tree"}) {
    rows.push_back({name, figure("all-reduce: bytes that the busiest rank sends, off the formula", kBytesOff,
                                 "%", 1, 0)});
  }
  return rows;
}

const std::vector<BarRow>& all_rows() {
  static const std::vector<BarRow> kRows = [] {
    std::vector<BarRow> rows;
    for (auto part : {training_rows, parse_rows, table_rows, datagen_rows, pull_push_rows, checkpoint_rows,
                      codec_rows, all_reduce_rows}) {
      for (BarRow& row : part()) rows.push_back(std::move(row));
    }
    return rows;
  }();
  return kRows;
}

// The figure, over the least of the same among the peers that ran.
std::optional<double> of_best_peer(const Bar& bar, const Result& result, std::span<const Result> results) {
  if (std::optional<double> ratio = figure_of(result.of_peers, bar.of)) return ratio;
  std::optional<double> own = figure_of(result.figures, bar.of), best;
  for (const auto& [name, ratio] : result.peers) {
    const Result* peer = find_result(results, name, result.threads);
    std::optional<double> theirs = peer == nullptr ? std::nullopt : figure_of(peer->figures, bar.of);
    if (theirs && (!best || *theirs < *best)) best = theirs;
  }
  if (!own || !best) return std::nullopt;
  return *own / *best;
}

std::optional<double> rate_of_peer(const Bar& bar, const Result& result) {
  for (const auto& [name, ratio] : result.peers) {
    if (name == bar.of) return ratio;
  }
  return std::nullopt;
}

bool meets(const Bar& bar, double value, double bound) {
  return bar.at_least ? value >= bound : value <= bound;
}

}  // namespace

std::vector<Bar> bars_of(std::string_view benchmark) {
  std::vector<Bar> bars;
  for (const BarRow& row : all_rows()) {
    if (row.benchmark == benchmark) bars.push_back(row.bar);
  }
  return bars;
}

std::vector<std::string> barred_benchmarks() {
  std::vector<std::string> names;
  for (const BarRow& row : all_rows()) {
    if (std::find(names.begin(), names.end(), row.benchmark) == names.end()) names.push_back(row.benchmark);
  }
  return names;
}

std::optional<double> measured(const Bar& bar, const Result& result, std::span<const Result> results) {
  if (!result.skipped.empty()) return std::nullopt;
  switch (bar.quantity) {
    case Quantity::kRate:
      return result.median_rate();
    case Quantity::kSeconds:
      return result.median_seconds();
    case Quantity::kFigure:
      return figure_of(result.figures, bar.of);
    case Quantity::kLimitShare:
      return result.of_limit;
    case Quantity::kPeerRate:
      return rate_of_peer(bar, result);
    case Quantity::kPeerTime: {
      std::optional<double> ratio = rate_of_peer(bar, result);
      return ratio ? std::optional(1 / *ratio) : std::nullopt;
    }
    case Quantity::kPeerFigure:
      return of_best_peer(bar, result, results);
    case Quantity::kThreadGain: {
      const Result* alone = find_result(results, result.name, 1);
      if (alone == nullptr || alone->threads == result.threads) return std::nullopt;
      return result.median_rate() / alone->median_rate();
    }
  }
  return std::nullopt;
}

std::string verdict(const Bar& bar, std::optional<double> value) {
  if (!value) return "-";
  if (bar.want && meets(bar, *value, *bar.want)) return "wanted";
  if (bar.must && !meets(bar, *value, *bar.must)) return "missed";
  return bar.must ? "met" : "missed";
}

}  // namespace ps
