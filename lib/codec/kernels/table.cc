// The table of one level.
#include "codec/kernels/level.h"

namespace ps::PS_CPU_NAMESPACE {

extern const VectorKernels kVectorKernels = {.add = add,
                                             .largest_size = largest_size,
                                             .sum_of_squares = sum_of_squares,
                                             .collect = collect,
                                             .dgc_step = dgc_step,
                                             .round_bytes = round_bytes,
                                             .scale_bytes = scale_bytes,
                                             .encode_signs = encode_signs,
                                             .decode_signs = decode_signs,
                                             .encode_lattice8 = encode_lattice8,
                                             .encode_lattice16 = encode_lattice16,
                                             .decode_lattice16 = decode_lattice16,
                                             .subtract = subtract,
                                             .dot = dot,
                                             .add_scaled = add_scaled};

}  // namespace ps::PS_CPU_NAMESPACE
