// AdaDelta, Zeiler, 2012, with a learning rate:
//   h <- rho h + (1 - rho) g^2        d = g sqrt((u + epsilon) / (h + epsilon))
//   u <- rho u + (1 - rho) d^2        w <- soft((1 - eta l2) w - eta d, eta l1)
// State: h, u.  Lazy: steps without a gradient for the row leave h and u unchanged, but apply weight decay.
#include "config/spec.h"
#include "optim/entries.h"
#include "optim/row_optimizer.h"

namespace ps {

namespace {

struct AdadeltaOptions : AdaptiveOptions {
  AdadeltaOptions() { learning_rate = 1; }
  double rho = 0.95;
  double epsilon = 1e-6;

  static void add_fields(ObjectSpec<AdadeltaOptions>& s) {
    s.field("rho", &AdadeltaOptions::rho, "what stays of h and u at each step, below 1").at_least(0);
    s.field("epsilon", &AdadeltaOptions::epsilon, "added to h and u").above(0);
    add_l2_mode(s);
  }
  void check(std::string_view path) const { optim_internal::check_below_one(rho, json_path(path, "rho")); }
  static const ObjectSpec<AdadeltaOptions>& spec() { return optimizer_spec<AdadeltaOptions>(); }
};

// Threads use it as Optimizer says.
template <class T>
class Adadelta final : public RowOptimizer<T> {
 public:
  Adadelta(const AdadeltaOptions& options, const ParameterTuning& tuning, CpuLevel cpu)
      : RowOptimizer<T>(options, tuning, cpu, {.arrays = 2, .l2_mode = find_l2_mode(options.l2_mode)}),
        rho_(static_cast<T>(options.rho)),
        fresh_(static_cast<T>(1 - options.rho)),
        epsilon_(static_cast<T>(options.epsilon)) {}

 protected:
  using typename RowOptimizer<T>::Gradient;
  using typename RowOptimizer<T>::Rows;

  void step(const Row<T>& row, Gradient gradient) const override { this->apply(now(), row, gradient); }
  void step_rows(const Rows& rows) const override { this->apply(now(), rows); }

 private:
  // The constants of the step begun last, for the kernels.
  AdadeltaStep<T> now() const {
    return {static_cast<T>(this->rate()), epsilon_, rho_, fresh_, this->decay()};
  }

  const T rho_, fresh_, epsilon_;
};

}  // namespace

constinit const OptimizerEntry kAdadelta =
    optimizer_entry<Adadelta, AdadeltaOptions>("adadelta", true,
                                               "AdaDelta: h = rho h + (1 - rho) g^2, d = g sqrt((u + "
                                               "epsilon) / (h + epsilon)), u = rho u + (1 - rho) d^2, w "
                                               "moves by -rate d; decay is by the global rate. State: h, u. "
                                               "Lazy: h and u move only at steps that touch the row; "
                                               "decay is exact.");

}  // namespace ps
