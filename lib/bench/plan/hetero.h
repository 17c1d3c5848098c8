// HeteroPlan: decides how the work of a job is divided between processors and accelerators, and how many
// machines of each kind to use: ps-bench plan --hetero.
//
// For a batch, a reader takes R seconds of a processor and exchanges S bytes of rows with servers, each way; a
// compute trainer takes C seconds of an accelerator and exchanges D bytes of dense parameters with servers; and
// B bytes travel each way between the two.  With N readers, M compute trainers and K servers, each with a link
// of its own, all of these work at the same time, and the slowest of them decides:
//
//   batches a second = 1 / max(C / M, R / N, max((S + B) / N, (B + D) / M, (S + D) / K) / bandwidth)
//
// A plain trainer does both by itself.  Its link and its computing take turns: its gradients go when a batch is
// computed, and the weights of its next step come after them, so that a batch takes E = 2 (S + D) / bandwidth
// longer.  With an accelerator it reads at the same time.
#ifndef PS_BENCH_PLAN_HETERO_H_
#define PS_BENCH_PLAN_HETERO_H_

#include <cstdint>
#include <string>
#include <vector>

#include "config/fwd.h"

namespace ps {

// The times of one machine, in seconds a batch, and the machines that there are.
struct HeteroRequest {
  double read_seconds = 0;     // of a processor: data, unique keys, messages of rows to and from servers
  double cpu_seconds = 0;      // of a processor: forward and backward
  double compute_seconds = 0;  // of an accelerator: forward and backward
  double batch_bytes = 0;      // size of a batch between a reader and a compute trainer, each way
  double row_bytes = 0;        // size of its rows between a reader and the servers, each way
  double dense_bytes = 0;      // size of the dense parameters between a compute trainer and servers, each way
  double bandwidth = 0;        // bytes a second of a link, each way
  int64_t servers = 1;         // machines of servers, over which parameters are spread evenly
  int64_t most_processors = 1;  // machines that exist or may be hired
  int64_t most_accelerators = 1;
  double processor_price = 1, accelerator_price = 1;  // price of a machine, for the same time
};

// The ways to divide the work between processors and accelerators.
enum class HeteroCut {
  kNone,          // plain trainers on processors
  kRows,          // readers and compute trainers
  kAccelerators,  // plain trainers with an accelerator, which read by themselves
};

// A number of machines of each kind, with the rate that they reach.
struct HeteroChoice {
  HeteroCut cut = HeteroCut::kNone;
  int64_t processors = 0, accelerators = 0;  // numbers of machines
  double batches_per_second = 0;
  std::string limit;  // the slowest kind: "processors" | "accelerators" | "links"
  double price = 0;   // price of all machines together

  double batch_price() const { return price / batches_per_second; }
};

// Returns the rate of these machines, and the kind that limits it.
HeteroChoice hetero_choice(const HeteroRequest& request, HeteroCut cut, int64_t processors,
                           int64_t accelerators);

// The choices for a request.
struct HeteroPlan {
  HeteroRequest request;
  // The choices are: plain trainers on all processors; then, for each number of accelerators, the fewest
  // readers that do not limit them, or all readers that there are; then trainers with an accelerator each.
  std::vector<HeteroChoice> choices;
  size_t fastest = 0;   // index in choices; of equally fast ones, the one with the lowest price
  size_t cheapest = 0;  // index in choices of the lowest price of a batch; of equally cheap ones, the fastest
};

HeteroPlan make_hetero_plan(const HeteroRequest& request);

std::string hetero_text(const std::string& job, const HeteroPlan& plan, bool markdown);
Json hetero_json(const std::string& job, const HeteroPlan& plan);

}  // namespace ps

#endif  // PS_BENCH_PLAN_HETERO_H_
