// Steps of training that emulate compute and communicate in earnest: each rank has an object of one of these
// classes, and all ranks run their steps together.  Used by the measurements of bench/link (measurements.h).
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

// A step of one rank.  One owner thread, which is the rank's, also for the classes below.
class LinkStep {
 public:
  virtual ~LinkStep() = default;

  // Runs a step, or a period of several: compute, then the exchange.  Only the first run has a result that
  // can be checked.
  virtual void run() = 0;

  // Returns how many values of the first run are wrong.  Called after that run.
  virtual uint64_t count_wrong() = 0;

  // Returns the bytes that the busiest rank sends in a run, by the formula of the exchange.
  virtual double expected_bytes() const = 0;
};

// A step in which the whole gradient is summed over the ranks.  One owner thread, which is the rank's.
class DenseStep final : public LinkStep {
 public:
  // kOverlapped exchanges a bucket as soon as its gradient is there; kAfterwards exchanges all at the end.
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
  std::vector<float> gradient_;  // the sum, after a run
};

// A step that packs the gradient by Deep Gradient Compression and exchanges it when all of it is packed.
// Tensors of one dimension are summed whole.  One owner thread, which is the rank's.
class DgcExchangeStep final : public LinkStep {
 public:
  // kBeside packs a tensor as soon as its gradient is there; kAfterwards packs all at the end.
  enum class Packing { kAfterwards, kBeside };

  // `encoding` names one that keeps the bits of values (codec/sparse_vector.h).
  DgcExchangeStep(ExchangeCommunicator& communicator, const ModelShape& model, double compute_seconds,
                  Packing packing = Packing::kBeside, const std::string& encoding = DgcRule().encoding);

  void run() override;
  uint64_t count_wrong() override { return wrong_; }
  double expected_bytes() const override;

  // Seconds of the last run: `pack` is the time of a processor that packs, most of it while the accelerator
  // computes; `exchange` is the time of the exchange, and `apply` that of adding the vectors of all ranks.
  struct Terms {
    double pack = 0, exchange = 0, apply = 0;
  };
  const Terms& terms() const { return terms_; }

  // Returns a hash of all sums so far, which must be equal on all ranks.
  uint64_t digest() const { return digest_; }

 private:
  struct Tensor {
    Tensor(const TensorShape& shape, const DgcOptions& options, int num_trainers, uint64_t key);

    DeepGradientCompression dgc;
    std::vector<float> gradient, weights;
    std::string packed;
    uint64_t first = 0;   // position of the tensor in the values of the model
    double ready_at = 0;  // share of the model's gradient that is there once this tensor's is
  };

  void make_tensors(const ModelShape& model);
  void pack();
  std::string packed_tensors() const;
  void apply(const std::vector<std::string>& from_ranks);
  void apply(Tensor& tensor, std::vector<std::string_view>& rest);
  uint64_t wrong_in(const SparseVector& sparse, int rank, uint64_t first) const;

  ExchangeCommunicator& communicator_;
  const Packing packing_;
  DgcOptions options_;
  const SparseEncoding encoding_;
  EmulatedAccelerator accelerator_;
  std::vector<Tensor> tensors_;      // the tensors that are packed
  std::vector<float> whole_, sums_;  // the gradients of the other tensors, and their sums over the ranks
  std::vector<uint64_t> whole_index_;
  Terms terms_;
  uint64_t digest_ = 0, wrong_ = 0;
  bool first_run_ = true;
};

// A period of local SGD: several steps without an exchange, after which the weights are averaged.  One owner
// thread, which is the rank's.
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

// The times of one rank in runs of a step.
struct StepRun {
  std::vector<double> seconds;  // seconds of each timed run
  double bytes = 0;             // bytes that the rank sent in one run
  uint64_t wrong = 0;
};

// Runs a step, and checks the first run.  It counts if it takes longer than `budget` seconds; else it is
// followed by as many timed runs as fit into that time, but at most `most`.  All ranks call it.
StepRun run_step(ExchangeCommunicator& communicator, LinkStep& step, int most, double budget);

// Combines the runs of the ranks: the seconds of the slowest rank in each run, the most bytes, and the sum of
// wrong values.
StepRun slowest(const std::vector<StepRun>& of_ranks);

}  // namespace ps

#endif  // PS_BENCH_LINK_STEPS_H_
