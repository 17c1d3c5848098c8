// The inner loops of codecs and of Deep Gradient Compression, compiled once for each level of instruction
// sets, as a table of functions.  Used by the files of codec/ through codec/vector_kernels.h.
//
// A size is the 31 bits of a float without its sign: sizes compare as the floats' absolute values do,
// infinities and NaN above all numbers.  Sums run in 16 lanes, value i in lane i mod 16, which are then added
// in order: every level gives the same bits.
#ifndef PS_CODEC_KERNELS_VECTOR_KERNELS_H_
#define PS_CODEC_KERNELS_VECTOR_KERNELS_H_

#include <cstdint>

namespace ps {

inline constexpr int64_t kSignGroup = 512;  // values whose signs share 16 words of 32 bits

// Values of one bit: value i of a group is bit i / 16 of word i mod 16, 1 when it is negative.
struct SignBlock {
  float positive, negative;  // the decoded values of a non-negative and of a negative value
};

// A lattice of floats: whole numbers in [-bound, bound] times a power of two.
struct Lattice {
  float per_scale;  // 2^-e
  float bound;
};

// One step of DGC for `n` values from `first` on.  codec/dgc.h gives the formula.
struct DgcStep {
  const float* gradient;
  const float* weights;  // null: no weight decay
  float *velocity, *residual;
  float scale, rate, momentum, l2;
  bool nesterov;
};

// The values that a selection collects, with room for all values of the call.
struct Collected {
  uint32_t* index;
  float* value;
};

struct VectorKernels {
  // sums [n] += values [n]; returns the largest size of a sum.
  uint32_t (*add)(const float* values, int64_t n, float* sums);
  uint32_t (*largest_size)(const float* values, int64_t n);
  double (*sum_of_squares)(const float* values, int64_t n);

  // Appends the values with a size of at least `least` > 0 and their indices, counted from `first`, to `out`;
  // returns their number.
  int64_t (*collect)(const float* values, int64_t n, uint32_t first, uint32_t least, Collected out);

  // Applies the step of DGC, and collects from the new residuals likewise.  Raises `largest` to the largest
  // size of a residual.
  int64_t (*dgc_step)(const DgcStep& step, int64_t n, uint32_t first, uint32_t least, Collected out,
                      uint32_t& largest);

  // Stochastic rounding to bytes: value i becomes floor(value / scale + u), u in [0, 1) drawn from the 128
  // bits of `random` and i, and is clamped to +-127. scale > 0, and values are at most 127 scale, except for
  // rounding.
  void (*round_bytes)(const float* values, int64_t n, float scale, const uint32_t (&random)[4],
                      signed char* out);
  void (*scale_bytes)(const signed char* in, int64_t n, float scale, float* values);

  // words [16 ceil(n / 512)] <- signs.  Returns the means of the non-negative and of the negative values,
  // which must be finite.
  SignBlock (*encode_signs)(const float* values, int64_t n, uint32_t* words);
  void (*decode_signs)(const uint32_t* words, SignBlock block, int64_t n, float* values);

  // Rounds to the nearest lattice point, ties to even, and clamps to the bound.
  void (*encode_lattice8)(const float* values, int64_t n, Lattice lattice, signed char* out);
  void (*encode_lattice16)(const float* values, int64_t n, Lattice lattice, int16_t* out);
  void (*decode_lattice16)(const int16_t* in, int64_t n, float scale, float* values);

  // sums [n] -= decoded [n]; a difference that is not finite becomes zero.
  void (*subtract)(const float* decoded, int64_t n, float* sums);

  float (*dot)(const float* x, const float* y, int64_t n);
  void (*add_scaled)(const float* x, float scale, int64_t n, float* sums);  // sums += scale x
};

}  // namespace ps

#endif  // PS_CODEC_KERNELS_VECTOR_KERNELS_H_
