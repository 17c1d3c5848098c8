#include "ps/server/snapshot_fields.h"

#include <algorithm>

#include "base/error.h"

namespace ps {

namespace {

// Returns the encoded row slices of a request, in the form in which a trainer would send them.
std::string encode_slices(std::span<const RowSlice> slices) {
  std::string out;
  for (const RowSlice& slice : slices) {
    if (!slice.by_keys) {
      encode_range_slice(slice.parameter, slice.first, slice.count, slice.exact, out);
    } else if (slice.counts.empty()) {
      encode_key_slice(slice.parameter, slice.keys, out);
    } else {
      encode_counted_slice(slice.parameter, slice.keys, slice.counts, out);
    }
  }
  return out;
}

uint32_t count_of(std::span<const RowSlice> slices) {
  return static_cast<uint32_t>(slices.size());
}

}  // namespace

std::string encode_again(const PullRequest& request) {
  return encode_pull(request, count_of(request.row_slices), encode_slices(request.row_slices));
}

// The row slices are written out even if the push named a pull: the number of a pull means nothing to the
// process that loads the snapshot.
std::string encode_again(const PushRequest& request, Widths widths) {
  PS_CHECK(request.type == RowType::kF32 && !request.coded);
  PushHeader header = request;
  header.pulled = 0;
  std::string out = encode_push(header, count_of(request.row_slices), encode_slices(request.row_slices));
  for (const RowSlice& slice : request.row_slices) {
    const size_t floats = slice.rows() * static_cast<size_t>(widths[slice.parameter]);
    put_array(out, std::span(request.floats(slice), floats));
    out.resize(padded(out.size()), '\0');
  }
  return out;
}

void put_text(std::string& out, std::string_view text) {
  put(out, static_cast<uint64_t>(text.size()));
  out += text;
}

std::string_view read_text(ByteReader& in) {
  const uint64_t size = in.get<uint64_t>();
  if (!in.has(size)) fail(Code::kCorrupt, "the snapshot of a shard is cut short");
  return in.get_bytes(size);
}

Buffer to_buffer(BufferPool& pool, std::string_view bytes) {
  Buffer buffer = pool.take(bytes.size());
  std::copy(bytes.begin(), bytes.end(), buffer.data());
  return buffer;
}

}  // namespace ps
