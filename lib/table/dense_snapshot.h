// DenseSnapshot: gives out the floats of a dense table as they were at one moment, in small steps, while
// training goes on.  Used by DenseTable, for checkpoints.
#ifndef PS_TABLE_DENSE_SNAPSHOT_H_
#define PS_TABLE_DENSE_SNAPSHOT_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace ps {

// Takes floats [first, first + floats.size()) of a snapshot, which are valid until it returns.  A snapshot
// gives all floats of its first part in order, then those of the second.
using DenseSink = std::function<void(uint64_t first, std::span<const float> floats)>;

// The floats of each part are divided into blocks.  Before a block is written for the first time, it is copied, unless it was
// given out already; the copy goes when it is given out.  So a write copies no more than about what it writes, and copies
// together with the floats given so far never take more than the table.  Owner thread only.
class DenseSnapshot {
 public:
  using Parts = std::array<std::span<const float>, 2>;  // weights, state

  static constexpr uint64_t kBlockFloats = 16 << 10;

  // The snapshot holds the values at the time of the call.
  DenseSnapshot(const Parts& parts, DenseSink sink);

  // To be called before floats [first, first + count) of a part are written.
  void keep(size_t part, uint64_t first, uint64_t count);
  void keep_all();

  // Gives out about `floats` more floats, at least one block.  Returns false if all have been given.
  bool sweep(uint64_t floats);

  // Returns the number of blocks that have been copied and are not given out yet.
  uint64_t num_copies() const { return num_copies_; }

 private:
  using Copies = std::vector<std::unique_ptr<float[]>>;  // by block; null: it is not copied

  std::span<const float> block(size_t part, uint64_t index) const;
  bool is_given(size_t part, uint64_t index) const {
    return part < next_part_ || (part == next_part_ && index < next_block_);
  }

  const Parts parts_;
  const DenseSink sink_;
  std::array<Copies, 2> copies_;
  uint64_t num_copies_ = 0;
  size_t next_part_ = 0;  // the next block to be given out, in this part
  uint64_t next_block_ = 0;
};

}  // namespace ps

#endif  // PS_TABLE_DENSE_SNAPSHOT_H_
