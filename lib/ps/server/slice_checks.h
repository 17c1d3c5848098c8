// Checks of the row slices that peers name, against the tables that a shard has.  Used by what takes requests: PullService,
// PushIntake, shard snapshots and lent_rows.h.
#ifndef PS_PS_SERVER_SLICE_CHECKS_H_
#define PS_PS_SERVER_SLICE_CHECKS_H_

#include <cstdint>
#include <span>

#include "ps/wire/protocol.h"
#include "store/parameter_tables.h"

namespace ps {

// Throws kData unless the slices name rows that these tables have, of kMostRowBytes at most or a single one.
void check_slices(const ParameterTables& tables, std::span<const RowSlice> slices);

// The same for gradients, which come by keys where rows are reached by keys, and for weights alone.
void check_gradients(const ParameterTables& tables, std::span<const RowSlice> slices);

// The same for weights that are set, of which state is that of parameters alone that trainers move.
void check_weights(const ParameterTables& tables, std::span<const RowSlice> slices);

// Throws kData when a message holds more rows, of so many bytes, than one may.
void check_message_rows(uint64_t rows, uint64_t bytes);

// True for a range of rows of the state that the optimizer of a dense table keeps, which are behind its weights.
inline bool is_of_state(const RowSlice& slice, const Table& table) {
  return !slice.by_keys && slice.first >= table.size();
}

}  // namespace ps

#endif  // PS_PS_SERVER_SLICE_CHECKS_H_
