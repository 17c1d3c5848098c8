// Rows that a trainer trains itself, or keeps copies of: it gets them from a shard as they are stored, and returns them so
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
#include "ps/wire/protocol.h"
#include "ps/wire/stored_rows.h"
#include "store/parameter_tables.h"

namespace ps {

// The rows of a parameter by their keys.
inline RowSlice rows_of_keys(uint32_t parameter, std::vector<uint64_t> keys) {
  RowSlice slice;
  slice.parameter = parameter;
  slice.keys = std::move(keys);
  return slice;
}

// The rows of sparse parameters as they are stored, of those keys that have one.  Nothing is created or brought up to date.
// Throws kData as check_slices does, also where rows have a policy, and for more than one answer holds.
std::string stored_rows(const ParameterTables& tables, std::span<const RowSlice> slices);

// Rows that a trainer returns, which has them as stored_rows gave them.  Throws kData unless they are all this shard's, of
// sparse parameters without a policy, with values that are finite and stamps of steps up to the next.
ReturnedRows decode_returned(const ParameterTables& tables, std::string_view body);

void put_rows(const ParameterTables& tables, const ReturnedRows::Slice& slice, Device& device);

}  // namespace ps

#endif  // PS_PS_SERVER_LENT_ROWS_H_
