// The format of numpy's arrays, .npy of version 1.0 (numpy.lib.format): a header, and the numbers.  Used by the
// formats npy and npz.
//
//   .npy  := "\x93NUMPY" 1 0 header_bytes:u16 header array
#ifndef PS_CHECKPOINT_MODEL_NPY_H_
#define PS_CHECKPOINT_MODEL_NPY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/model/model_format.h"

namespace ps {

inline constexpr const char* kNpyKeys = "<u8";
inline constexpr const char* kNpyFloats = "<f4";

// The bytes before an array of this type and shape, in the order of C.
std::string npy_header(const char* type, const std::vector<uint64_t>& shape);

// The type of weights.  Throws kUsage for bf16, which numpy has not; `format` is for the message.
const char* npy_type(NumberType type, std::string_view format);

}  // namespace ps

#endif  // PS_CHECKPOINT_MODEL_NPY_H_
