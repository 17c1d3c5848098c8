// AdaGrad, Duchi et al., JMLR 2011:  h <- h + g^2;  w <- soft((1 - eta l2) w - eta g / sqrt(h + epsilon), eta
// l1). State: h.  Weight decay uses the global rate, as in Loshchilov and Hutter, ICLR 2019.
#include "config/spec.h"
#include "optim/entries.h"
#include "optim/row_optimizer.h"

namespace ps {

namespace {

struct AdagradOptions : AdaptiveOptions {
  double epsilon = 1e-6;

  static void add_fields(ObjectSpec<AdagradOptions>& s) {
    s.field("epsilon", &AdagradOptions::epsilon, "added to h below the root").above(0);
    add_l2_mode(s);
  }
  static const ObjectSpec<AdagradOptions>& spec() { return optimizer_spec<AdagradOptions>(); }
};

// Threads use it as Optimizer says.
template <class T>
class Adagrad final : public RowOptimizer<T> {
 public:
  Adagrad(const AdagradOptions& options, const ParameterTuning& tuning, CpuLevel cpu)
      : RowOptimizer<T>(options, tuning, cpu, {.arrays = 1, .l2_mode = find_l2_mode(options.l2_mode)}),
        epsilon_(static_cast<T>(options.epsilon)) {}

 protected:
  using typename RowOptimizer<T>::Gradient;
  using typename RowOptimizer<T>::Rows;

  void step(const Row<T>& row, Gradient gradient) const override { this->apply(now(), row, gradient); }
  void step_rows(const Rows& rows) const override { this->apply(now(), rows); }

 private:
  // The constants of the step begun last, for the kernels.
  AdagradStep<T> now() const { return {static_cast<T>(this->rate()), epsilon_, this->decay()}; }

  const T epsilon_;
};

}  // namespace

constinit const OptimizerEntry kAdagrad = optimizer_entry<Adagrad, AdagradOptions>(
    "adagrad", false,
    "AdaGrad: h = h + g^2, w moves by -rate g / sqrt(h + epsilon); decay is by the global rate. "
    "State: h. Rows that sit out steps get exactly what dense training gives.");

}  // namespace ps
