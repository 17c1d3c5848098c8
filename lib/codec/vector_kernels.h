// The vector kernels (codec/kernels/vector_kernels.h) of each level of instruction sets.  Used by the codecs.
#ifndef PS_CODEC_VECTOR_KERNELS_H_
#define PS_CODEC_VECTOR_KERNELS_H_

#include "base/cpu.h"
#include "codec/kernels/vector_kernels.h"

namespace ps {

inline constexpr uint32_t kInfiniteSize = 0x7f800000;  // the size of infinity; those of NaNs are larger

// Returns the kernels of a level, which this processor must have.
const VectorKernels& vector_kernels(CpuLevel cpu);

}  // namespace ps

#endif  // PS_CODEC_VECTOR_KERNELS_H_
