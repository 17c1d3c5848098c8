// DenseSnapshot: gives out the floats of a dense table as they were at one moment, in small steps, while
// training goes on.  Used by DenseTable, for checkpoints.
#ifndef PS_TABLE_DENSE_SNAPSHOT_H_
#define PS_TABLE_DENSE_SNAPSHOT_H_

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace ps {

// Takes floats [first, first + floats.size()) of a snapshot, which are valid until it returns.  A snapshot
// gives all floats of its first part in order, then those of the second.
using DenseSink = std::function<void(uint64_t first, std::span<const float> floats)>;

// Owner thread only.  A step writes all floats of a dense table, so the first step copies all floats that are
// not given out yet.
class DenseSnapshot {
 public:
  using Parts = std::array<std::span<const float>, 2>;  // weights, state

  // The snapshot holds the values at the time of the call.
  DenseSnapshot(const Parts& parts, uint64_t max_bytes, DenseSink sink);

  // To be called before any of the floats is written.  Calls the sink until at most max_bytes remain, and
  // copies these.
  void keep();

  // Gives out about `floats` more floats.  Returns false if all have been given.
  bool sweep(uint64_t floats);

  uint64_t memory_bytes() const { return copy_.capacity() * sizeof(float); }

 private:
  uint64_t size() const { return parts_[0].size() + parts_[1].size(); }
  std::span<const float> from(uint64_t first) const;

  const Parts parts_;
  const uint64_t max_bytes_;
  const DenseSink sink_;
  // The number of floats that were given out, and the copy that the first write made.
  uint64_t given_ = 0;
  bool is_copied_ = false;
  uint64_t copied_from_ = 0;
  std::vector<float> copy_;  // floats from copied_from_ on, once there was a write
};

}  // namespace ps

#endif  // PS_TABLE_DENSE_SNAPSHOT_H_
