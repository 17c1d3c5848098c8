// Steps of training in which compute is emulated and communication is real: each rank has one of these, and
// all run them together.  Used by the measurements of bench/link (measurements.h).
#ifndef PS_BENCH_LINK_STEPS_H_
#define PS_BENCH_LINK_STEPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/link/emulated_accelerator.h"
#include "bench/link/model_shape.h"
#include "codec/dgc.h"
#include "collective/exchange_communicator.h"

namespace ps {

// One owner thread: the rank's.
class LinkStep {
 public:
  virtual ~LinkStep() = default;

  // A step, or a period of several: compute, then the exchange.  The first one's answer can be checked.
  virtual void run() = 0;

  // Values that came out wrong, after the first run.
  virtual uint64_t count_wrong() = 0;

  // Bytes that the busiest rank sends in a run, by formula.
  virtual double expected_bytes() const = 0;
};

// The whole gradient is summed.
class DenseStep final : public LinkStep {
 public:
  // In kOverlapped the exchange of a bucket begins when its gradient is there, else when all are.
  enum class Exchange { kAfterwards, kOverlapped };

  DenseStep(ExchangeCommunicator& communicator, const ModelShape& model, double compute_seconds,
            const AllReduceAlgorithm& algorithm, Exchange exchange);

  void run() override;
  uint64_t count_wrong() override;
  double expected_bytes() const override;

 private:
  ExchangeCommunicator& communicator_;
  const AllReduceAlgorithm& algorithm_;
  const Exchange exchange_;
  EmulatedAccelerator accelerator_;
  std::vector<float> gradient_;  // after a run, the sum
};

// The gradient is packed by Deep Gradient Compression, and exchanged when all is packed; tensors of one dimension are summed
// whole.
class DgcExchangeStep final : public LinkStep {
 public:
  // In kBeside a tensor is packed as soon as its gradient is there, else when all are.
  enum class Packing { kAfterwards, kBeside };

  DgcExchangeStep(ExchangeCommunicator& communicator, const ModelShape& model, double compute_seconds,
                  Packing packing = Packing::kBeside);

  void run() override;
  uint64_t count_wrong() override { return wrong_; }
  double expected_bytes() const override;

  // Seconds of the last run: those of a processor that packs, most of them while the accelerator computes;
  // then those of the exchange, and of adding what came.
  struct Terms {
    double pack = 0, exchange = 0, apply = 0;
  };
  const Terms& terms() const { return terms_; }

  // Returns a digest of all sums so far, which must be equal on all ranks.
  uint64_t digest() const { return digest_; }

 private:
  struct Tensor {
    Tensor(const TensorShape& shape, int num_trainers, uint64_t key);

    DeepGradientCompression dgc;
    std::vector<float> gradient, weights;
    std::string packed;
    uint64_t first = 0;   // of the model's values
    double ready_at = 0;  // share of the model's gradient that is there by then
  };

  void make_tensors(const ModelShape& model);
  void pack();
  std::string packed_tensors() const;
  void apply(const std::vector<std::string>& from_ranks);
  void apply(Tensor& tensor, std::vector<std::string_view>& rest);
  uint64_t wrong_in(const SparseVector& sparse, int rank, uint64_t first) const;

  ExchangeCommunicator& communicator_;
  const Packing packing_;
  EmulatedAccelerator accelerator_;
  std::vector<Tensor> tensors_;      // those that are packed
  std::vector<float> whole_, sums_;  // gradients of the others, and what the ranks' add up to
  std::vector<uint64_t> whole_index_;
  Terms terms_;
  uint64_t digest_ = 0, wrong_ = 0;
  bool first_run_ = true;
};

// Local SGD: several steps without an exchange, then the weights are averaged.
class LocalSgdPeriod final : public LinkStep {
 public:
  LocalSgdPeriod(ExchangeCommunicator& communicator, const ModelShape& model, double compute_seconds,
                 int steps);

  void run() override;
  uint64_t count_wrong() override;
  double expected_bytes() const override;

 private:
  ExchangeCommunicator& communicator_;
  const AllReduceAlgorithm& algorithm_;
  EmulatedAccelerator accelerator_;
  const int steps_;
  std::vector<float> weights_;
};

// The measurements of one rank in runs of a step.
struct StepRun {
  std::vector<double> seconds;  // of each timed run
  double bytes = 0;             // that it sent in one
  uint64_t wrong = 0;
};

// The first run is checked.  It counts when it takes longer than `budget` seconds; else as many follow as
// take so long, `most` at most.  Called by all ranks.
StepRun run_step(ExchangeCommunicator& communicator, LinkStep& step, int most, double budget);

// Combines the ranks' runs: the seconds of the slowest rank in each run, the most bytes, the sum of wrong
// values.
StepRun slowest(const std::vector<StepRun>& of_ranks);

}  // namespace ps

#endif  // PS_BENCH_LINK_STEPS_H_
