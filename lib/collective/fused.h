// All-reduces many small arrays at once, for models of many layers.  Used by strategies of training.
#ifndef PS_COLLECTIVE_FUSED_H_
#define PS_COLLECTIVE_FUSED_H_

#include <span>
#include <vector>

#include "collective/communicator.h"

namespace ps {

// Arrays of up to this many bytes are fused, up to this many bytes in all: copying so few bytes costs less
// than the latency of an all-reduce.
inline constexpr size_t kFusedBytes = size_t{1} << 20;

// Returns how many arrays, one after the other, go into each all-reduce of all_reduce_fused.
std::vector<size_t> fused_groups(std::span<const Elements> arrays);

// Returns the same for arrays of one type, of so many bytes each.
std::vector<size_t> fused_groups(std::span<const size_t> bytes);

// All-reduces the arrays, which must be the same in the same order on all ranks.  Small neighbours of the
// same type are fused.  If sums run in rank order, fusing does not change their bits.
void all_reduce_fused(Communicator& communicator, std::span<const Elements> arrays);

}  // namespace ps

#endif  // PS_COLLECTIVE_FUSED_H_
