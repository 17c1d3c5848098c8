// Reads the flags of ps-bench plan --hetero, and what they say about a job.  Used by bench/plan/program.h.
#ifndef PS_BENCH_PLAN_HETERO_FLAGS_H_
#define PS_BENCH_PLAN_HETERO_FLAGS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/plan/hetero.h"
#include "cli/flags.h"
#include "job/job.h"
#include "model/network.h"

namespace ps {

std::vector<Flag> hetero_flags();

// Returns the request of --hetero.  Throws kUsage for costs that are neither given nor measured.
HeteroRequest read_hetero(const Flags& flags, const Job& job);

// The functions below are for all plans.

// Reads a flag such as "10G", in bits or operations a second.
double decimal_rate(const Flags& flags, std::string_view name);

// Makes the network of the job.  Throws kUsage when it depends on data.
Network<float> planned_network(const Job& job);

// Returns the operations of the forward and the backward pass of a batch: two and four for each
// multiplication of the forward pass.
double operations(const std::vector<LayerSize>& layers, int64_t batch);

}  // namespace ps

#endif  // PS_BENCH_PLAN_HETERO_FLAGS_H_
