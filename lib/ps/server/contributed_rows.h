// ContributedRows: gives out what trainers contribute to the rows of one parameter in slices of all rows whose keys lie in a
// range, so that a step may be applied slice by slice.  Used by TableUpdater.
#ifndef PS_PS_SERVER_CONTRIBUTED_ROWS_H_
#define PS_PS_SERVER_CONTRIBUTED_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "math/key_plan.h"
#include "ps/server/shard_tables.h"
#include "ps/wire/protocol.h"

namespace ps {

// The gradients or values that one trainer gave of one parameter, in one slice of its push.
struct Contribution {
  const RowSlice* slice;
  const float* floats;  // [slice->rows(), cols]
  int trainer;
  float share;                          // of the step's examples
  const RowPointers* pulled = nullptr;  // the slice's rows, when it is one of a pull; null: not known
};

// Some rows of a contribution.
struct RowsOfOne {
  std::span<const uint64_t> keys;
  std::span<const KeyCount> counts;  // empty: not counted
  const float* floats;               // [keys, cols]
  std::span<float* const> rows;      // empty: not known
  int64_t pulled_step = 0;           // of the table, when the rows were pulled

  bool knows_rows() const { return rows.size() == keys.size(); }
};

// Contributions that follow each other with ascending keys make a chain, as those of one trainer do.  A slice has rows of every
// chain, in the order of the contributions, up to a key; so no row is in two slices, and the sum of each is made in one.
class ContributedRows {
 public:
  ContributedRows() = default;

  // The contributions are of rows by keys.  All that they point to must stay where it is.
  void begin(std::span<const Contribution> contributions, int64_t cols);

  // No two contributions have the same key, as the slices of one trainer's push.  To be asked before the first slice.
  bool lie_apart() const { return chains_.size() <= 1; }

  bool ended() const { return num_left_ == 0; }

  // some <- the next slice, of `most` rows at most; of one of each chain where that is more.
  void next(uint64_t most, std::vector<RowsOfOne>& some);

 private:
  struct Chain {
    std::vector<RowsOfOne> rows;
    size_t first = 0;  // of `rows` that are left

    bool ended() const { return first == rows.size(); }
  };

  static std::optional<uint64_t> key_behind(const Chain& chain, uint64_t count);
  std::optional<uint64_t> end_of_slice(uint64_t most) const;
  void take_below(Chain& chain, std::optional<uint64_t> end, std::vector<RowsOfOne>& some);

  size_t cols_ = 0;
  std::vector<Chain> chains_;
  uint64_t num_left_ = 0;  // rows
};

}  // namespace ps

#endif  // PS_PS_SERVER_CONTRIBUTED_ROWS_H_
