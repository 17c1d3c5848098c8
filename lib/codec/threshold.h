// The bytes of the codec threshold (codec/threshold.cc).  Used by the codec, and by devices that find the
// values.
#ifndef PS_CODEC_THRESHOLD_H_
#define PS_CODEC_THRESHOLD_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "codec/sparse_vector.h"

namespace ps {

// Sets the values to tau and -tau by their signs, and appends them to `bytes`.
void encode_threshold(float tau, SparseVector& found, std::string& bytes);

// sparse <- decoded bytes, made from a vector of indices in [0, size).  Throws kCorrupt.
void decode_threshold(float tau, std::string_view bytes, uint64_t size, SparseVector& sparse);

}  // namespace ps

#endif  // PS_CODEC_THRESHOLD_H_
