#include "bench/bar_table.h"

#include "bench/all_reduce/suite.h"
#include "bench/checkpoint/suite.h"
#include "bench/process/suite.h"
#include "bench/pull_push/suite.h"

namespace ps {

namespace {

using enum Quantity;
using enum BarRow::Bound;

constexpr const char* kVw = "process/logistic/vw";

constexpr BarRow kBars[] = {
    // Training, as whole programs and as passes.
    {"process/logistic", "logistic regression, libsvm to saved model, whole process", 2, kSeconds, "", "s",
     kAtMost, 0.4, 0.24, "Vowpal Wabbit 9.11: 1.2 s", kVw},
    {"process/logistic", "logistic regression, libsvm to saved model, whole process", 1, kSeconds, "", "s",
     kAtMost, 0.6, 0.45, "Vowpal Wabbit 9.11: 1.81 s", kVw},
    {"process/logistic", "logistic regression: loss on held-out data, over the best peer's", 1, kPeerFigure,
     kHeldOutLoss, "x", kAtMost, 1.005, 1},
    // Wanted are 1.3 times the 8 bytes of each of the 3,867,172 rows touched, and 64 MB.
    {"process/logistic", "logistic regression, whole process: peak memory", 2, kFigure, kMegabytes, "MB",
     kAtMost, 291, 104, "Vowpal Wabbit 9.11: 291 MB", kVw},
    {"process/logistic-passes", "later passes, data in memory", 1, kSeconds, "", "s", kAtMost, 0.25, 0.15,
     "xLearn: 0.75 s"},
    {"process/logistic-passes", "later passes, data in memory", 2, kSeconds, "", "s", kAtMost, 0.19, 0.12,
     "xLearn: 0.38 s"},
    {"process/fm-8-passes", "factorisation machine, k = 8, later passes", 1, kSeconds, "", "s", kAtMost, 0.33,
     0.2, "xLearn: 1.0 s"},
    {"process/fm-8-passes", "factorisation machine, k = 8, later passes", 2, kSeconds, "", "s", kAtMost, 0.24,
     0.14, "xLearn: 0.48 s"},
    {"train/embedding-16", "embedding rows of 16", 1, kPeerRate, "train/embedding-16/torch", "x", kAtLeast, 8,
     15},
    {"train/embedding-16", "embedding rows of 16", 2, kPeerRate, "train/embedding-16/torch", "x", kAtLeast, 8,
     15},
    {"process/logistic-hashed", "64-bit ids against ids with a known maximum", 1, kPeerTime,
     "process/logistic", "x", kAtMost, 2, 1.4},
    {"process/logistic-hashed", "64-bit ids against ids with a known maximum", 2, kPeerTime,
     "process/logistic", "x", kAtMost, 2, 1.4},
    {"process/fc-demo", "fc demo, 18,182,296 x 256: memory", 2, kFigure, kMegabytes, "MB", kAtMost, 400, 150,
     "PaddlePaddle: 18.6 GB"},
    {"process/fc-demo", "fc demo: a pass", 2, kSeconds, "", "s", kAtMost, 0.15, 0.05, "PaddlePaddle: 0.33 s"},
    {"process/fc-demo", "fc demo: a save", 2, kFigure, "save s", "s", kAtMost, 0.3, 0.1,
     "PaddlePaddle: 25 s"},
    // Parsing.
    {"parse/libsvm-binary", "parse libsvm, binary values", 1, kRate, "", "", kAtLeast, 1.75e9, 2.4e9,
     "dmlc-core: 0.70 GB/s"},
    {"parse/libsvm-binary", "parse libsvm, binary values, 2 threads against 1", 2, kThreadGain, "", "x",
     kAtLeast, 1.6, 1.8},
    {"parse/libsvm-values", "parse libsvm, 4-digit values", 1, kRate, "", "", kAtLeast, 1.1e9, 1.7e9,
     "dmlc-core: 0.69 GB/s"},
    {"parse/libsvm-values", "parse libsvm, 4-digit values, 2 threads against 1", 2, kThreadGain, "", "x",
     kAtLeast, 1.6, 1.8},
    {"parse/batches/records", "records to batches, share of memory copied", 1, kLimitShare, "", "%", kAtLeast,
     0.1, 0.25},
    {"parse/criteo", "parse criteo", 1, kRate, "", "", kAtLeast, 800e6, 1.5e9},
    {"parse/multislot", "parse multislot", 1, kRate, "", "", kAtLeast, 800e6, 1.5e9},
    // Tables.
    {"table/find", "table: find 20 million ids in batches", 1, kPeerRate, "table/find/libcuckoo", "x",
     kAtLeast, 3.5, 5},
    {"table/pull", "table: pull rows of 16 + 16 floats", 1, kPeerRate, "table/pull/libcuckoo", "x", kAtLeast,
     3.5, 5},
    {"table/pull", "table: pull, lines read, share of random cache lines", 1, kLimitShare, "", "%", kAtLeast,
     std::nullopt, 0.45},
    {"table/push", "table: push with fused AdaGrad", 1, kPeerRate, "table/push/libcuckoo", "x", kAtLeast, 3,
     5},
    {"table/spill/pull", "table: pull of rows most of which are on disk", 1, kPeerRate,
     "table/spill/pull/rocksdb", "x", kAtLeast, 1, 2},
    {"table/spill/push", "table: push of rows most of which are on disk", 1, kPeerRate,
     "table/spill/push/rocksdb", "x", kAtLeast, 1, 2},
    {"table/grow", "table: memory of rows of 128 B, steady", 1, kFigure, "memory", "x", kAtMost, 1.35, 1.22},
    {"table/grow", "table: peak memory while it grows", 1, kFigure, "peak", "x", kAtMost, 1.6, 1.35},
    {"table/grow", "table: p99.9 of a batch while it grows", 1, kFigure, "p99.9/median", "x median", kAtMost,
     20, 5},
    // Made data.
    {"process/datagen", "ps-datagen, libsvm, sorted ids", 1, kRate, "", "", kAtLeast, 0.7e6, 1.2e6,
     "numpy: 0.1 M examples/s", "process/datagen/numpy"},
    {"process/datagen", "ps-datagen, libsvm, sorted ids, 2 threads against 1, the same bytes", 2, kThreadGain,
     "", "x", kAtLeast, 1.7, 1.8},
    // Servers, beside published figures of ps-lite: one client, one server, 4 requests in flight, ascending keys, on two
    // cores.  A job through one server on the same machine may take twice the processor time of one process.
    {"pull-push/pull/10k-of-16", "pull 10,000 random keys, 4 million rows of 16", 1, kRate, "", "", kAtLeast,
     12.3e6, 20.5e6, "ps-lite: 4.1 M/s"},
    {"pull-push/push/10k-of-16", "push 10,000 random keys, 4 million rows of 16", 1, kRate, "", "", kAtLeast,
     12.4e6, 21.7e6, "ps-lite: 3.1 M/s"},
    {"pull-push/pull/10M-of-1", "pull 10 million keys, rows of 1", 1, kRate, "", "", kAtLeast, 22e6, 33e6,
     "ps-lite: 11 M/s"},
    {"pull-push/push/10M-of-1", "push 10 million keys, rows of 1", 1, kRate, "", "", kAtLeast, 22e6, 33e6,
     "ps-lite: 11 M/s"},
    {"pull-push/round-trip/local", "one key, there and back, --local-sockets: median", 1, kFigure,
     kMicroseconds, "µs", kAtMost, 60, std::nullopt, "ps-lite: 118 µs"},
    {"pull-push/round-trip", "one key, there and back: share of the raw round trips", 1, kLimitShare, "", "%",
     kAtLeast, std::nullopt, 0.5},
    {"pull-push/idle", "a shard's processor time while nobody asks", 1, kFigure, kIdlePercent, "%", kAtMost,
     1, 1},
    {"pull-push/pull/100k-of-16", "pull 100,000 rows of 16: bytes, share of loopback TCP", 1, kLimitShare, "",
     "%", kAtLeast, 0.35, 0.5},
    {"pull-push/pull/10k-of-1", "wire bytes a key of width 1, of 8 + 4 x width", 1, kFigure, kWireShare, "x",
     kAtMost, 0.75, 0.5},
    {"pull-push/pull/10k-of-16/f16", "wire bytes a key of width 16 as f16, of 8 + 4 x width", 1, kFigure,
     kWireShare, "x", kAtMost, 0.75, 0.5},
    {"pull-push/busy/adam/2-ports", "a busy server, steps with Adam: 2 ports against 1", 1, kPeerRate,
     "pull-push/busy/adam", "x", kAtLeast, 1.3, 1.6},
    {"process/served/fc-demo", "fc demo, whole programs, through a server: processor time, over one process",
     1, kPeerFigure, kCpuSeconds, "x", kAtMost, 2, 2},
    {"process/served/logistic",
     "logistic regression, batches of 4096, whole programs, through a server: processor time, over one "
     "process",
     1, kPeerFigure, kCpuSeconds, "x", kAtMost, 2, 2},
    {"pull-push/train/fc-demo",
     "fc demo, passes in memory, TCP, through a server: processor time, over one process", 1, kPeerFigure,
     kCpuSeconds, "x", kAtMost, 2, 2},
    {"pull-push/train/fc-demo/local",
     "fc demo, passes in memory, --local-sockets, through a server: processor time, over one process", 1,
     kPeerFigure, kCpuSeconds, "x", kAtMost, 2, 2},
    {"pull-push/train/logistic",
     "logistic regression, batches of 4096, passes in memory, TCP, through a server: processor time, over "
     "one process",
     1, kPeerFigure, kCpuSeconds, "x", kAtMost, 2, 2},
    {"pull-push/train/logistic/local",
     "logistic regression, batches of 4096, passes in memory, --local-sockets, through a server: processor "
     "time, over one process",
     1, kPeerFigure, kCpuSeconds, "x", kAtMost, 2, 2},
    {"pull-push/train/deep/1G", "waiting on a link of 1 Gbit/s and 5 ms, staleness 2", 1, kFigure,
     kWaitingPercent, "%", kAtMost, 20, 20},
    // Checkpoints.
    {"checkpoint/write/plain", "write 2 GB of rows, not compressed: share of the disk", 2, kLimitShare, "",
     "%", kAtLeast, 0.7, 0.7},
    {"checkpoint/write/zstd", "write 2 GB of rows with zstd", 2, kRate, "", "", kAtLeast, 400e6, 400e6},
    {"checkpoint/restore/plain", "restore 2 GB of rows, not compressed: share of the disk", 2, kLimitShare,
     "", "%", kAtLeast, 0.7, 0.7},
    {"checkpoint/restore/zstd", "restore 2 GB of rows with zstd", 2, kRate, "", "", kAtLeast, 400e6, 400e6},
    {"checkpoint/restart", "restart to ready, 1 GB of rows with zstd", 2, kSeconds, "", "s", kAtMost, 5, 5},
    {"checkpoint/serving", "serving while a checkpoint is written: throughput, of serving alone", 1, kFigure,
     kServingShare, "x", kAtLeast, 0.8, 0.8},
    {"checkpoint/serving", "serving while a checkpoint is written: p99.9 of a request, longer by", 1, kFigure,
     kTailMilliseconds, "ms", kAtMost, 2, 2},
    {"checkpoint/model", "ps-ckpt2model of 2 GB of rows", 2, kRate, "", "", kAtLeast, 300e6, 300e6},
    {"checkpoint/model", "ps-ckpt2model of 2 GB of rows: memory", 2, kFigure, kMegabytes, "MB", kAtMost, 200,
     200},
    // Codecs and the selection of DGC.
    {"codec/fp16/encode", "fp16: encode, share of memory copied", 1, kLimitShare, "", "%", kAtLeast, 0.3,
     0.6},
    {"codec/fp16/decode", "fp16: decode, share of memory copied", 1, kLimitShare, "", "%", kAtLeast, 0.3,
     0.6},
    {"codec/bf16/encode", "bf16: encode, share of memory copied", 1, kLimitShare, "", "%", kAtLeast, 0.3,
     0.6},
    {"codec/bf16/decode", "bf16: decode, share of memory copied", 1, kLimitShare, "", "%", kAtLeast, 0.3,
     0.6},
    {"codec/int8/encode", "int8: encode, share of memory copied", 1, kLimitShare, "", "%", kAtLeast, 0.3,
     0.6},
    {"codec/int8/decode", "int8: decode, share of memory copied", 1, kLimitShare, "", "%", kAtLeast, 0.3,
     0.6},
    {"codec/one_bit/encode-feedback", "1-bit: encode with residual, share of memory copied", 1, kLimitShare,
     "", "%", kAtLeast, 0.3, 0.6},
    {"codec/one_bit/decode", "1-bit: decode, share of memory copied", 1, kLimitShare, "", "%", kAtLeast, 0.3,
     0.6},
    {"dgc/select/sampled", "DGC: the largest thousandth of 64 M floats", 1, kPeerRate,
     "dgc/select/torch-sampled", "x", kAtLeast, 6, 10, "torch: 1.28 GB/s", "dgc/select/torch-sampled"},
    {"dgc/step", "DGC: a whole local step, memory traffic, share of a copy's", 1, kLimitShare, "", "%",
     kAtLeast, 0.6, 0.9},
    // All-reduce, beside Open MPI, at its defaults over TCP, and Gloo.  At 1 KB Open MPI spins, and ours waits.
    {"all-reduce/2-ranks/1K/auto", "all-reduce of 1 KB, 2 ranks, of Open MPI", 1, kPeerRate,
     "all-reduce/2-ranks/1K/open-mpi", "x", kAtLeast, 0.2, 0.3},
    {"all-reduce/2-ranks/64K/auto", "all-reduce of 64 KB, 2 ranks, of Open MPI", 1, kPeerRate,
     "all-reduce/2-ranks/64K/open-mpi", "x", kAtLeast, 0.7, 1},
    {"all-reduce/2-ranks/64K/auto", "all-reduce of 64 KB, 2 ranks, of Gloo", 1, kPeerRate,
     "all-reduce/2-ranks/64K/gloo", "x", kAtLeast, 1.5, 3},
    {"all-reduce/2-ranks/64K/auto", "all-reduce of 64 KB, 2 ranks: p99 of a call", 1, kFigure, kCallTail,
     "x median", kAtMost, 5, 5},
    {"all-reduce/2-ranks/4M/auto", "all-reduce of 4 MB, 2 ranks, of Open MPI", 1, kPeerRate,
     "all-reduce/2-ranks/4M/open-mpi", "x", kAtLeast, 0.7, 1},
    {"all-reduce/2-ranks/64M/auto", "all-reduce of 64 MB, 2 ranks, of Open MPI", 1, kPeerRate,
     "all-reduce/2-ranks/64M/open-mpi", "x", kAtLeast, 1.2, 2},
    {"all-reduce/4-ranks/64K/auto", "all-reduce of 64 KB, 4 ranks, of Open MPI", 1, kPeerRate,
     "all-reduce/4-ranks/64K/open-mpi", "x", kAtLeast, 0.7, 1},
    {"all-reduce/4-ranks/64K/auto", "all-reduce of 64 KB, 4 ranks, of Gloo", 1, kPeerRate,
     "all-reduce/4-ranks/64K/gloo", "x", kAtLeast, 1.5, 3},
    {"all-reduce/4-ranks/64K/auto", "all-reduce of 64 KB, 4 ranks: p99 of a call", 1, kFigure, kCallTail,
     "x median", kAtMost, 5, 5},
    {"all-reduce/4-ranks/4M/auto", "all-reduce of 4 MB, 4 ranks, of Open MPI", 1, kPeerRate,
     "all-reduce/4-ranks/4M/open-mpi", "x", kAtLeast, 0.7, 1},
    {"all-reduce/4-ranks/64M/auto", "all-reduce of 64 MB, 4 ranks, of Open MPI", 1, kPeerRate,
     "all-reduce/4-ranks/64M/open-mpi", "x", kAtLeast, 0.7, 1},
    {"all-reduce/2-ranks/64K/choice",
     "all-reduce, automatic choice: time, over the best of what it chooses from", 1, kPeerFigure, kCallMicros,
     "x", kAtMost, 1.25, 1.1},
    {"all-reduce/4-ranks/4M/choice",
     "all-reduce, automatic choice: time, over the best of what it chooses from", 1, kPeerFigure, kCallMicros,
     "x", kAtMost, 1.25, 1.1},
    {"all-reduce/4-ranks/4M/direct", "all-reduce: bytes that the busiest rank sends, off the formula", 1,
     kFigure, kBytesOff, "%", kAtMost, 1, 0},
    {"all-reduce/4-ranks/4M/tree", "all-reduce: bytes that the busiest rank sends, off the formula", 1,
     kFigure, kBytesOff, "%", kAtMost, 1, 0},
};

}  // namespace

Bar BarRow::bar() const {
  return {.what = what,
          .threads = threads,
          .quantity = quantity,
          .of = of,
          .unit = unit,
          .at_least = bound == kAtLeast,
          .must = must,
          .want = want,
          .stated = {stated_peer, stated}};
}

std::span<const BarRow> bar_table() {
  return kBars;
}

}  // namespace ps
