// Adam, Kingma and Ba, ICLR 2015, with decoupled decay (AdamW, Loshchilov and Hutter, ICLR 2019):
//   m <- beta1 m + (1 - beta1) g        v <- beta2 v + (1 - beta2) g^2
//   w <- soft((1 - eta l2) w - eta (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon), eta l1)
// State: m, v.  Lazy: steps without a gradient for the row leave m and v unchanged, but apply weight decay. t
// counts the steps of the job, not of the row, which saves state: the first steps of a row that is touched
// late are up to 7 eta long.
#include <cmath>

#include "config/spec.h"
#include "optim/entries.h"
#include "optim/row_optimizer.h"

namespace ps {

namespace {

struct AdamOptions : AdaptiveOptions {
  AdamOptions() { learning_rate = 0.001; }
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;

  static void add_fields(ObjectSpec<AdamOptions>& s) {
    s.field("beta1", &AdamOptions::beta1, "what stays of m at each step, below 1").at_least(0);
    s.field("beta2", &AdamOptions::beta2, "what stays of v at each step, below 1").at_least(0);
    s.field("epsilon", &AdamOptions::epsilon, "added to the root of v").above(0);
    add_l2_mode(s);
  }
  void check(std::string_view path) const {
    optim_internal::check_below_one(beta1, json_path(path, "beta1"));
    optim_internal::check_below_one(beta2, json_path(path, "beta2"));
  }
  static const ObjectSpec<AdamOptions>& spec() { return optimizer_spec<AdamOptions>(); }
};

// Threads use it as Optimizer says.
template <class T>
class Adam final : public RowOptimizer<T> {
 public:
  Adam(const AdamOptions& options, const ParameterTuning& tuning, CpuLevel cpu)
      : RowOptimizer<T>(options, tuning, cpu, {.arrays = 2, .l2_mode = find_l2_mode(options.l2_mode)}),
        options_(options) {}

 protected:
  using typename RowOptimizer<T>::Gradient;
  using typename RowOptimizer<T>::Rows;

  // The corrections of both moments are the same for all weights of a step: eta_ has the rate and that of
  // m, and unbias_ is the factor of v, so that a weight costs no further division.
  void on_begin_step() override {
    double t = static_cast<double>(this->steps());
    eta_ = static_cast<T>(this->rate() / (1 - std::pow(options_.beta1, t)));
    unbias_ = static_cast<T>(1 / (1 - std::pow(options_.beta2, t)));
  }

  void step(const Row<T>& row, Gradient gradient) const override { this->apply(now(), row, gradient); }
  void step_rows(const Rows& rows) const override { this->apply(now(), rows); }

 private:
  // The constants of the step begun last, for the kernels.
  AdamStep<T> now() const {
    return {.eta = eta_,
            .unbias = unbias_,
            .epsilon = static_cast<T>(options_.epsilon),
            .beta1 = static_cast<T>(options_.beta1),
            .fresh1 = static_cast<T>(1 - options_.beta1),
            .beta2 = static_cast<T>(options_.beta2),
            .fresh2 = static_cast<T>(1 - options_.beta2),
            .decay = this->decay()};
  }

  const AdamOptions options_;
  T eta_ = 0, unbias_ = 1;
};

}  // namespace

constinit const OptimizerEntry kAdam = optimizer_entry<Adam, AdamOptions>(
    "adam", true,
    "Adam: m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2, w moves by -rate m' / (sqrt(v') + "
    "epsilon), where m' = m / (1 - beta1^t), v' = v / (1 - beta2^t) and t counts the steps of the job; decay "
    "is by the global rate (AdamW). State: m, v. Lazy: m and v move only at steps that touch the row; decay "
    "is exact.");

}  // namespace ps
