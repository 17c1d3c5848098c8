// Stochastic gradient descent:  w <- soft(w - eta (g + l2 w), eta l1).  No state.
#include "config/spec.h"
#include "optim/entries.h"
#include "optim/row_optimizer.h"

namespace ps {

namespace {

struct SgdOptions : OptimizerOptions {
  static void add_fields(ObjectSpec<SgdOptions>&) {}
  static const ObjectSpec<SgdOptions>& spec() { return optimizer_spec<SgdOptions>(); }
};

// Threads use it as Optimizer says.
template <class T>
class Sgd final : public RowOptimizer<T> {
 public:
  Sgd(const SgdOptions& options, const ParameterTuning& tuning, CpuLevel cpu)
      : RowOptimizer<T>(options, tuning, cpu, {}) {}

 protected:
  using typename RowOptimizer<T>::Gradient;
  using typename RowOptimizer<T>::Rows;

  void step(const Row<T>& row, Gradient gradient) const override { this->apply(now(), row, gradient); }
  void step_rows(const Rows& rows) const override { this->apply(now(), rows); }

 private:
  // The constants of the step begun last, for the kernels.
  SgdStep<T> now() const { return {static_cast<T>(this->rate()), this->decay()}; }
};

}  // namespace

constinit const OptimizerEntry kSgd = optimizer_entry<Sgd, SgdOptions>(
    "sgd", false,
    "Stochastic gradient descent: w moves by -rate (g + l2 w), then by rate l1 towards zero. "
    "Rows that sit out steps get exactly what dense training gives.");

}  // namespace ps
