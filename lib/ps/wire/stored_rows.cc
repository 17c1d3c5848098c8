#include "ps/wire/stored_rows.h"

#include <span>

#include "base/error.h"
#include "ps/wire/key_list.h"

namespace ps {

void encode_stored_rows(const RowBlock& rows, std::string& out) {
  encode_keys(rows.keys, out);
  put_array(out, std::span<const float>(rows.values));
  put_array(out, std::span<const uint32_t>(rows.stamps));
}

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

}  // namespace ps
