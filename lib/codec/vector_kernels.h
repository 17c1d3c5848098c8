// The vector kernels (codec/kernels/vector_kernels.h) for the level of instruction sets in use.  Used by the
// codecs.
#ifndef PS_CODEC_VECTOR_KERNELS_H_
#define PS_CODEC_VECTOR_KERNELS_H_

#include "codec/kernels/vector_kernels.h"

namespace ps {

inline constexpr uint32_t kInfiniteSize = 0x7f800000;  // sizes of NaNs are larger

// Returns the kernels of cpu_level().
const VectorKernels& vector_kernels();

}  // namespace ps

#endif  // PS_CODEC_VECTOR_KERNELS_H_
