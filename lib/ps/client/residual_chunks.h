// The residuals of a trainer's gradients, in the chunks in which servers' checkpoints store them.  Each chunk
// names its rows.  Used by Residuals.
#ifndef PS_PS_CLIENT_RESIDUAL_CHUNKS_H_
#define PS_PS_CLIENT_RESIDUAL_CHUNKS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/residual_rows.h"
#include "optim/parameter.h"
#include "ps/wire/trainer_state_chunks.h"

namespace ps {

// On disk: never renumber.
enum class ErrorRows : uint8_t {
  kWhole,  // rows of a parameter that is pushed whole, by their numbers
  kYoung,  // rows of the younger generation of ResidualRows, by their keys
  kOld,
};

// Encodes rows in chunks of about the given number of bytes, with at least one row each.  The residuals stay in
// the memory of their owner; a chunk has their values at the time at which it is encoded.  One owner thread.
//
// chunk   := kind:u8 section...                            kind: StateChunkKind::kErrors
// section := parameter:u32 rows:u8 count:u32 row[count]
// row     := key:u64 f32[cols]
class ResidualChunks final : public StateChunkSource {
 public:
  explicit ResidualChunks(uint64_t most_bytes) : most_bytes_(most_bytes) {}

  // errors [rows, cols]
  void add_whole(uint32_t parameter, int64_t cols, std::span<const float> errors);
  void add_keyed(uint32_t parameter, int64_t cols, const ResidualRows& errors);

  size_t size() const override { return begins_.size(); }
  std::string encode(size_t chunk) const override;

 private:
  struct Row {
    uint32_t parameter;
    ErrorRows rows;
    uint64_t key;
    std::span<const float> error;
  };

  void add(const Row& row);
  bool continues_section(size_t row) const;

  const uint64_t most_bytes_;
  std::vector<Row> rows_;
  std::vector<size_t> begins_;  // by chunk: its first row
  uint64_t last_bytes_ = 0;     // upper bound of the bytes of the last chunk
};

// Called with error [cols] in the memory of the chunk.
using OnErrorRow =
    std::function<void(uint32_t parameter, ErrorRows rows, uint64_t key, std::string_view error)>;

// Calls on_row for each row of a chunk.  Throws kCorrupt, perhaps after some rows, unless it is a chunk of this
// kind that only has rows of these parameters.
void read_error_chunk(std::string_view chunk, std::span<const ParameterSpec> specs, const OnErrorRow& on_row);

}  // namespace ps

#endif  // PS_PS_CLIENT_RESIDUAL_CHUNKS_H_
