// AdaMax, Kingma and Ba, ICLR 2015, section 7.1:
//   m <- beta1 m + (1 - beta1) g        u <- max(beta2 u, |g|)
//   w <- soft((1 - eta l2) w - eta / (1 - beta1^t) m / (u + epsilon), eta l1)
// State: m, u.  Lazy like Adam; t counts the steps of the job.
#include <cmath>

#include "config/spec.h"
#include "optim/entries.h"
#include "optim/row_optimizer.h"

namespace ps {

namespace {

struct AdamaxOptions : AdaptiveOptions {
  AdamaxOptions() { learning_rate = 0.002; }
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;

  static void add_fields(ObjectSpec<AdamaxOptions>& s) {
    s.field("beta1", &AdamaxOptions::beta1, "what stays of m at each step, below 1").at_least(0);
    s.field("beta2", &AdamaxOptions::beta2, "what stays of u at each step, below 1").at_least(0);
    s.field("epsilon", &AdamaxOptions::epsilon, "added to u").above(0);
    add_l2_mode(s);
  }
  void check(std::string_view path) const {
    optim_internal::check_below_one(beta1, json_path(path, "beta1"));
    optim_internal::check_below_one(beta2, json_path(path, "beta2"));
  }
  static const ObjectSpec<AdamaxOptions>& spec() { return optimizer_spec<AdamaxOptions>(); }
};

// Threads use it as Optimizer says.
template <class T>
class Adamax final : public RowOptimizer<T> {
 public:
  Adamax(const AdamaxOptions& options, const ParameterTuning& tuning, CpuLevel cpu)
      : RowOptimizer<T>(options, tuning, cpu, {.arrays = 2, .l2_mode = find_l2_mode(options.l2_mode)}),
        options_(options) {}

 protected:
  using typename RowOptimizer<T>::Gradient;
  using typename RowOptimizer<T>::Rows;

  void on_begin_step() override {
    eta_ = static_cast<T>(this->rate() / (1 - std::pow(options_.beta1, static_cast<double>(this->steps()))));
  }

  void step(const Row<T>& row, Gradient gradient) const override { this->apply(now(), row, gradient); }
  void step_rows(const Rows& rows) const override { this->apply(now(), rows); }

 private:
  // The constants of the step begun last, for the kernels.
  AdamaxStep<T> now() const {
    return {.eta = eta_,
            .epsilon = static_cast<T>(options_.epsilon),
            .beta1 = static_cast<T>(options_.beta1),
            .fresh = static_cast<T>(1 - options_.beta1),
            .beta2 = static_cast<T>(options_.beta2),
            .decay = this->decay()};
  }

  const AdamaxOptions options_;
  T eta_ = 0;
};

}  // namespace

constinit const OptimizerEntry kAdamax =
    optimizer_entry<Adamax, AdamaxOptions>("adamax", true,
                                           "AdaMax: m = beta1 m + (1 - beta1) g, u = max(beta2 u, |g|), w "
                                           "moves by -rate m / ((1 - beta1^t) (u + epsilon)), "
                                           "where t counts the steps of the job; decay is by the global "
                                           "rate. State: m, u. Lazy: m and u move only at steps "
                                           "that touch the row; decay is exact.");

}  // namespace ps
