#include "codec/sparse_vector.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/bytes.h"
#include "base/error.h"
#include "base/varint.h"
#include "codec/row_codec.h"

namespace ps {

namespace {

// Each encoding has a function that encodes the indices and one that encodes the values; the file has the
// indices first, then the values, then the functions of the header, which choose by encoding.  Decoders check
// every length and index before they use it, since the bytes come from a peer.
constexpr std::array<std::string_view, 6> kEncodingNames = {"index32",    "run16",       "varint",
                                                            "varint_f16", "varint_int8", "varint_int2"};
constexpr uint32_t kLongRun = 65535;

[[noreturn]] void refuse(std::string_view reason) {
  fail(Code::kCorrupt, "encoded sparse gradient: ", reason);
}

// Calls body(run) for each index.
// run of an index := number of unselected values between the index before it and the index itself
template <class Body>
void for_runs(const SparseVector& sparse, Body&& body) {
  uint32_t next = 0;
  for (uint32_t index : sparse.index) {
    body(index - next);
    next = index + 1;
  }
}

// Appends the index that follows the last one after `run` unselected values.
void add_index(uint64_t run, uint64_t& next, uint64_t size, SparseVector& sparse) {
  if (run >= size || next + run >= size) refuse("an index beyond the end");
  sparse.index.push_back(static_cast<uint32_t>(next + run));
  next += run + 1;
}

// A run of 65535 or more is written as words of 65535 and the rest.  A decoder goes on adding after each such
// word.
void encode_run16(const SparseVector& sparse, std::string& bytes) {
  for_runs(sparse, [&](uint32_t run) {
    for (; run >= kLongRun; run -= kLongRun) put(bytes, static_cast<uint16_t>(kLongRun));
    put(bytes, static_cast<uint16_t>(run));
  });
}

// bytes := varint(count) varint(run)[count]
void encode_varints(const SparseVector& sparse, std::string& bytes) {
  append_varints(bytes, 1, [&] { return uint64_t{sparse.size()}; });
  size_t i = 0;
  uint32_t next = 0;
  append_varints(bytes, sparse.size(), [&] {
    const uint32_t run = sparse.index[i] - next;
    next = sparse.index[i++] + 1;
    return uint64_t{run};
  });
}

// The number of entries follows from the length, since each takes 8 bytes.  Indices must ascend, so that no
// value is added twice.
void decode_index32(ByteReader& in, uint64_t size, SparseVector& sparse) {
  if (in.remaining() % (sizeof(uint32_t) + sizeof(float)) != 0) refuse("a length that is no multiple of 8");
  sparse.index.resize(in.remaining() / (sizeof(uint32_t) + sizeof(float)));
  in.get_array<uint32_t>(sparse.index);
  for (size_t i = 0; i < sparse.size(); ++i) {
    if (sparse.index[i] >= size) refuse("an index beyond the end");
    if (i > 0 && sparse.index[i] <= sparse.index[i - 1]) refuse("indices that do not ascend");
  }
}

// Neither the number of values nor that of words is stored.  The runs end as soon as the remaining bytes are the
// values of the indices so far: each index promises 4 bytes of value.
void decode_run16(ByteReader& in, uint64_t size, SparseVector& sparse) {
  uint64_t next = 0, skipped = 0;
  while (in.remaining() > sparse.size() * sizeof(float)) {
    const uint32_t run = in.get<uint16_t>();
    skipped += run;
    if (!in.ok() || skipped >= size) refuse("runs beyond the end");
    if (run == kLongRun) continue;
    add_index(skipped, next, size, sparse);
    skipped = 0;
  }
  if (in.remaining() != sparse.size() * sizeof(float) || skipped > 0)
    refuse("runs that do not end where values begin");
}

constexpr uint64_t kPairsInByte = 4;  // values of two bits

// Returns the bytes of all values and of the exponent before them.
uint64_t value_bytes(SparseEncoding encoding, uint64_t count) {
  const uint64_t head = count > 0 ? sizeof(int8_t) : 0;
  if (encoding == SparseEncoding::kVarintInt2) return head + (count + kPairsInByte - 1) / kPairsInByte;
  if (encoding == SparseEncoding::kVarintInt8) return head + count;
  return count * (encoding == SparseEncoding::kVarintF16 ? sizeof(uint16_t) : sizeof(float));
}

// The count is bounded by the remaining bytes, of which each run takes one at least, before anything is
// allocated.  Behind the runs exactly the bytes of the values may follow.
void decode_varints(ByteReader& in, uint64_t size, SparseVector& sparse, SparseEncoding encoding) {
  std::string_view bytes = in.get_bytes(in.remaining());
  uint64_t count = 0, next = 0, run = 0;
  if (!get_varint(bytes, count) || count > bytes.size() || count > size) refuse("a wrong count");
  for (uint64_t i = 0; i < count; ++i) {
    if (!get_varint(bytes, run)) refuse("a run that is cut short");
    add_index(run, next, size, sparse);
  }
  in = ByteReader(bytes);
  if (bytes.size() != value_bytes(encoding, count)) refuse("a wrong length");
}

// A sparse vector is small beside its gradient, so that the loops of the baseline are fast enough.
const RowCodec& half_codec() {
  return row_codec(RowType::kF16, CpuLevel::kBaseline);
}

void decode_f16(ByteReader& in, SparseVector& sparse) {
  const std::string_view halves = in.get_bytes(sparse.size() * sizeof(uint16_t));
  half_codec().decode(halves.data(), 1, static_cast<int64_t>(sparse.size()), sparse.value.data());
}

// Returns the least exponent e, from -126 on, for which all values are between -127 and 127 units of 2^e.  For
// values that have been rounded to such units before, e is not larger than then, so that they are whole numbers
// of the new units too and are not rounded again.
int unit_exponent(std::span<const float> values) {
  constexpr int kLeastScaleExponent = -126;
  float largest = 0;
  for (float value : values) largest = std::max(largest, std::fabs(value));
  if (!(largest > 0) || !std::isfinite(largest)) return kLeastScaleExponent;
  int exponent = 0;
  const float fraction = std::frexp(largest, &exponent);  // in [1/2, 1)
  return std::max(kLeastScaleExponent, exponent - (fraction <= 127.0f / 128 ? 7 : 6));
}

// Returns the nearest number of units, ties to even.  With an exponent of 122 or more it is at most 63, since 64
// units of 2^122 would be infinite.
int8_t to_units(float value, int exponent) {
  const float most = exponent >= 122 ? 63.0f : 127.0f;
  return static_cast<int8_t>(std::clamp(std::nearbyint(std::ldexp(value, -exponent)), -most, most));
}

// bytes := exponent:i8 value:i8[count]        a value is value x 2^exponent; nothing at all for no values
void encode_int8(const SparseVector& sparse, std::string& bytes) {
  if (sparse.size() == 0) return;
  const int exponent = unit_exponent(sparse.value);
  put(bytes, static_cast<int8_t>(exponent));
  for (float value : sparse.value) put(bytes, to_units(value, exponent));
}

void decode_int8(ByteReader& in, SparseVector& sparse) {
  if (sparse.size() == 0) return;
  const int exponent = in.get<int8_t>();
  for (float& value : sparse.value) value = std::ldexp(static_cast<float>(in.get<int8_t>()), exponent);
}

// Returns the exponent e for which 2^e <= mean size of the values < 2^(e+1).  For values whose sizes are 2^e and
// 2^(e+1) it is e, or e + 1 if all have the larger size: rounding them again changes nothing.
int level_exponent(std::span<const float> values) {
  constexpr int kLeast = -126, kMost = 126;
  double sum = 0;
  for (float value : values) sum += std::fabs(value);
  const double mean = values.empty() ? 0 : sum / static_cast<double>(values.size());
  if (!(mean > 0)) return kLeast;
  return std::isfinite(mean) ? std::clamp(std::ilogb(mean), kLeast, kMost) : kMost;
}

// Returns the nearer of the two sizes, 2^e and 2^(e+1), with the sign of the value.
uint8_t to_level(float value, int exponent) {
  const bool larger = std::fabs(value) >= std::ldexp(1.5f, exponent);
  return static_cast<uint8_t>((std::signbit(value) ? 1 : 0) | (larger ? 2 : 0));
}

float from_level(uint8_t level, int exponent) {
  return std::ldexp((level & 1) != 0 ? -1.0f : 1.0f, exponent + (level >> 1));
}

// bytes := exponent:i8 u8[(count + 3) / 4]
// bits 2n and 2n + 1 of a byte belong to its n-th value: 1 for a negative value, 2 for the larger size
void encode_int2(const SparseVector& sparse, std::string& bytes) {
  if (sparse.size() == 0) return;
  const int exponent = level_exponent(sparse.value);
  put(bytes, static_cast<int8_t>(exponent));
  for (size_t i = 0; i < sparse.size(); i += kPairsInByte) {
    unsigned packed = 0;
    for (size_t n = 0; n < kPairsInByte && i + n < sparse.size(); ++n)
      packed |= static_cast<unsigned>(to_level(sparse.value[i + n], exponent)) << 2 * n;
    put(bytes, static_cast<uint8_t>(packed));
  }
}

void decode_int2(ByteReader& in, SparseVector& sparse) {
  if (sparse.size() == 0) return;
  const int exponent = in.get<int8_t>();
  unsigned packed = 0;
  for (size_t i = 0; i < sparse.size(); ++i, packed >>= 2) {
    if (i % kPairsInByte == 0) packed = in.get<uint8_t>();
    sparse.value[i] = from_level(packed & 3, exponent);
  }
  if (packed != 0) refuse("values beyond the count");
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

bool rounds_values(SparseEncoding encoding) {
  return encoding == SparseEncoding::kVarintF16 || encoding == SparseEncoding::kVarintInt8 ||
         encoding == SparseEncoding::kVarintInt2;
}

// Rounds as encode_sparse does, with the same exponent of all values, so that the sender knows the values
// that the receiver gets, and keeps the difference.
void round_values(SparseEncoding encoding, std::span<float> values) {
  if (encoding == SparseEncoding::kVarintInt8) {
    const int exponent = unit_exponent(values);
    for (float& value : values) value = std::ldexp(static_cast<float>(to_units(value, exponent)), exponent);
  }
  if (encoding == SparseEncoding::kVarintInt2) {
    const int exponent = level_exponent(values);
    for (float& value : values) value = from_level(to_level(value, exponent), exponent);
  }
  if (encoding != SparseEncoding::kVarintF16) return;
  std::string halves(values.size() * sizeof(uint16_t), '\0');
  half_codec().encode(values.data(), 1, static_cast<int64_t>(values.size()), halves.data());
  half_codec().decode(halves.data(), 1, static_cast<int64_t>(values.size()), values.data());
}

// Appends the indices and then the values, in the form that the encoding has for each.
void encode_sparse(SparseEncoding encoding, const SparseVector& sparse, std::string& bytes) {
  if (encoding == SparseEncoding::kIndex32) put_array<uint32_t>(bytes, sparse.index);
  if (encoding == SparseEncoding::kRun16) encode_run16(sparse, bytes);
  if (encoding == SparseEncoding::kVarint || rounds_values(encoding)) encode_varints(sparse, bytes);
  if (encoding == SparseEncoding::kVarintInt8) return encode_int8(sparse, bytes);
  if (encoding == SparseEncoding::kVarintInt2) return encode_int2(sparse, bytes);
  if (encoding != SparseEncoding::kVarintF16) return put_array<float>(bytes, sparse.value);
  const size_t begin = bytes.size();
  bytes.resize(begin + sparse.size() * sizeof(uint16_t));
  half_codec().encode(sparse.value.data(), 1, static_cast<int64_t>(sparse.size()), bytes.data() + begin);
}

// Indices come first and tell the number of values; the values fill the rest.  Values must be finite, since
// a single infinity would spoil the weights of all trainers.
void decode_sparse(SparseEncoding encoding, std::string_view bytes, uint64_t size, SparseVector& sparse) {
  PS_CHECK(size <= kMaxSparseSize);
  sparse.clear();
  ByteReader in(bytes);
  if (encoding == SparseEncoding::kIndex32) decode_index32(in, size, sparse);
  if (encoding == SparseEncoding::kRun16) decode_run16(in, size, sparse);
  if (encoding == SparseEncoding::kVarint || rounds_values(encoding))
    decode_varints(in, size, sparse, encoding);
  sparse.value.resize(sparse.size());
  if (encoding == SparseEncoding::kVarintF16) {
    decode_f16(in, sparse);
  } else if (encoding == SparseEncoding::kVarintInt8) {
    decode_int8(in, sparse);
  } else if (encoding == SparseEncoding::kVarintInt2) {
    decode_int2(in, sparse);
  } else {
    in.get_array<float>(sparse.value);
  }
  for (float value : sparse.value) {
    if (!std::isfinite(value)) refuse("a value that is no number");
  }
}

}  // namespace ps
