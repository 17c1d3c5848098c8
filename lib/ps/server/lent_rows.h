// Rows that a shard lends to a trainer, which trains them itself or keeps copies: the trainer gets the rows
// as the shard stores them, weights with optimizer state, and returns them in the same form
// (ps/wire/stored_rows.h).  Used by Shard.
#ifndef PS_PS_SERVER_LENT_ROWS_H_
#define PS_PS_SERVER_LENT_ROWS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "math/device.h"
#include "ps/status/shard_status.h"
#include "ps/wire/protocol.h"
#include "ps/wire/stored_rows.h"
#include "store/parameter_tables.h"

namespace ps {

// Returns a slice of the rows of a parameter with these keys.
inline RowSlice rows_of_keys(uint32_t parameter, std::vector<uint64_t> keys) {
  RowSlice slice;
  slice.parameter = parameter;
  slice.keys = std::move(keys);
  return slice;
}

// Returns the rows of sparse parameters as they are stored, for those keys that have a row.  Creates no rows,
// and applies no idle steps.  Throws kData as check_slices does, and for more rows than one answer holds.
std::string stored_rows(const ParameterTables& tables, std::span<const RowSlice> slices);

// Decodes rows that a trainer returns in the form in which stored_rows gave them.  Throws kData unless all of
// them are rows of this shard, of sparse parameters, with finite values and with stamps of steps up to the
// next, and all counted keys are of this shard, of parameters with a row policy.  Counts the messages with values that are
// not finite.
ReturnedRows decode_returned(const ParameterTables& tables, std::string_view body, ShardCounters& counters);

// Throws kData unless trainer `rank` of so many owns all these rows and counted keys.
void check_owner(const ReturnedRows& returned, int rank, size_t trainers);

// put_rows stores the rows of one slice in its table. apply_returned stores all rows, and the counts of keys for
// the next step.
void put_rows(const ParameterTables& tables, const ReturnedRows::Slice& slice, Device& device);
void apply_returned(const ParameterTables& tables, const ReturnedRows& returned, Device& device);

// Returns the encoded keys without a row, of each of these slices.
std::string absent_keys(const ParameterTables& tables, std::span<const RowSlice> counted, Device& device);

}  // namespace ps

#endif  // PS_PS_SERVER_LENT_ROWS_H_
