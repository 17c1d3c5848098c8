// RowOptimizer: the common base of all optimizers.  It has the rate of the current step, weight decay and
// catch-up, clipping by value, and model averaging; a concrete optimizer adds its state and its step.
#ifndef PS_OPTIM_ROW_OPTIMIZER_H_
#define PS_OPTIM_ROW_OPTIMIZER_H_

#include <memory>
#include <optional>

#include "optim/optimizer.h"
#include "optim/options.h"
#include "optim/step_kernels.h"
#include "optim/timeline.h"

namespace ps {

// Properties of a concrete optimizer.
struct RowTraits {
  int arrays = 0;                       // state arrays, without the one for averages
  bool idle_state = false;              // advance_state does something
  bool decays = true;                   // l1 and l2 are weight decay, not part of its own formula
  std::optional<double> momentum = {};  // if set, state array 0 is momentum, with this decay factor
  bool nesterov = false;
  L2Mode l2_mode = L2Mode::kDecoupled;
};

template <class T>
// Owned as Optimizer says: one thread begins steps; then any threads may work on different rows.
class RowOptimizer : public Optimizer<T> {
 public:
  // Throws kUsage if the tuning sets an option that the optimizer does not have.
  RowOptimizer(const OptimizerOptions& options, const ParameterTuning& tuning, CpuLevel cpu,
               const RowTraits& traits);

  CpuLevel cpu() const final { return cpu_; }

  int state_arrays() const final { return traits_.arrays + (average_ ? 1 : 0); }
  void initialize(const Row<T>& row) const final;
  void begin_step(double learning_rate) final;
  int64_t steps() const final { return steps_; }
  bool depends_on_column() const final { return average_ && steps_ > average_->begin_step; }
  bool idle_is_identity() const final { return !timeline_ && !traits_.idle_state && !average_; }
  void catch_up(const Row<T>& row, int64_t from, int64_t to) const final;
  void update(const Row<T>& row, const T* gradient, T scale) const final;
  void update_rows(std::span<T* const> rows, int64_t width, const T* gradients, T scale) const final;
  std::optional<CurrentStep<T>> current_step() const final;
  std::optional<IdleChange> idle_change(int64_t from, int64_t to) const final;
  void read(const Row<T>& row, T* out) const final { read_at(steps_, row, out); }
  void read_before(const Row<T>& row, T* out) const final { read_at(steps_ - 1, row, out); }
  void read_rows(std::span<T* const> rows, int64_t width, T* out) const final;
  void save(std::string& out) const final;
  void load(ByteReader& in) final;

 protected:
  // The gradient of update, which is still to be scaled and clipped.
  struct Gradient {
    const T* values;
    T scale, bound;
  };

  // The rows of update_rows, with a pointer to the gradient of the first; the other gradients follow it.  If
  // `asked` is set, the step is copied there instead of being applied.
  struct Rows {
    std::span<T* const> starts;
    int64_t width;
    Gradient gradient;
    AnyStep<T>* asked = nullptr;
  };

  // Applies the step begun last.  A concrete optimizer calls apply with its constants, a struct of
  // optim/kernels/steps.h.
  virtual void step(const Row<T>& row, Gradient gradient) const = 0;
  virtual void step_rows(const Rows& rows) const = 0;

  template <class Step>
  void apply(const Step& step, const Row<T>& row, Gradient gradient) const {
    step_kernels<Step>(cpu_).row(step, {row.weight, row.state, row.width, row.stride, gradient.values,
                                        gradient.scale, gradient.bound});
  }
  template <class Step>
  void apply(const Step& step, const Rows& rows) const {
    if (rows.asked != nullptr) {
      *rows.asked = step;
      return;
    }
    step_kernels<Step>(cpu_).rows(
        step, {rows.starts.data(), static_cast<int64_t>(rows.starts.size()), rows.width, rows.gradient.values,
               rows.gradient.scale, rows.gradient.bound});
  }

  // Called when a step begins, after rate() and steps() were updated for it.
  virtual void on_begin_step() {}

  // Sets the state of a row that no step has touched, if it is not zero.
  virtual void initialize_state(const Row<T>&) const {}

  // Applies `steps` steps with zero gradient to the state other than momentum.
  virtual void advance_state(const Row<T>&, int64_t) const {}

  // The rate of the current step, times the parameter's own factor; and the weight decay in force.  The l2 of
  // an adaptive optimizer is 0 here if it is coupled.
  double rate() const { return rate_; }
  double l1() const { return rule_.l1; }
  double l2() const { return rule_.l2; }

  Decay<T> decay() const {
    return {static_cast<T>(rate_ * rule_.l2), static_cast<T>(rate_ * rule_.l1), coupled_};
  }

 private:
  void advance(const Row<T>& row, int64_t from, int64_t to) const;
  void read_at(int64_t steps, const Row<T>& row, T* out) const;
  T* mean(const Row<T>& row) const { return row.state + traits_.arrays * row.stride; }

  const CpuLevel cpu_;
  const RowTraits traits_;
  const double factor_;  // factor of the parameter's rate
  const IdleRule rule_;
  const T coupled_;  // l2 in the gradients of an adaptive optimizer; idle steps have none
  const T clip_;     // bound for clipping by value; infinite: no clipping
  const std::optional<AverageOptions> average_;
  std::unique_ptr<Timeline> timeline_;  // null if steps with zero gradient do not change weights
  double rate_ = 0;
  int64_t steps_ = 0;
};

}  // namespace ps

#endif  // PS_OPTIM_ROW_OPTIMIZER_H_
