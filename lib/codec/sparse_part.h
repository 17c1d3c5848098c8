// Sparse parts: the selected values of a gradient, with their indices, and three ways to write them.  Used by
// the codecs threshold and top_k, by Deep Gradient Compression and by exchanges.
//
//   index32      index:u32[k] value:f32[k]
//   run16        run:u16[r] value:f32[k]       the default, as in the paper on DGC
//   varint       k:varint run:varint[k] value:f32[k]
//   varint_f16   k:varint run:varint[k] value:f16[k]
//
// A run is the number of values between a selected one and the one before it, or the beginning.  A run of 16
// bits that is 65535 stands for so many values and none selected after them: the next run goes on.  Runs end
// with the first one after which 2 r + 4 k is the number of bytes, k being the runs other than 65535.
#ifndef PS_CODEC_SPARSE_PART_H_
#define PS_CODEC_SPARSE_PART_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ps {

// Indices ascend, and are all different.
struct SparsePart {
  std::vector<uint32_t> index;
  std::vector<float> value;

  size_t size() const { return index.size(); }
  void clear() { index.clear(), value.clear(); }
  bool operator==(const SparsePart&) const = default;
};

inline constexpr uint64_t kMaxSparseSize = uint64_t{1} << 31;  // values of what parts are selected from

enum class SparseEncoding { kIndex32, kRun16, kVarint, kVarintF16 };
inline constexpr SparseEncoding kSparseEncodings[] = {SparseEncoding::kIndex32, SparseEncoding::kRun16,
                                                      SparseEncoding::kVarint, SparseEncoding::kVarintF16};

// "index32", "run16", "varint", "varint_f16", as job files have them; find is for names that have been
// checked.
std::vector<std::string> sparse_encoding_names();
SparseEncoding find_sparse_encoding(std::string_view name);

// Rounds values to what the encoding can hold.
void round_values(SparseEncoding encoding, std::span<float> values);

// Appends the part to `bytes`.
void encode_sparse(SparseEncoding encoding, const SparsePart& part, std::string& bytes);

// part <- what encode_sparse wrote of a part of [0, size).  Throws kCorrupt for bytes that it cannot have
// written, of which values that are not finite are some.
void decode_sparse(SparseEncoding encoding, std::string_view bytes, uint64_t size, SparsePart& part);

}  // namespace ps

#endif  // PS_CODEC_SPARSE_PART_H_
