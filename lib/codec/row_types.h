// How rows travel between trainers and shards.  Used by the remote store and by the job that says so.
#ifndef PS_CODEC_ROW_TYPES_H_
#define PS_CODEC_ROW_TYPES_H_

#include <cstdint>

#include "codec/row_codec.h"

namespace ps {

// Weights that are read, not trained, and statistics travel as f32.
struct RowTypes {
  RowType pull = RowType::kF32;
  RowType push = RowType::kF32;            // what rounding takes from a gradient goes out with the next one
  uint64_t error_bytes = 64ull << 20;      // for what rounding took, less that of dense parameters
  uint64_t kept_piece_bytes = 8ull << 20;  // about what a message has of it, for checkpoints
};

}  // namespace ps

#endif  // PS_CODEC_ROW_TYPES_H_
