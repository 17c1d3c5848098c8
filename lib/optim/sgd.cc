// Stochastic gradient descent:  w <- soft(w - eta (g + l2 w), eta l1).  No state.
#include "optim/entries.h"
#include "optim/row_optimizer.h"

namespace ps {

namespace {

struct SgdOptions : OptimizerOptions {
  static void add_fields(ObjectSpec<SgdOptions>&) {}
  static const ObjectSpec<SgdOptions>& spec() { return optimizer_spec<SgdOptions>(); }
};

template <class T>
class Sgd : public RowOptimizer<T> {
 public:
  Sgd(const SgdOptions& options, const ParameterTuning& tuning) : RowOptimizer<T>(options, tuning, {}) {}

 protected:
  using typename RowOptimizer<T>::Gradient;

  void step(const Row<T>& row, Gradient gradient) const override {
    T eta = static_cast<T>(this->rate());
    auto decay = this->decay();
    for (int64_t i = 0; i < row.width; ++i) row.weight[i] = decay(row.weight[i], eta * gradient[i]);
  }
};

}  // namespace

constinit const OptimizerEntry kSgd = optimizer_entry<Sgd, SgdOptions>(
    "sgd", false,
    "Stochastic gradient descent: w moves by -rate (g + l2 w), then by rate l1 towards zero. "
    "Rows that sit out steps get exactly what dense training gives.");

}  // namespace ps
