// The groups in which compressed gradients are exchanged.  Used by AllReduceStore, which makes the exchanges, and by the choice
// of codecs, which counts them.
#ifndef PS_STORE_COMPRESSED_GROUPS_H_
#define PS_STORE_COMPRESSED_GROUPS_H_

#include <cstddef>
#include <span>
#include <vector>

namespace ps {

// The most bytes of a group of several gradients.
inline constexpr size_t kMostGroupBytes = size_t{64} << 20;

// kSeveral: those of the last layers are exchanged while backward goes on with the layers before; kOne: all together after
// backward, or as many as a group may have, for trainers of which one has its gradients no earlier.
enum class CompressedGroups { kSeveral, kOne };

// Returns how many neighbours, from the last on, are in each group.  `bytes` are those of the gradients before they are
// compressed, in the order of the model.
std::vector<size_t> compressed_groups(std::span<const size_t> bytes, CompressedGroups groups);

}  // namespace ps

#endif  // PS_STORE_COMPRESSED_GROUPS_H_
