// The key by which a job chooses how trainers add up sparse values.  Used by the strategies dgc and
// sparse_diloco.
#ifndef PS_STRATEGY_SPARSE_EXCHANGE_KEY_H_
#define PS_STRATEGY_SPARSE_EXCHANGE_KEY_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/sparse_exchange.h"

namespace ps {

inline constexpr const char* kSparseExchangeHelp =
    "how selected values are added up: all_gather gives all of them to every trainer; with owner_split each "
    "trainer adds those of its part of a parameter; dense adds whole arrays; auto: for each parameter the "
    "one that moves the fewest bytes";

// Returns the automatic choice, and then the names of the exchanges.
std::vector<std::string> sparse_exchange_choices();

// Returns nothing for the automatic choice.
std::optional<SparseExchange> find_sparse_exchange(std::string_view name);

}  // namespace ps

#endif  // PS_STRATEGY_SPARSE_EXCHANGE_KEY_H_
