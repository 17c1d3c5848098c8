// Row codecs: encode the floats of rows in fewer bytes for the wire.  Used by shards and by the remote store.
//
//   f32    values as they are
//   f16    IEEE 754 binary16: 11 bits of precision, up to 65504
//   bf16   the upper half of a float: 8 bits of precision, a float's range
//   int8   scale:f32 value:i8[cols]; a value is scale x value, and scale the row's largest size / 127
//   int8_blocks  an int8 row for each 256 values of a row, the last of which may have fewer
//   one_bit      positive:f32 negative:f32 bits:u8[ceil(cols / 8)]; the means of the row's values from 0 on and of those
//                below, and for value j bit j mod 8 of byte j / 8, which is 1 when it is below 0 (Seide et al.,
//                Interspeech 2014): only for gradients with error feedback
//
// Values are rounded to the nearest, ties to even.  Values that are too large become the largest of the type.
// Infinities and NaN stay unchanged, but a row or block of int8 and a row of one_bit with one of them decode as NaN as a
// whole.  Every level of instruction sets gives the same bits.
#ifndef PS_CODEC_ROW_CODEC_H_
#define PS_CODEC_ROW_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu.h"
#include "codec/kernels/kernels.h"

namespace ps {

// On the wire: never renumber.  6 is taken there by pushes in the bytes of a codec (ps/wire/protocol.h).
enum class RowType : uint8_t { kF32 = 0, kF16 = 1, kBf16 = 2, kInt8 = 3, kInt8Blocks = 4, kOneBit = 5 };
inline constexpr RowType kRowTypes[] = {RowType::kF32,  RowType::kF16,        RowType::kBf16,
                                        RowType::kInt8, RowType::kInt8Blocks, RowType::kOneBit};

// "f32", "f16" and so on, as job files have them.
std::string_view row_type_name(RowType type);
std::vector<std::string> row_type_names();

// Returns true for types that weights may have too. weight_type_names returns the names of these types.
inline bool holds_weights(RowType type) {
  return type != RowType::kOneBit;
}
std::vector<std::string> weight_type_names();

// Return the type with a name, and with a number on the wire; nullopt if there is none.
std::optional<RowType> find_row_type(std::string_view name);
std::optional<RowType> find_row_type(uint8_t number);

// Returns the bytes of an encoded row of `cols` floats.
uint64_t encoded_row_bytes(RowType type, int64_t cols);

// Returns the loops for one type at a level, which this processor must have.
const RowCodec& row_codec(RowType type, CpuLevel cpu);

}  // namespace ps

#endif  // PS_CODEC_ROW_CODEC_H_
