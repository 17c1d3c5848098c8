// Sums of gradients whose values are whole numbers times a scale that a chunk shares.  They are added as
// integers, so that every order of adding gives the same bits.  Used by exchanges that add encoded gradients
// without decoding them.
#ifndef PS_CODEC_SHARED_SCALE_H_
#define PS_CODEC_SHARED_SCALE_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace ps {

// How the codec shared_scale_int was made.
struct SharedScaleFormat {
  int64_t chunk = 4096;  // values that share a scale
  int bits = 8;          // of a whole number: 8 or 16
};

// sums [n] <- the sum of parts that a codec of this format made of n values each.  The result depends on the
// set of the parts and not on their order.  Throws kCorrupt.
//
// With E the largest exponent that a part has in a chunk, a part is added as q 2^(e - E + 32), which is a
// whole number while its scale is at least 2^-32 of the largest one; a smaller one is rounded to it first.
// 64 bits hold the sum of 2^15 parts.
void sum_shared_scale(const SharedScaleFormat& format, std::span<const std::string_view> parts,
                      std::span<float> sums);

}  // namespace ps

#endif  // PS_CODEC_SHARED_SCALE_H_
