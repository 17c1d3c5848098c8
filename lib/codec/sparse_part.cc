#include "codec/sparse_part.h"

#include <array>
#include <cmath>
#include <cstring>

#include "base/bytes.h"
#include "base/error.h"
#include "base/varint.h"
#include "codec/row_codec.h"

namespace ps {

namespace {

constexpr std::array<std::string_view, 4> kEncodingNames = {"index32", "run16", "varint", "varint_f16"};
constexpr uint32_t kLongRun = 65535;

[[noreturn]] void refuse(std::string_view reason) {
  fail(Code::kCorrupt, "encoded sparse gradient: ", reason);
}

// Calls body(run) for each index.
template <class Body>
void for_runs(const SparsePart& part, Body&& body) {
  uint32_t next = 0;
  for (uint32_t index : part.index) {
    body(index - next);
    next = index + 1;
  }
}

// Appends the index that follows the last one after `run` unselected values.
void add_index(uint64_t run, uint64_t& next, uint64_t size, SparsePart& part) {
  if (run >= size || next + run >= size) refuse("an index beyond the end");
  part.index.push_back(static_cast<uint32_t>(next + run));
  next += run + 1;
}

void encode_run16(const SparsePart& part, std::string& bytes) {
  for_runs(part, [&](uint32_t run) {
    for (; run >= kLongRun; run -= kLongRun) put(bytes, static_cast<uint16_t>(kLongRun));
    put(bytes, static_cast<uint16_t>(run));
  });
}

void encode_varints(const SparsePart& part, std::string& bytes) {
  append_varints(bytes, 1, [&] { return uint64_t{part.size()}; });
  size_t i = 0;
  uint32_t next = 0;
  append_varints(bytes, part.size(), [&] {
    const uint32_t run = part.index[i] - next;
    next = part.index[i++] + 1;
    return uint64_t{run};
  });
}

void decode_index32(ByteReader& in, uint64_t size, SparsePart& part) {
  if (in.remaining() % (sizeof(uint32_t) + sizeof(float)) != 0) refuse("a length that is no multiple of 8");
  part.index.resize(in.remaining() / (sizeof(uint32_t) + sizeof(float)));
  in.get_array<uint32_t>(part.index);
  for (size_t i = 0; i < part.size(); ++i) {
    if (part.index[i] >= size) refuse("an index beyond the end");
    if (i > 0 && part.index[i] <= part.index[i - 1]) refuse("indices that do not ascend");
  }
}

void decode_run16(ByteReader& in, uint64_t size, SparsePart& part) {
  uint64_t next = 0, skipped = 0;
  while (in.remaining() > part.size() * sizeof(float)) {
    const uint32_t run = in.get<uint16_t>();
    skipped += run;
    if (!in.ok() || skipped >= size) refuse("runs beyond the end");
    if (run == kLongRun) continue;
    add_index(skipped, next, size, part);
    skipped = 0;
  }
  if (in.remaining() != part.size() * sizeof(float) || skipped > 0)
    refuse("runs that do not end where values begin");
}

void decode_varints(ByteReader& in, uint64_t size, SparsePart& part, size_t value_bytes) {
  std::string_view bytes = in.get_bytes(in.remaining());
  uint64_t count = 0, next = 0, run = 0;
  if (!get_varint(bytes, count) || count > bytes.size() / (1 + value_bytes) || count > size)
    refuse("a wrong count");
  for (uint64_t i = 0; i < count; ++i) {
    if (!get_varint(bytes, run)) refuse("a run that is cut short");
    add_index(run, next, size, part);
  }
  in = ByteReader(bytes);
  if (bytes.size() != count * value_bytes) refuse("a wrong length");
}

void decode_f16(ByteReader& in, SparsePart& part) {
  const std::string_view halves = in.get_bytes(part.size() * sizeof(uint16_t));
  row_codec(RowType::kF16).decode(halves.data(), 1, static_cast<int64_t>(part.size()), part.value.data());
}

}  // namespace

std::vector<std::string> sparse_encoding_names() {
  return {kEncodingNames.begin(), kEncodingNames.end()};
}

SparseEncoding find_sparse_encoding(std::string_view name) {
  for (SparseEncoding encoding : kSparseEncodings) {
    if (kEncodingNames[static_cast<size_t>(encoding)] == name) return encoding;
  }
  fail(Code::kInternal, "no encoding ", quote(name));
}

void round_values(SparseEncoding encoding, std::span<float> values) {
  if (encoding != SparseEncoding::kVarintF16) return;
  std::string halves(values.size() * sizeof(uint16_t), '\0');
  row_codec(RowType::kF16).encode(values.data(), 1, static_cast<int64_t>(values.size()), halves.data());
  row_codec(RowType::kF16).decode(halves.data(), 1, static_cast<int64_t>(values.size()), values.data());
}

void encode_sparse(SparseEncoding encoding, const SparsePart& part, std::string& bytes) {
  if (encoding == SparseEncoding::kIndex32) put_array<uint32_t>(bytes, part.index);
  if (encoding == SparseEncoding::kRun16) encode_run16(part, bytes);
  if (encoding == SparseEncoding::kVarint || encoding == SparseEncoding::kVarintF16)
    encode_varints(part, bytes);
  if (encoding != SparseEncoding::kVarintF16) return put_array<float>(bytes, part.value);
  const size_t begin = bytes.size();
  bytes.resize(begin + part.size() * sizeof(uint16_t));
  row_codec(RowType::kF16)
      .encode(part.value.data(), 1, static_cast<int64_t>(part.size()), bytes.data() + begin);
}

void decode_sparse(SparseEncoding encoding, std::string_view bytes, uint64_t size, SparsePart& part) {
  PS_CHECK(size <= kMaxSparseSize);
  part.clear();
  ByteReader in(bytes);
  const bool f16 = encoding == SparseEncoding::kVarintF16;
  if (encoding == SparseEncoding::kIndex32) decode_index32(in, size, part);
  if (encoding == SparseEncoding::kRun16) decode_run16(in, size, part);
  if (encoding == SparseEncoding::kVarint || f16)
    decode_varints(in, size, part, f16 ? sizeof(uint16_t) : sizeof(float));
  part.value.resize(part.size());
  f16 ? decode_f16(in, part) : in.get_array<float>(part.value);
  for (float value : part.value) {
    if (!std::isfinite(value)) refuse("a value that is no number");
  }
}

}  // namespace ps
