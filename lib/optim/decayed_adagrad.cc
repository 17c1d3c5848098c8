// AdaGrad with a decaying sum of squares (RMSProp without centring):
//   h <- rho h + (1 - rho) g^2;  w <- soft((1 - eta l2) w - eta g / sqrt(h + epsilon), eta l1)
// State: h.  n steps with zero gradient: h <- rho^n h.
#include <cmath>

#include "config/spec.h"
#include "optim/entries.h"
#include "optim/row_optimizer.h"

namespace ps {

namespace {

struct DecayedAdagradOptions : AdaptiveOptions {
  double rho = 0.95;
  double epsilon = 1e-6;

  static void add_fields(ObjectSpec<DecayedAdagradOptions>& s) {
    s.field("rho", &DecayedAdagradOptions::rho, "what stays of h at each step, below 1").at_least(0);
    s.field("epsilon", &DecayedAdagradOptions::epsilon, "added to h below the root").above(0);
    add_l2_mode(s);
  }
  void check(std::string_view path) const { optim_internal::check_below_one(rho, json_path(path, "rho")); }
  static const ObjectSpec<DecayedAdagradOptions>& spec() { return optimizer_spec<DecayedAdagradOptions>(); }
};

// Threads use it as Optimizer says.
template <class T>
class DecayedAdagrad final : public RowOptimizer<T> {
 public:
  DecayedAdagrad(const DecayedAdagradOptions& options, const ParameterTuning& tuning, CpuLevel cpu)
      : RowOptimizer<T>(options, tuning, cpu,
                        {.arrays = 1, .idle_state = true, .l2_mode = find_l2_mode(options.l2_mode)}),
        rho_(options.rho),
        epsilon_(static_cast<T>(options.epsilon)) {}

 protected:
  using typename RowOptimizer<T>::Gradient;
  using typename RowOptimizer<T>::Rows;

  void step(const Row<T>& row, Gradient gradient) const override { this->apply(now(), row, gradient); }
  void step_rows(const Rows& rows) const override { this->apply(now(), rows); }

  void advance_state(const Row<T>& row, int64_t steps) const override {
    T stays = static_cast<T>(std::pow(rho_, static_cast<double>(steps)));
    for (int64_t i = 0; i < row.width; ++i) row.state[i] *= stays;
  }

 private:
  // The constants of the step begun last, for the kernels.
  DecayedAdagradStep<T> now() const {
    return {static_cast<T>(this->rate()), epsilon_, static_cast<T>(rho_), static_cast<T>(1 - rho_),
            this->decay()};
  }

  const double rho_;
  const T epsilon_;
};

}  // namespace

constinit const OptimizerEntry kDecayedAdagrad = optimizer_entry<DecayedAdagrad, DecayedAdagradOptions>(
    "decayed_adagrad", false,
    "AdaGrad that forgets: h = rho h + (1 - rho) g^2, w moves by -rate g / sqrt(h + epsilon); decay is by "
    "the global rate. State: h. Rows that sit out steps get exactly what dense training gives.");

}  // namespace ps
