// ContributedRows: divides what trainers contribute to the rows of one parameter into slices, each of all
// rows whose keys lie in a range, so that a step can be applied slice by slice.  Used by TableUpdater.
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

// The gradients or values of one parameter in one slice of a trainer's push.
struct Contribution {
  const RowSlice* slice;
  const float* floats;  // [slice->rows(), cols]
  int trainer;
  float share;                          // the trainer's share of the step's examples
  const RowPointers* pulled = nullptr;  // the slice's rows, if a pull has found them; null: unknown
};

// Some rows of a contribution.
struct RowsOfOne {
  std::span<const uint64_t> keys;
  std::span<const KeyCount> counts;  // empty: not counted
  const float* floats;               // [keys, cols]; null: there are none
  std::span<float* const> rows;      // empty: unknown
  int64_t pulled_step = 0;           // step of the table at which the rows were pulled

  bool knows_rows() const { return rows.size() == keys.size(); }
};

// Contributions that follow each other with ascending keys make a chain, as the slices of one trainer do.  A
// slice takes the rows up to one key from every chain, in the order of the contributions.  So no row is in
// two slices, and the sum of each row is made within one slice.  One owner thread.
class ContributedRows {
 public:
  ContributedRows() = default;

  // The contributions are of rows by keys.  All memory to which they point must stay in place.
  void begin(std::span<const Contribution> contributions, int64_t cols);

  // Returns true if no two contributions have the same key, as in the slices of one trainer's push.  Must be
  // called before the first slice.
  bool lie_apart() const { return chains_.size() <= 1; }

  bool ended() const { return num_left_ == 0; }

  // some <- the next slice, of at most `most` rows, or of one row of each chain if there are more chains.
  void next(uint64_t most, std::vector<RowsOfOne>& some);

  // some <- all rows that are left with keys below `end`; all rows, if there is no `end`.
  void next_below(std::optional<uint64_t> end, std::vector<RowsOfOne>& some);

 private:
  struct Chain {
    std::vector<RowsOfOne> rows;
    size_t first = 0;  // index in `rows` of the first that is left

    bool ended() const { return first == rows.size(); }
  };

  static std::optional<uint64_t> key_behind(const Chain& chain, uint64_t count);
  std::optional<uint64_t> end_of_slice(uint64_t most) const;
  void take_below(Chain& chain, std::optional<uint64_t> end, std::vector<RowsOfOne>& some);

  size_t cols_ = 0;
  std::vector<Chain> chains_;
  uint64_t num_left_ = 0;  // rows that were in no slice yet
};

}  // namespace ps

#endif  // PS_PS_SERVER_CONTRIBUTED_ROWS_H_
