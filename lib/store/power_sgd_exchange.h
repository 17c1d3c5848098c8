// PowerSgdExchange: the gradients of matrices as products of two narrow matrices, which trainers add up (Vogels et al.,
// "PowerSGD: practical low-rank gradient compression for distributed optimization", NeurIPS 2019).  Used by the strategy
// power_sgd, whose AllReduceStore gives the sums to the job's optimizer.
//
// For each matrix, with g the gradient of this trainer and e what was left of former ones (codec/power_iteration.h):
//
//   M <- g + e        P <- sum of M Q over the trainers, orthogonalised
//   T <- M^T P        e <- M - P T^T        Q <- sum of T over the trainers        gradient of all: P Q^T
//
// Q begins with that of the last step.  The P's of all matrices travel in one exchange, the Q's in another.  e is kept in
// the units of the optimizer's gradient, which is the mean over a step's examples unless the job says otherwise.
#ifndef PS_STORE_POWER_SGD_EXCHANGE_H_
#define PS_STORE_POWER_SGD_EXCHANGE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "codec/power_iteration.h"
#include "collective/communicator.h"
#include "optim/parameter.h"
#include "store/gradient_compression.h"
#include "store/local_store.h"

namespace ps {

struct PowerSgdOptions {
  int64_t rank = 2;        // vectors that stand for a matrix
  int64_t begin_step = 0;  // the first step that compresses
};

class PowerSgdExchange final : public GradientCompression {
 public:
  // `specs` are those of `local`.  All arguments by reference outlive this.
  PowerSgdExchange(const PowerSgdOptions& options, std::span<const ParameterSpec> specs,
                   const LocalStore& local, Communicator& communicator);

  // Matrices whose factors have fewer values than they have.
  bool compresses(size_t parameter) const override;
  bool moves_weights() const override { return false; }
  void step(std::span<const Gradient> gradients, const StepSize& step) override;

  // The state of this trainer, for checkpoints: Q and e of the parameters that are compressed by now.  load throws
  // kCorrupt.
  void save(std::string& out) const;
  void load(ByteReader& in);

 private:
  struct Matrix {
    FactorShape shape;
    std::vector<float> q, residual;  // empty: not compressed yet
  };

  // The factors of one matrix among those of all.
  struct Factors {
    std::span<float> p, q;
  };

  std::vector<Factors> lay_out(std::span<const Gradient> gradients);
  void begin(const Gradient& gradient, float scale, const Factors& factors);
  void end(const Gradient& gradient, const Factors& factors);
  void keep_rest(const Gradient& gradient, float scale, const Factors& factors);

  const PowerSgdOptions options_;
  const std::span<const ParameterSpec> specs_;
  const LocalStore& local_;
  const VectorKernels& kernels_;
  Communicator& communicator_;
  std::vector<Matrix> matrices_;  // by parameter
  std::vector<float> p_, q_;      // of all matrices of a step
};

}  // namespace ps

#endif  // PS_STORE_POWER_SGD_EXCHANGE_H_
