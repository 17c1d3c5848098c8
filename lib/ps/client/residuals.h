// Residuals: the part of a trainer's gradients that does not reach the servers, because row types round it or
// codecs leave it out.  It is added to the next gradients of the same rows (error feedback: Seide et al.,
// Interspeech 2014).  Used by RemotePushes.
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

// One owner thread.  Residuals of a parameter are made when they are first used, so that a process that only
// reads has none.
class Residuals {
 public:
  // `specs` outlive this.  `rank` is that of the trainer, and `cpu` the level of the codecs' loops.
  Residuals(const std::vector<ParameterSpec>& specs, const RowTypes& types, int rank = 0,
            CpuLevel cpu = best_cpu_level());

  // Returns false if gradients are pushed as they are; then there are neither residuals nor codecs.
  bool used() const { return types_.push != RowType::kF32 || codecs_.used(); }

  // Returns the codecs of the gradients, which are used if the gradients do not travel in rows.
  PushCodecs& codecs() { return codecs_; }

  // Finds the residuals of a batch, whose rows are encoded next.  All are found at once, so that the rows for
  // which there is memory do not depend on how rows are distributed over the shards.
  void find(std::span<const KeyPlan> plans);

  // Return a residual [cols]: that of a row of the batch, by its position in the plan, and that of a row of a
  // parameter that is pushed whole.
  float* of_position(size_t p, int64_t position) { return all_[p].rows[static_cast<size_t>(position)]; }
  float* of_row(size_t p, int64_t row) { return all_[p].whole.data() + row * specs_[p].cols; }

  // Returns the number of rows whose residuals were dropped because of the memory limit.
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
    std::vector<float*> rows;  // rows of the batch, by position in its plan
    std::vector<float> whole;  // [rows, cols]
  };

  bool keeps() const { return types_.push != RowType::kF32 || codecs_.keep_residuals(); }
  Residual& made(size_t p);

  const std::vector<ParameterSpec>& specs_;
  const RowTypes types_;
  PushCodecs codecs_;
  std::vector<Residual> all_;  // by parameter
  CodecStates restored_;       // the codec states that are being restored from chunks
};

}  // namespace ps

#endif  // PS_PS_CLIENT_RESIDUALS_H_
