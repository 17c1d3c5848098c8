// Momentum, heavy ball (Polyak, 1964) and Nesterov (Sutskever et al., ICML 2013, written in the gradient at
// w):
//   d <- -eta (g + l2 w)        m <- k m + d
//   heavy ball: w <- soft(w + m, eta l1)        Nesterov: w <- soft(w + k m + d, eta l1)
// With l2_mode decoupled, d <- -eta g, and the step starts from (1 - eta l2) w: SGDW of Loshchilov and
// Hutter, ICLR 2019.
// State: m.
#include "config/spec.h"
#include "optim/entries.h"
#include "optim/row_optimizer.h"

namespace ps {

namespace {

struct MomentumOptions : OptimizerOptions {
  double momentum = 0.9;
  bool nesterov = false;
  std::string l2_mode = "coupled";

  static void add_fields(ObjectSpec<MomentumOptions>& s) {
    s.field("momentum", &MomentumOptions::momentum, "what stays of the last move, below 1").at_least(0);
    s.field("nesterov", &MomentumOptions::nesterov, "look ahead by one move, as Nesterov does");
    s.field("l2_mode", &MomentumOptions::l2_mode,
            "coupled: L2 regularization, l2 w is added to the clipped gradient, and so to the momentum; "
            "decoupled: l2 is weight decay beside the step. Rows that sit out steps get either exactly")
        .one_of({"coupled", "decoupled"});
  }
  void check(std::string_view path) const {
    optim_internal::check_below_one(momentum, json_path(path, "momentum"));
  }
  static const ObjectSpec<MomentumOptions>& spec() { return optimizer_spec<MomentumOptions>(); }
};

// Threads use it as Optimizer says.
template <class T>
class Momentum final : public RowOptimizer<T> {
 public:
  Momentum(const MomentumOptions& options, const ParameterTuning& tuning, CpuLevel cpu)
      : RowOptimizer<T>(options, tuning, cpu,
                        {.arrays = 1,
                         .momentum = options.momentum,
                         .nesterov = options.nesterov,
                         .l2_mode = find_l2_mode(options.l2_mode)}),
        momentum_(static_cast<T>(tuning.momentum.value_or(options.momentum))),
        nesterov_(options.nesterov),
        coupled_(find_l2_mode(options.l2_mode) == L2Mode::kCoupled) {}

 protected:
  using typename RowOptimizer<T>::Gradient;
  using typename RowOptimizer<T>::Rows;

  void step(const Row<T>& row, Gradient gradient) const override {
    nesterov_ ? this->apply(now<true>(), row, gradient) : this->apply(now<false>(), row, gradient);
  }
  void step_rows(const Rows& rows) const override {
    nesterov_ ? this->apply(now<true>(), rows) : this->apply(now<false>(), rows);
  }

 private:
  // The constants of the step begun last, for the kernels.
  template <bool kNesterov>
  MomentumStep<T, kNesterov> now() const {
    return {.momentum = momentum_,
            .eta = static_cast<T>(this->rate()),
            .l2 = static_cast<T>(coupled_ ? this->l2() : 0),
            .shrink = static_cast<T>(coupled_ ? 0 : this->rate() * this->l2()),
            .threshold = static_cast<T>(this->rate() * this->l1())};
  }

  const T momentum_;
  const bool nesterov_, coupled_;
};

}  // namespace

constinit const OptimizerEntry kMomentum = optimizer_entry<Momentum, MomentumOptions>(
    "momentum", false,
    "Gradient descent with momentum: m = momentum m - rate (g + l2 w), w moves by m, or with nesterov by "
    "momentum m - rate (g + l2 w), then by rate l1 towards zero. "
    "State: m. Rows that sit out steps get exactly what dense training gives.");

constinit const OptimizerEntry kSparseMomentum = optimizer_entry<Momentum, MomentumOptions>(
    "sparse_momentum", false,
    "The same as momentum, under the name that PaddlePaddle gives it for sparse parameters.");

}  // namespace ps
