// Residuals: what rounding takes from a trainer's gradients on their way to servers, added to the next gradients
// of the same rows (error feedback: Seide et al., Interspeech 2014).  Used by RemotePushes.
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
#include "ps/wire/trainer_state_chunks.h"

namespace ps {

// One owner thread.  Residuals of a parameter are made when they are used first: a process that only reads has
// none.
class Residuals {
 public:
  // `specs` outlive this.
  Residuals(const std::vector<ParameterSpec>& specs, const RowTypes& types);

  // False when gradients are pushed as they are: then there are no residuals.
  bool used() const { return types_.push != RowType::kF32; }

  // Finds those of a batch, whose rows are encoded next.  All at once, since the rows for which there is
  // memory must not depend on how they are spread over the shards.
  void find(std::span<const KeyPlan> plans);

  // [cols], of a row of the batch by its position in the plan; and of a row of a parameter that is pushed whole.
  float* of_position(size_t p, int64_t position) { return all_[p].rows[static_cast<size_t>(position)]; }
  float* of_row(size_t p, int64_t row) { return all_[p].whole.data() + row * specs_[p].cols; }

  // Rows whose residuals were dropped, for want of memory.
  uint64_t dropped() const;

  // All of them, for checkpoints.  They may not change until the last chunk was made.
  std::unique_ptr<StateChunkSource> chunks() const;

  // Takes up a chunk.  Throws kCorrupt.
  void take(std::string_view chunk);

 private:
  // The residuals of one parameter: by keys, or whole.
  struct Residual {
    std::unique_ptr<ResidualRows> by_key;
    std::vector<float*> rows;  // of the batch, by position in its plan
    std::vector<float> whole;  // [rows, cols]
  };

  Residual& made(size_t p);

  const std::vector<ParameterSpec>& specs_;
  const RowTypes types_;
  std::vector<Residual> all_;  // by parameter
};

}  // namespace ps

#endif  // PS_PS_CLIENT_RESIDUALS_H_
