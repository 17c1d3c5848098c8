// Lists that flags of ps-bench give.  Used by the programs of bench/link.
#ifndef PS_BENCH_LINK_LINK_FLAGS_H_
#define PS_BENCH_LINK_LINK_FLAGS_H_

#include <string_view>
#include <vector>

#include "cli/flags.h"

namespace ps {

// The numbers of --NAME, one at least.  Throws kUsage for one that is not from `least` to `most`.
std::vector<int> integer_list(const Flags& flags, std::string_view name, int least, int most);

// Bits a second: the rates of --bandwidth, one at least.  Throws kUsage for others than 100K to 1T.
std::vector<double> bandwidth_list(const Flags& flags);

}  // namespace ps

#endif  // PS_BENCH_LINK_LINK_FLAGS_H_
