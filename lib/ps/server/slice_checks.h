// Checks of the row slices that peers name, against the tables that a shard has.  Used where requests come
// in: by PullService, PushIntake, shard snapshots and lent_rows.h.
#ifndef PS_PS_SERVER_SLICE_CHECKS_H_
#define PS_PS_SERVER_SLICE_CHECKS_H_

#include <cstdint>
#include <span>

#include "ps/wire/protocol.h"
#include "store/parameter_tables.h"

namespace ps {

// The largest number of rows that one message may set by their keys.  They are set at once, and new ones take some 0.3 µs
// each (ps-bench pull-push --filter hold/load).  Trainers send fewer.
inline constexpr uint64_t kMostSetRows = 1 << 15;

// Throws kData if a message sets more rows by their keys.
void check_set_rows(uint64_t rows);

// Throws kData unless the slices name rows that these tables have, either of at most kMostRowBytes or a
// single one.
void check_slices(const ParameterTables& tables, std::span<const RowSlice> slices);

// Checks gradients likewise.  They come by keys exactly where rows are reached by keys, and are of weights
// only.
void check_gradients(const ParameterTables& tables, std::span<const RowSlice> slices);

// Checks weights that are set likewise, of at most kMostSetRows rows by keys.  They may be of state only for
// parameters that trainers move.
void check_weights(const ParameterTables& tables, std::span<const RowSlice> slices);

// Throws kData if a message has too many rows, which take so many bytes.
void check_message_rows(uint64_t rows, uint64_t bytes);

// Returns true for a range of rows of the state that the optimizer of a dense table keeps; their numbers
// follow those of its weights.
inline bool is_of_state(const RowSlice& slice, const Table& table) {
  return !slice.by_keys && slice.first >= table.size();
}

}  // namespace ps

#endif  // PS_PS_SERVER_SLICE_CHECKS_H_
