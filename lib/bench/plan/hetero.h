// HeteroPlan: where to cut the work of a job between processors and accelerators, and how many machines of each to use:
// ps-bench plan --hetero.
//
// A reader takes R seconds of a processor for a batch, a compute trainer C seconds of an accelerator; B bytes travel each way.
// With N readers and M compute trainers, each with a link of its own, all of it goes on at the same time, and the slowest
// part decides:
//
//   batches a second = 1 / max(C / M, R / N, B / (bandwidth * min(N, M)))
//
// The same holds without a cut, where a trainer does both by itself: on processors, one after the other; with an
// accelerator, at the same time, and nothing travels.
#ifndef PS_BENCH_PLAN_HETERO_H_
#define PS_BENCH_PLAN_HETERO_H_

#include <cstdint>
#include <string>
#include <vector>

#include "config/fwd.h"

namespace ps {

// All times in seconds a batch, of one machine.
struct HeteroRequest {
  double read_seconds = 0;      // of a processor: data, unique keys, rows to and from servers
  double cpu_seconds = 0;       // of a processor: forward and backward
  double compute_seconds = 0;   // of an accelerator: the same
  double batch_bytes = 0;       // of a batch between a reader and a compute trainer, each way
  double bandwidth = 0;         // bytes a second of a link, each way
  int64_t most_processors = 1;  // machines there are, or may be hired
  int64_t most_accelerators = 1;
  double processor_price = 1, accelerator_price = 1;  // of a machine, for the same time
};

// The parts of the work that are on the two sides.
enum class HeteroCut {
  kNone,          // plain trainers on processors
  kRows,          // readers and compute trainers
  kAccelerators,  // plain trainers with an accelerator, which read by themselves
};

struct HeteroChoice {
  HeteroCut cut = HeteroCut::kNone;
  int64_t processors = 0, accelerators = 0;  // machines
  double batches_per_second = 0;
  std::string limit;  // the part that decides: "processors" | "accelerators" | "links"
  double price = 0;   // of all machines

  double batch_price() const { return price / batches_per_second; }
};

// The rate of so many machines, and what limits it.
HeteroChoice hetero_choice(const HeteroRequest& request, HeteroCut cut, int64_t processors,
                           int64_t accelerators);

struct HeteroPlan {
  HeteroRequest request;
  // Plain trainers on all processors; then for each number of accelerators the fewest readers with which the readers do not
  // limit, or all there are; then trainers with an accelerator each.
  std::vector<HeteroChoice> choices;
  size_t fastest = 0;   // of these; of equals the one with the lowest price
  size_t cheapest = 0;  // by the price of a batch; of equals the faster one
};

HeteroPlan make_hetero_plan(const HeteroRequest& request);

std::string hetero_text(const std::string& job, const HeteroPlan& plan, bool markdown);
Json hetero_json(const std::string& job, const HeteroPlan& plan);

}  // namespace ps

#endif  // PS_BENCH_PLAN_HETERO_H_
