// SliceWork: the work that a shard may do before it serves other requests.  Used by StepApplier, TableUpdater
// and PullService.
#ifndef PS_PS_SERVER_SLICE_WORK_H_
#define PS_PS_SERVER_SLICE_WORK_H_

#include <cstdint>

#include "table/table.h"

namespace ps {

// The work that is left for a call, in values of rows; each row counts more for finding it.
struct SliceWork {
  static constexpr uint64_t kRowWork = 16;
  static constexpr uint64_t kDiskWork = 2048;  // more for a row that may be on disk
  static constexpr uint64_t kUnlimited = UINT64_MAX;

  uint64_t left = kUnlimited;

  bool used_up() const { return left == 0; }
  void use(uint64_t work) {
    if (left != kUnlimited) left -= work < left ? work : left;
  }

  // Returns the number of rows that the work allows, at least one.
  uint64_t rows(uint64_t work_of_row) const { return left < work_of_row ? 1 : left / work_of_row; }
};

// Returns the work on a row of the table.
inline uint64_t work_of_row(const Table& table) {
  return static_cast<uint64_t>(table.width()) + SliceWork::kRowWork +
         (table.spilled() ? SliceWork::kDiskWork : 0);
}

}  // namespace ps

#endif  // PS_PS_SERVER_SLICE_WORK_H_
