// Runs the all-reduce of Gloo between threads, over TCP on the loopback device.  Used by the suite
// `all-reduce`.
#ifndef PS_BENCH_PEERS_GLOO_H_
#define PS_BENCH_PEERS_GLOO_H_

#include "bench/all_reduce/rank_team.h"

namespace ps {

// Returns a function that makes the ranks.  Throws kUnavailable if Gloo was not installed at build time.
MakeRankSum make_gloo_sums(int size);

}  // namespace ps

#endif  // PS_BENCH_PEERS_GLOO_H_
