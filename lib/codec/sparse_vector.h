// Sparse vectors: the selected values of a gradient with their indices, and six encodings of them.  Used by
// the codecs threshold and top_k, by Deep Gradient Compression, by SparseMoves and by exchanges.
//
//   index32      index:u32[k] value:f32[k]
//   run16        run:u16[r] value:f32[k]       the default, as in the paper on DGC
//   varint       k:varint run:varint[k] value:f32[k]
//   varint_f16   k:varint run:varint[k] value:f16[k]
//   varint_int8  k:varint run:varint[k] e:i8 value:i8[k]      values in units of 2^e; no e when k is 0
//   varint_int2  k:varint run:varint[k] e:i8 value:u2[k]      bit 0: negative; bit 1: 2^(e+1), else 2^e; four a byte, the
//                                                             first in its lowest bits, the rest of the last byte 0
//
// A run is the number of values between a selected value and the selected value before it, or the beginning.
// A 16-bit run of 65535 stands for 65535 values with no selected value behind them: the next run continues
// it.  The runs end with the first one after which 2 r + 4 k is the number of bytes, where k is the number of
// runs other than 65535.
#ifndef PS_CODEC_SPARSE_VECTOR_H_
#define PS_CODEC_SPARSE_VECTOR_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ps {

// Indices are strictly ascending.
struct SparseVector {
  std::vector<uint32_t> index;
  std::vector<float> value;

  size_t size() const { return index.size(); }
  void clear() { index.clear(), value.clear(); }
  bool operator==(const SparseVector&) const = default;
};

inline constexpr uint64_t kMaxSparseSize = uint64_t{1}
                                           << 31;  // the most values from which a vector is selected

enum class SparseEncoding { kIndex32, kRun16, kVarint, kVarintF16, kVarintInt8, kVarintInt2 };
inline constexpr SparseEncoding kSparseEncodings[] = {
    SparseEncoding::kIndex32,   SparseEncoding::kRun16,      SparseEncoding::kVarint,
    SparseEncoding::kVarintF16, SparseEncoding::kVarintInt8, SparseEncoding::kVarintInt2};

// The names of the encodings in job files: "index32", "run16", "varint", "varint_f16", "varint_int8",
// "varint_int2". find_sparse_encoding takes names that have been checked.
std::vector<std::string> sparse_encoding_names();
SparseEncoding find_sparse_encoding(std::string_view name);

// Returns true for encodings that hold rounded values.  The sums of such values need more bits.
bool rounds_values(SparseEncoding encoding);

// Rounds values to the precision of the encoding.  Any vector of rounded values is encoded without a further loss.
void round_values(SparseEncoding encoding, std::span<float> values);

// Appends the vector to `bytes`.
void encode_sparse(SparseEncoding encoding, const SparseVector& sparse, std::string& bytes);

// sparse <- the decoded bytes, which encode_sparse made from a vector with indices in [0, size).  Throws
// kCorrupt for bytes that encode_sparse cannot have made, for instance for values that are not finite.
void decode_sparse(SparseEncoding encoding, std::string_view bytes, uint64_t size, SparseVector& sparse);

}  // namespace ps

#endif  // PS_CODEC_SPARSE_VECTOR_H_
