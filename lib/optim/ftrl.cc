// FTRL-Proximal, McMahan et al., KDD 2013, algorithm 1.  State per weight: z, n.
//   n' = n + g^2        sigma = (sqrt(n') - sqrt(n)) / alpha        z <- z + g - sigma w        n <- n'
//   w <- 0 if |z| <= l1, else -(z - sign(z) l1) / ((beta + sqrt(n)) / alpha + l2)
// alpha is the learning rate.  Under a schedule, a step at rate eta adds g^2 (alpha / eta)^2 to n: this
// scales the step like the rate, and keeps the result of earlier steps (if eta replaced alpha in the last
// line, weights would fade to zero with the rate).  A zero gradient changes nothing, so sparse rows need no
// catch-up. z is initialised such that the last line gives the initial weights, and set anew in the same way where
// others have changed a weight, with the n that it has.
#include <algorithm>
#include <cmath>
#include <limits>

#include "config/spec.h"
#include "optim/entries.h"
#include "optim/row_optimizer.h"

namespace ps {

namespace {

struct FtrlOptions : OptimizerOptions {
  FtrlOptions() { learning_rate = 0.1; }
  double beta = 1;

  static void add_fields(ObjectSpec<FtrlOptions>& s) {
    s.field("beta", &FtrlOptions::beta, "added to sqrt(n): holds first steps back").above(0);
  }
  void check(std::string_view path) const {
    if (learning_rate > 0) return;
    fail(Code::kUsage, json_path(path, "learning_rate"), ": 0 is too small, expected more than 0");
  }
  static const ObjectSpec<FtrlOptions>& spec() { return optimizer_spec<FtrlOptions>(); }
};

// Threads use it as Optimizer says.
template <class T>
class Ftrl final : public RowOptimizer<T> {
 public:
  Ftrl(const FtrlOptions& options, const ParameterTuning& tuning, CpuLevel cpu)
      : RowOptimizer<T>(options, tuning, cpu, {.arrays = 2, .decays = false}),
        alpha_(options.learning_rate * (tuning.learning_rate > 0 ? tuning.learning_rate : 1)),
        beta_(static_cast<T>(options.beta)),
        l1_(static_cast<T>(tuning.l1.value_or(options.l1))),
        l2_(static_cast<T>(tuning.l2.value_or(options.l2))) {}

 protected:
  using typename RowOptimizer<T>::Gradient;
  using typename RowOptimizer<T>::Rows;

  // Solves w = -(z - sign(z) l1) / (beta / alpha + l2), the last line with n = 0, for z: z and w have
  // opposite signs.
  void initialize_state(const Row<T>& row) const override {
    T slope = beta_ / static_cast<T>(alpha_) + l2_;
    for (int64_t i = 0; i < row.width; ++i) {
      T w = row.weight[i];
      row.state[i] = w == 0 ? 0 : -(w * slope + std::copysign(l1_, w));
    }
  }

  bool makes_weights_from_state() const override { return true; }

  // Solves the last line for z, now with the n that the weight has.  Any z in [-l1, l1] gives a weight of zero; the
  // nearest one is taken.
  void adopt(const Row<T>& row, const T* weights) const override {
    const T* squares = row.state + row.stride;
    const T per_alpha = static_cast<T>(1 / alpha_);
    for (int64_t i = 0; i < row.width; ++i) {
      const T w = weights[i];
      if (w == row.weight[i]) continue;
      const T slope = (beta_ + std::sqrt(squares[i])) * per_alpha + l2_;
      row.state[i] = w == 0 ? std::clamp(row.state[i], -l1_, l1_) : -(w * slope + std::copysign(l1_, w));
      row.weight[i] = w;
    }
  }

  void step(const Row<T>& row, Gradient gradient) const override {
    if (this->rate() != 0) this->apply(now(), row, gradient);
  }
  void step_rows(const Rows& rows) const override {
    if (this->rate() != 0) this->apply(now(), rows);
  }

 private:
  // The constants of the step begun last, for the kernels.
  FtrlStep<T> now() const {
    return {.per_alpha = static_cast<T>(1 / alpha_),
            .slower = static_cast<T>(alpha_ / this->rate()),
            .beta = beta_,
            .l1 = l1_,
            .l2 = l2_,
            .smallest = std::numeric_limits<T>::min()};
  }

  const double alpha_;
  const T beta_, l1_, l2_;
};

}  // namespace

constinit const OptimizerEntry kFtrl = optimizer_entry<Ftrl, FtrlOptions>(
    "ftrl", false,
    "FTRL-Proximal: with s = (sqrt(n + g^2) - sqrt(n)) / rate, z = z + g - s w and n = n + g^2, w is -(z - "
    "sign(z) l1) / ((beta + sqrt(n)) / rate + l2), or zero where |z| <= l1; under a schedule a gradient "
    "counts into n by the square of learning_rate / rate. State: z, n. Rows that sit out steps get exactly "
    "what dense training gives.",
    /*weights_from_state=*/true);

}  // namespace ps
