// Deep Gradient Compression: Lin et al., ICLR 2018.  A trainer sends the largest thousandth of a parameter's
// values, and keeps the rest until it is large enough.  Used by the strategy of that name.
//
// There are N trainers.  Each has a gradient g of a parameter w, scaled like the gradient of the whole step,
// so that the mean of all g is the step's gradient:
//
//   g <- g min(1, c N^(1/2) / |g|)           local clipping: g / N, the trainer's share, is clipped to c N^(-1/2)
//   d <- -rate (g + l2 w)                    weight-decay correction
//   u <- m u + d                             momentum correction: it is the moves that add up, not gradients
//   v <- v + u                               with Nesterov: v <- v + (m u + d)
//   send v where |v| is among the k largest
//   v <- 0, u <- 0 there                     momentum factor masking
//   w <- w + (sum of what all have sent) / N
//
// The moves contain the rate, as in the optimizer `momentum`: v is the sum of moves that are still to be
// applied to the weights, and u and v react to changes of the rate like that optimizer.  If values are
// rounded for sending, v keeps the rounding error.
//
// At sparsity 0 and before rampup_begin_step, k is all values: gradients are exchanged whole, without v and
// masking, and the parameter and u change as in `momentum`, bit for bit; u is then the same on all trainers.
// When compression begins, it starts with this u.  (Compression never ends again, since u and v then differ
// between trainers: the options refuse a sparsity of 0 after another one.)
#ifndef PS_CODEC_DGC_H_
#define PS_CODEC_DGC_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "codec/dgc_options.h"
#include "codec/dgc_there.h"
#include "codec/selection.h"
#include "codec/sparse_vector.h"

namespace ps {

// The parameter, and the number of trainers.
struct DgcTarget {
  std::vector<int64_t> shape;
  int num_trainers = 1;
  uint64_t seed = 0;                // the job's seed
  uint64_t key = 0;                 // the parameter's number; with seed and step it decides the sample
  CpuLevel cpu = best_cpu_level();  // level of the loops; every level gives the same bits
};

// A gradient of one step.
struct DgcGradient {
  std::span<const float> values;  // [elements]
  float scale = 1;                // factor that makes it g
  float rate = 0;                 // learning rate of the step
};

// Returns true if steps can run on a device, which they can unless there is local clipping.
bool dgc_runs_there(const DgcOptions& options);

// The state of one trainer for one parameter.  One owner thread.  Steps are numbered from 0.  The optimizer
// does the steps whose gradients are exchanged whole.  The caller then calls begin(), and step_sparse for each
// step after that.
class DeepGradientCompression {
 public:
  // u and v lie in the memory of a device if `device` is not null, which dgc_runs_there must allow.  Throws kExhausted.
  DeepGradientCompression(const DgcOptions& options, const DgcTarget& target, DgcDevice* device = nullptr);

  // Returns the arrays on the device, or null if there are none.  The first call sends these weights there; from
  // then on apply also changes the weights on the device.
  DgcThere* there(std::span<const float> weights);

  uint64_t elements() const { return elements_; }
  int64_t steps() const { return steps_; }

  // Returns the number of values that the next step sends.  If it is elements(), the gradient has to be
  // exchanged whole.
  uint64_t selected() const { return compressed_ ? dgc_selected(options_, steps_, elements_) : elements_; }

  // Begins after `steps` steps whose gradients were exchanged whole by other code; `velocity` is the u
  // [elements] after them.  To be called on a new object.
  void begin(int64_t steps, std::span<const float> velocity);

  // Begins the next step with this trainer's own gradient, which may be the array there()->gradient().  Appends
  // the selected moves to `bytes`, in the encoding of the options.  Throws kData when a move is not finite; the
  // object must then not be used any more.
  void step_sparse(const DgcGradient& gradient, std::span<const float> weights, std::string& bytes);

  // The moves that the last step_sparse has selected, rounded as they are sent.
  const SparseVector& sent() const { return sent_; }

  // weights [elements] += moves / N, where `moves` is the sum of the vectors that all trainers have sent in a
  // step.
  void apply(const SparseVector& moves, std::span<float> weights) const;

  // Save the number of steps, u and v to a checkpoint, and load them. load must be called on a new object
  // with the same options and target; it throws kCorrupt.
  void save(std::string& out) const;
  void load(ByteReader& in);

  // The state on the processor; empty if it is on a device.
  std::span<const float> velocity() const { return velocity_; }
  std::span<const float> residual() const { return residual_; }

 private:
  void step_there(const DgcGradient& gradient, std::span<const float> weights);
  void step_here(const DgcGradient& gradient, std::span<const float> weights);
  [[noreturn]] static void refuse(std::span<const float> moves);
  uint64_t draw() const;
  float clipped_scale(const DgcGradient& gradient) const;
  void accumulate(const DgcGradient& gradient, std::span<const float> weights, uint32_t& largest);
  uint32_t least_from_sample(const DgcGradient& gradient, std::span<const float> weights, float scale);

  const DgcOptions options_;
  const VectorKernels& kernels_;
  const SparseEncoding encoding_;
  const int num_trainers_;
  const uint64_t seed_, elements_;
  const bool compressed_;
  std::vector<float> velocity_,
      residual_;  // u and v on the processor; v is empty if the parameter is not compressed
  std::unique_ptr<DgcThere> there_;  // null: on the processor
  bool weights_there_ = false;       // true: the weights have been sent to the device
  int64_t steps_ = 0;

  // Used during a step.
  Selector selector_;
  SparseVector sent_;
  std::vector<float> sample_;  // gradient, weights and u of the sample's lines
};

}  // namespace ps

#endif  // PS_CODEC_DGC_H_
