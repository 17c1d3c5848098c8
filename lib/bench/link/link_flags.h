// Reads lists from flags of ps-bench.  Used by the programs of bench/link.
#ifndef PS_BENCH_LINK_LINK_FLAGS_H_
#define PS_BENCH_LINK_LINK_FLAGS_H_

#include <string_view>
#include <vector>

#include "cli/flags.h"

namespace ps {

// Returns the numbers of --NAME, at least one.  Throws kUsage for a number that is not from `least` to
// `most`.
std::vector<int> integer_list(const Flags& flags, std::string_view name, int least, int most);

// Returns the rates of --bandwidth, at least one, in bits a second.  Throws kUsage for rates outside 100K to
// 1T.
std::vector<double> bandwidth_list(const Flags& flags);

}  // namespace ps

#endif  // PS_BENCH_LINK_LINK_FLAGS_H_
