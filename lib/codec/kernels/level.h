// The vector kernels of one level, declared for its table.  Each source of this folder holds some of them;
// codec/kernels/vector_kernels.h documents them.
#ifndef PS_CODEC_KERNELS_LEVEL_H_
#define PS_CODEC_KERNELS_LEVEL_H_

#include "codec/kernels/vector_kernels.h"

namespace ps::PS_CPU_NAMESPACE {

// arithmetic.cc
uint32_t add(const float* values, int64_t n, float* sums);
uint32_t largest_size(const float* values, int64_t n);
double sum_of_squares(const float* values, int64_t n);
void subtract(const float* decoded, int64_t n, float* sums);
float dot(const float* x, const float* y, int64_t n);
void add_scaled(const float* x, float scale, int64_t n, float* sums);

// select.cc
int64_t collect(const float* values, int64_t n, uint32_t first, uint32_t least, Collected out);
int64_t dgc_step(const DgcStep& step, int64_t n, uint32_t first, uint32_t least, Collected out,
                 uint32_t& largest);

// quantize.cc
void round_bytes(const float* values, int64_t n, float scale, const uint32_t (&random)[4], signed char* out);
void scale_bytes(const signed char* in, int64_t n, float scale, float* values);
SignBlock encode_signs(const float* values, int64_t n, uint32_t* words);
void decode_signs(const uint32_t* words, SignBlock block, int64_t n, float* values);
void encode_lattice8(const float* values, int64_t n, Lattice lattice, signed char* out);
void encode_lattice16(const float* values, int64_t n, Lattice lattice, int16_t* out);
void decode_lattice16(const int16_t* in, int64_t n, float scale, float* values);

}  // namespace ps::PS_CPU_NAMESPACE

#endif  // PS_CODEC_KERNELS_LEVEL_H_
