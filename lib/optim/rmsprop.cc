// RMSProp, centred: Graves, "Generating sequences with recurrent neural networks", 2013, equations 38 to 41:
//   h <- rho h + (1 - rho) g^2        f <- rho f + (1 - rho) g
//   w <- soft((1 - eta l2) w - eta g / sqrt(h - f^2 + epsilon), eta l1)
// State: v = h - f^2 and f.  The state has v instead of h, because h - f^2 suffers cancellation when
// gradients are alike:
//   v <- rho v + rho (1 - rho) (g - f)^2, with f before its own step
// n steps with zero gradient:  v <- rho^n v + rho^n (1 - rho^n) f^2,  f <- rho^n f.
#include <cmath>

#include "config/spec.h"
#include "optim/entries.h"
#include "optim/row_optimizer.h"

namespace ps {

namespace {

struct RmspropOptions : AdaptiveOptions {
  RmspropOptions() { learning_rate = 0.001; }
  double rho = 0.95;
  double epsilon = 1e-6;

  static void add_fields(ObjectSpec<RmspropOptions>& s) {
    s.field("rho", &RmspropOptions::rho, "what stays of h and f at each step, below 1").at_least(0);
    s.field("epsilon", &RmspropOptions::epsilon, "added to the variance below the root").above(0);
    add_l2_mode(s);
  }
  void check(std::string_view path) const { optim_internal::check_below_one(rho, json_path(path, "rho")); }
  static const ObjectSpec<RmspropOptions>& spec() { return optimizer_spec<RmspropOptions>(); }
};

// Threads use it as Optimizer says.
template <class T>
class Rmsprop final : public RowOptimizer<T> {
 public:
  Rmsprop(const RmspropOptions& options, const ParameterTuning& tuning, CpuLevel cpu)
      : RowOptimizer<T>(options, tuning, cpu,
                        {.arrays = 2, .idle_state = true, .l2_mode = find_l2_mode(options.l2_mode)}),
        rho_(options.rho),
        epsilon_(static_cast<T>(options.epsilon)) {}

 protected:
  using typename RowOptimizer<T>::Gradient;
  using typename RowOptimizer<T>::Rows;

  void step(const Row<T>& row, Gradient gradient) const override { this->apply(now(), row, gradient); }
  void step_rows(const Rows& rows) const override { this->apply(now(), rows); }

  // `stays` is rho^n.  The variance takes in the square of the mean before the mean itself decays.
  void advance_state(const Row<T>& row, int64_t steps) const override {
    double power = std::pow(rho_, static_cast<double>(steps));
    T stays = static_cast<T>(power), gone = static_cast<T>(1 - power);
    T *variance = row.state, *mean = row.state + row.stride;
    for (int64_t i = 0; i < row.width; ++i) {
      variance[i] = stays * (variance[i] + gone * mean[i] * mean[i]);
      mean[i] *= stays;
    }
  }

 private:
  // The constants of the step begun last, for the kernels.
  RmspropStep<T> now() const {
    return {static_cast<T>(this->rate()), epsilon_, static_cast<T>(rho_), static_cast<T>(1 - rho_),
            this->decay()};
  }

  const double rho_;
  const T epsilon_;
};

}  // namespace

constinit const OptimizerEntry kRmsprop = optimizer_entry<Rmsprop, RmspropOptions>(
    "rmsprop", false,
    "RMSProp, centred: h = rho h + (1 - rho) g^2, f = rho f + (1 - rho) g, w moves by -rate g / sqrt(h - f^2 "
    "+ epsilon); decay is by the global rate. State: h - f^2 and f. Rows that sit out steps get exactly what "
    "dense training gives.");

}  // namespace ps
