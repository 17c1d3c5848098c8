// Sums of gradients whose values are integers times a scale that a chunk shares.  The values are added as
// integers, so that every order of addition gives the same bits.  Used by the codec shared_scale_int.
#ifndef PS_CODEC_SHARED_SCALE_H_
#define PS_CODEC_SHARED_SCALE_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace ps {

// The options of a codec shared_scale_int.
struct SharedScaleFormat {
  int64_t chunk = 4096;  // number of values that share a scale
  int bits = 8;          // bits of an integer: 8 or 16
};

// sums [n] <- the sum of parts that a codec of this format made of n values each.  The result depends on the
// set of the parts and not on their order.  Throws kCorrupt.
//
// Let E be the largest exponent of all parts in a chunk.  A value q of a part with exponent e is added as q
// 2^(e - E + 32).  This is an integer if e >= E - 32; otherwise it is rounded to one.  64 bits hold the sum
// of 2^15 parts.
void sum_shared_scale(const SharedScaleFormat& format, std::span<const std::string_view> parts,
                      std::span<float> sums);

}  // namespace ps

#endif  // PS_CODEC_SHARED_SCALE_H_
