// Finds the rank that is to blame when a collective does not go on.  Used by implementations of Exchange.
//
// A rank that waits may wait for one that waits itself.  When its time is up it asks all ranks; those that are
// inside a collective answer with the ranks that they wait for.  A rank that is waited for and does not answer
// is to blame.
#ifndef PS_COLLECTIVE_BLAME_H_
#define PS_COLLECTIVE_BLAME_H_

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ps {

// Returns the ranks for which a rank waits; none if it is in no collective.  Returns nothing if the rank did
// not answer.
using WaitsFor = std::function<std::optional<std::vector<int>>(int rank)>;

struct Blame {
  std::vector<int> ranks;  // ascending, at least one
  const char* what;        // "silent": they do not answer
  bool busy = false;       // all ranks answer, and these are in no collective
};

// Begins with the ranks that `rank` waits for, and goes on to those that they wait for.
Blame find_blame(int rank, std::span<const int> awaited, const WaitsFor& waits_for);

// "rank 3", "ranks 3 and 5", "ranks 1, 3 and 5".
std::string ranks_text(std::span<const int> ranks);

}  // namespace ps

#endif  // PS_COLLECTIVE_BLAME_H_
