// Residuals: the part of a trainer's gradients that does not reach the servers, as rows round it or codecs leave it out.  It
// is added to the next gradients of the same rows (error feedback: Seide et al., Interspeech 2014).  Used by RemotePushes.
#ifndef PS_PS_CLIENT_RESIDUALS_H_
#define PS_PS_CLIENT_RESIDUALS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "codec/residual_rows.h"
#include "codec/row_types.h"
#include "math/key_plan.h"
#include "optim/parameter.h"
#include "ps/client/codec_chunks.h"
#include "ps/wire/push_codecs.h"
#include "ps/wire/trainer_state_chunks.h"

namespace ps {

// One owner thread.  Residuals of a parameter are made when they are used first: a process that only reads has
// none.
class Residuals {
 public:
  // `specs` outlive this.  `rank` is the trainer's, `cpu` the level of the codecs' loops.
  Residuals(const std::vector<ParameterSpec>& specs, const RowTypes& types, int rank = 0,
            CpuLevel cpu = best_cpu_level());

  // Returns false when gradients are pushed as they are: then there are neither residuals nor codecs.
  bool used() const { return types_.push != RowType::kF32 || codecs_.used(); }

  // The codecs of the gradients, when they do not travel in rows.
  PushCodecs& codecs() { return codecs_; }

  // Finds those of a batch, whose rows are encoded next.  All at once, since the rows for which there is
  // memory must not depend on how they are spread over the shards.
  void find(std::span<const KeyPlan> plans);

  // [cols], of a row of the batch by its position in the plan; and of a row of a parameter that is pushed whole.
  float* of_position(size_t p, int64_t position) { return all_[p].rows[static_cast<size_t>(position)]; }
  float* of_row(size_t p, int64_t row) { return all_[p].whole.data() + row * specs_[p].cols; }

  // Rows whose residuals were dropped, for want of memory.
  uint64_t dropped() const;

  // Return all residuals, and the state of the codecs, as chunks for checkpoints.  Neither may change until the last chunk
  // was encoded.
  std::unique_ptr<StateChunkSource> chunks() const;
  std::unique_ptr<StateChunkSource> codec_chunks() const;

  // Restores state from a chunk of either kind.  Throws kCorrupt.
  void restore(std::string_view chunk);

 private:
  // The residuals of one parameter: by keys, or whole.
  struct Residual {
    std::unique_ptr<ResidualRows> by_key;
    std::vector<float*> rows;  // of the batch, by position in its plan
    std::vector<float> whole;  // [rows, cols]
  };

  bool keeps() const { return types_.push != RowType::kF32 || codecs_.keep_residuals(); }
  Residual& made(size_t p);

  const std::vector<ParameterSpec>& specs_;
  const RowTypes types_;
  PushCodecs codecs_;
  std::vector<Residual> all_;  // by parameter
  CodecStates restored_;       // of chunks
};

}  // namespace ps

#endif  // PS_PS_CLIENT_RESIDUALS_H_
