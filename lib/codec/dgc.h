// Deep Gradient Compression: Lin et al., ICLR 2018.  A trainer sends the thousandth of a parameter's values
// that have most to say, and keeps the rest until it is large enough.  Used by the strategy of that name.
//
// With N trainers, each has for a parameter w its gradient g, scaled as that of the whole step would be, so
// that the mean of all g is the step's gradient:
//
//   g <- g min(1, c N^(1/2) / |g|)           local clipping: g / N, the trainer's share, is clipped to c N^(-1/2)
//   d <- -rate (g + l2 w)                    weight-decay correction
//   u <- m u + d                             momentum correction: it is the moves that add up, not gradients
//   v <- v + u                               with Nesterov: v <- v + (m u + d)
//   send v where |v| is among the k largest
//   v <- 0, u <- 0 there                     momentum factor masking
//   w <- w + (sum of what all have sent) / N
//
// The rate is in the moves from the beginning, as in the optimizer `momentum`, so v is what the weights still
// have to move by, and u and v go through changes of the rate as that optimizer does.  Where values are
// rounded to be sent, v keeps the rest.
//
// Where k is all values, at sparsity 0 and before rampup_begin_step, nothing is kept back and nothing masked:
// gradients are exchanged whole, and the parameter and u, which is the same on all trainers then, move as in
// `momentum`, bit for bit.  u goes on from there when compression begins.  (Compression does not end again,
// since u and v then differ from one trainer to the next: the options refuse a sparsity of 0 after another
// one.)
#ifndef PS_CODEC_DGC_H_
#define PS_CODEC_DGC_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "codec/dgc_options.h"
#include "codec/selection.h"
#include "codec/sparse_part.h"

namespace ps {

// The parameter, and who trains it.
struct DgcTarget {
  std::vector<int64_t> shape;
  int num_trainers = 1;
  uint64_t seed = 0;  // of the job
  uint64_t key = 0;   // the parameter's number; with seed and step it decides the sample
};

// A gradient of one step.
struct DgcGradient {
  std::span<const float> values;  // [elements]
  float scale = 1;                // makes it that of the whole step
  float rate = 0;                 // learning rate of the step
};

// What one trainer keeps of one parameter.  One owner thread.  Steps are numbered from 0, and each is one
// call of step_whole or step_sparse, as selected() says.
class DeepGradientCompression {
 public:
  DeepGradientCompression(const DgcOptions& options, const DgcTarget& target);

  uint64_t elements() const { return elements_; }
  int64_t steps() const { return steps_; }

  // How many values the next step sends; elements(): its gradient is to be exchanged whole.
  uint64_t selected() const { return compressed_ ? dgc_selected(options_, steps_, elements_) : elements_; }

  // The next step with a whole gradient, that of all trainers together.  Moves `weights` [elements].
  void step_whole(const DgcGradient& gradient, std::span<float> weights);

  // The next step with this trainer's own gradient.  Appends the selected moves to `bytes`, in the encoding
  // of the options.  Throws kData when a move is not finite; the state is then of no use any more.
  void step_sparse(const DgcGradient& gradient, std::span<const float> weights, std::string& bytes);

  // weights [elements] += moves / N, the moves being the sum of what all trainers sent in a step.
  void apply(const SparsePart& moves, std::span<float> weights) const;

  // Takes moves back that this trainer, as the owner of a part, has not passed on: they go out with later
  // ones.
  void keep(const SparsePart& moves);

  // steps, u and v, for checkpoints.  load is for a new object of the same options and target; it throws
  // kCorrupt.
  void save(std::string& out) const;
  void load(ByteReader& in);

  std::span<const float> velocity() const { return velocity_; }
  std::span<const float> residual() const { return residual_; }

 private:
  float clipped_scale(const DgcGradient& gradient) const;
  void accumulate(const DgcGradient& gradient, std::span<const float> weights, uint32_t& largest);
  uint32_t least_from_sample(const DgcGradient& gradient, std::span<const float> weights, float scale);

  const DgcOptions options_;
  const SparseEncoding encoding_;
  const int num_trainers_;
  const uint64_t seed_, elements_;
  const bool compressed_;
  std::vector<float> velocity_, residual_;  // u, v; v is empty when nothing is compressed
  int64_t steps_ = 0;

  // Of the running step.
  Selector selector_;
  SparsePart part_;
  std::vector<float> sample_;  // gradient, weights and u of the lines of the sample
};

}  // namespace ps

#endif  // PS_CODEC_DGC_H_
