#include "ps/wire/stored_rows.h"

#include <span>

#include "base/error.h"
#include "ps/wire/key_list.h"
#include "ps/wire/protocol.h"

namespace ps {

void encode_stored_rows(const RowBlock& rows, std::string& out) {
  encode_keys(rows.keys, out);
  put_array(out, std::span<const float>(rows.values));
  put_array(out, std::span<const uint32_t>(rows.stamps));
}

// The keys say how many values and stamps follow; these bytes must be there before memory is taken for
// them.
void decode_stored_rows(ByteReader& in, const TableLayout& layout, size_t most, RowBlock& rows) {
  rows.clear();
  decode_keys(in, rows.keys, most);
  const size_t num_values = rows.keys.size() * static_cast<size_t>(layout.values());
  const size_t num_stamps = layout.stamped ? rows.keys.size() : 0;
  if (!in.has(num_values * sizeof(float) + num_stamps * sizeof(uint32_t))) {
    fail(Code::kData, "stored rows: the body is cut short");
  }
  rows.values.resize(num_values);
  rows.stamps.resize(num_stamps);
  in.get_array(std::span<float>(rows.values));
  in.get_array(std::span<uint32_t>(rows.stamps));
}

// The counted slices are left out if there are none: the end of the body then says so.
std::string encode_returned_rows(const ReturnedRows& returned) {
  std::string out;
  put(out, returned.number);
  put(out, static_cast<uint32_t>(returned.slices.size()));
  for (const ReturnedRows::Slice& slice : returned.slices) {
    put(out, slice.parameter);
    encode_stored_rows(slice.rows, out);
  }
  if (returned.counted.empty()) return out;
  std::string counted;
  for (const RowSlice& slice : returned.counted)
    encode_counted_slice(slice.parameter, slice.keys, slice.counts, counted);
  return out + encode_row_slices(static_cast<uint32_t>(returned.counted.size()), counted);
}

// The limit on keys holds for all slices together: keys_left is what the slices to come may have.  Bytes
// behind the last slice are the keys of the next step with their counts.
ReturnedRows decode_returned_rows(std::string_view body, const ReturnedLayout& layout) {
  ByteReader in(body);
  ReturnedRows returned;
  returned.number = in.get<uint64_t>();
  const uint32_t num_slices = in.get<uint32_t>();
  if (!in.ok() || returned.number == 0 || num_slices > kMostRowSlices) {
    fail(Code::kData, "return rows: message ", returned.number, " of ", num_slices, " slices");
  }
  size_t keys_left = kMostMessageKeys;
  for (uint32_t n = 0; n < num_slices; ++n) {
    ReturnedRows::Slice& slice = returned.slices.emplace_back();
    slice.parameter = in.get<uint32_t>();
    if (!in.ok()) fail(Code::kData, "return rows: the body is cut short");
    decode_stored_rows(in, layout(slice.parameter), keys_left, slice.rows);
    keys_left -= slice.rows.size();
  }
  if (in.remaining() > 0) {
    const std::string_view counted = in.get_bytes(in.remaining());
    returned.counted = decode_slices_alone({counted.data(), counted.size()}, "return rows");
  }
  return returned;
}

}  // namespace ps
