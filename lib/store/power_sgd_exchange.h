// PowerSgdExchange: exchanges the gradients of matrices as products of two narrow matrices, which trainers
// add up (Vogels et al., "PowerSGD: practical low-rank gradient compression for distributed optimization",
// NeurIPS 2019).  Used by the strategy power_sgd, whose AllReduceStore passes the sums to the job's
// optimizer.
//
// For each matrix, let g be the gradient of this trainer and e the rest of former gradients
// (codec/power_iteration.h):
//
//   M <- g + e        P <- sum of M Q over the trainers, orthogonalised
//   T <- M^T P        e <- M - P T^T        Q <- sum of T over the trainers        gradient of all: P Q^T
//
// Q starts with its value of the last step.  The P's of all matrices of a group travel in one exchange, the
// Q's in another (AllReduceStore makes the groups).  e has the units of the optimizer's gradient, which is the
// mean over a step's examples unless the job says otherwise.
//
// The gradient of a matrix that is made on a device stays there, with e and the weights.  The device trains
// the weights, multiplies and orthogonalises.  Only the factors come to the processor, which adds them up,
// and go back.
#ifndef PS_STORE_POWER_SGD_EXCHANGE_H_
#define PS_STORE_POWER_SGD_EXCHANGE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "codec/power_iteration.h"
#include "codec/power_there.h"
#include "collective/communicator.h"
#include "config/json.h"
#include "optim/parameter.h"
#include "store/compression_device.h"
#include "store/gradient_compression.h"
#include "store/local_store.h"

namespace ps {

struct PowerSgdOptions {
  int64_t rank = 2;        // number of vectors that represent a matrix
  int64_t begin_step = 0;  // the first step that compresses
  // The device that computes the model, and the parameters whose gradients are made there.  A null device is
  // the processor.
  std::shared_ptr<CompressionDevice> device = nullptr;
  std::vector<bool> on_device = {};
};

// One owner thread, that of the communicator.
class PowerSgdExchange final : public GradientCompression {
 public:
  // `specs` are those of `local`.  All arguments by reference outlive this.
  PowerSgdExchange(const PowerSgdOptions& options, std::span<const ParameterSpec> specs, LocalStore& local,
                   Communicator& communicator);

  // Returns true for matrices whose factors have fewer values than the matrix, once the step compresses.
  bool compresses(size_t parameter) const override;
  bool moves_weights() const override { return false; }
  void bind_there(std::span<ParameterView<float>> views) override;
  void push_there() override;
  bool may_change_threads() const override { return options_.device == nullptr; }
  void step(std::span<const Gradient> gradients, const StepSize& step) override;

  // Returns {"compressed_there": the number of parameters that are compressed on a device by now}.
  Json describe() const;

  // Save and load the state of this trainer, for checkpoints: Q and e of the parameters that are compressed
  // by now. load throws kCorrupt.
  void save(std::string& out) const;
  void load(ByteReader& in);

 private:
  struct Matrix {
    FactorShape shape;
    std::vector<float> q, residual;     // q empty: not compressed yet; residual empty: it lies on the device
    std::unique_ptr<PowerThere> power;  // null, like `there`: the matrix lies on the processor
    std::unique_ptr<DenseThere> there;
  };

  // The factors of one matrix, inside the factors of all.
  struct Factors {
    std::span<float> p, q;
  };

  bool runs_there(size_t parameter) const;
  void begin_matrix(size_t parameter);
  Gradient located(const Gradient& gradient);
  void wait() const;
  void multiply_all(std::span<const Gradient> gradients, float scale, std::span<const Factors> factors);
  void keep_rests(std::span<const Gradient> gradients, float scale, std::span<const Factors> factors);
  void check_sums(std::span<const Gradient> gradients, std::span<const Factors> factors) const;
  std::vector<Factors> lay_out(std::span<const Gradient> gradients);
  void begin(const Gradient& gradient, float scale, const Factors& factors);
  void end(const Gradient& gradient, const Factors& factors);
  void keep_rest(const Gradient& gradient, float scale, const Factors& factors);

  const PowerSgdOptions options_;
  const std::span<const ParameterSpec> specs_;
  LocalStore& local_;
  const VectorKernels& kernels_;
  Communicator& communicator_;
  std::vector<Matrix> matrices_;  // by parameter
  std::vector<float> p_, q_;      // factors of all matrices of a step
};

}  // namespace ps

#endif  // PS_STORE_POWER_SGD_EXCHANGE_H_
