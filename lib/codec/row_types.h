// The types of rows on the wire between trainers and shards.  Used by RemoteStore; the job file sets them.
#ifndef PS_CODEC_ROW_TYPES_H_
#define PS_CODEC_ROW_TYPES_H_

#include <cstdint>

#include "codec/row_codec.h"
#include "config/json.h"

namespace ps {

// Weights that are read but not trained, and statistics, are sent as f32.
struct RowTypes {
  RowType pull = RowType::kF32;
  RowType push = RowType::kF32;  // with error feedback
  Json push_codec = nullptr;     // gradients travel in the bytes of this codec instead, unless it is null
  uint64_t error_bytes = 64ull << 20;       // limit for residuals of sparse parameters
  uint64_t state_chunk_bytes = 8ull << 20;  // approximate size of a trainer state chunk
};

}  // namespace ps

#endif  // PS_CODEC_ROW_TYPES_H_
