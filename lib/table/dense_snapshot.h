// DenseSnapshot: the floats of a dense table as they were at one moment, given out in small steps while the
// table goes on.  Used by DenseTable, for checkpoints.
#ifndef PS_TABLE_DENSE_SNAPSHOT_H_
#define PS_TABLE_DENSE_SNAPSHOT_H_

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace ps {

// Takes floats [first, first + floats.size()) of what a snapshot gives out, which are good until it returns:
// those of its parts, one after the other, in order.
using DenseSink = std::function<void(uint64_t first, std::span<const float> floats)>;

// Owner thread only.  A step writes all of a dense table, so that what is left when the first comes is copied
// as a whole.
class DenseSnapshot {
 public:
  using Parts = std::array<std::span<const float>, 2>;  // weights, state

  // The moment is that of the call.
  DenseSnapshot(const Parts& parts, uint64_t max_bytes, DenseSink sink);

  // To be called before any of the floats is written.  Calls the sink until no more than max_bytes are left,
  // and copies these.
  void keep();

  // Gives out some `floats` of what is left; false when all are given.
  bool sweep(uint64_t floats);

  uint64_t memory_bytes() const { return copy_.capacity() * sizeof(float); }

 private:
  uint64_t size() const { return parts_[0].size() + parts_[1].size(); }
  std::span<const float> from(uint64_t first) const;

  const Parts parts_;
  const uint64_t max_bytes_;
  const DenseSink sink_;
  uint64_t given_ = 0;
  bool is_copied_ = false;
  uint64_t copied_from_ = 0;
  std::vector<float> copy_;  // floats from copied_from_ on, once there was a write
};

}  // namespace ps

#endif  // PS_TABLE_DENSE_SNAPSHOT_H_
