// An update applies the concrete optimizer's step to a row that has seen all earlier steps. catch_up brings a
// row to that state: it advances the optimizer's own state, then the weights and their momentum by the
// timeline, and their mean from the first averaged step on.
#include "optim/row_optimizer.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/reals.h"
#include "optim/idle_row.h"

namespace ps {

namespace {

// Returns true if l2 acts only at the steps that touch a row: inside the gradients of an adaptive optimizer,
// many steps have no closed form.
bool is_lazy(const RowTraits& traits) {
  return traits.l2_mode == L2Mode::kCoupled && !traits.momentum;
}

// Returns the part of the optimizer that moves a weight without gradient.  The tuning of the parameter goes
// before the options of the optimizer.  l1 and l2 are left out if they belong to the optimizer's own
// formula, and l2 if it acts at touching steps alone.
IdleRule idle_rule(const OptimizerOptions& options, const ParameterTuning& tuning, const RowTraits& traits) {
  if (tuning.momentum && !traits.momentum) {
    fail(Code::kUsage, "momentum: set for a parameter, but its optimizer has none");
  }
  IdleRule rule;
  rule.momentum = traits.momentum ? tuning.momentum.value_or(*traits.momentum) : 0;
  rule.nesterov = traits.nesterov;
  rule.l1 = traits.decays ? tuning.l1.value_or(options.l1) : 0;
  rule.l2 = traits.decays && !is_lazy(traits) ? tuning.l2.value_or(options.l2) : 0;
  rule.decoupled = traits.l2_mode == L2Mode::kDecoupled;
  return rule;
}

template <class T>
T clip_bound(const OptimizerOptions& options, const ParameterTuning& tuning) {
  std::optional<double> bound = tuning.clip_value ? tuning.clip_value : options.clip_value;
  return bound ? static_cast<T>(*bound) : std::numeric_limits<T>::infinity();
}

}  // namespace

template <class T>
RowOptimizer<T>::RowOptimizer(const OptimizerOptions& options, const ParameterTuning& tuning, CpuLevel cpu,
                              const RowTraits& traits)
    : cpu_(cpu),
      traits_(traits),
      factor_(tuning.learning_rate),
      rule_(idle_rule(options, tuning, traits)),
      coupled_(static_cast<T>(is_lazy(traits) ? tuning.l2.value_or(options.l2) : 0)),
      clip_(clip_bound<T>(options, tuning)),
      average_(options.average) {
  if (traits.momentum || !rule_.is_identity())
    timeline_ = std::make_unique<Timeline>(rule_, options.average.has_value());
}

template <class T>
void RowOptimizer<T>::initialize(const Row<T>& row) const {
  for (int array = 0; array < traits_.arrays; ++array)
    std::fill_n(row.state + array * row.stride, row.width, T(0));
  initialize_state(row);
  if (average_) std::copy_n(row.weight, row.width, mean(row));
}

template <class T>
void RowOptimizer<T>::begin_step(double learning_rate) {
  rate_ = learning_rate * factor_;
  if (timeline_) timeline_->append(rate_);
  ++steps_;
  on_begin_step();
}

// The first step that counts for the average may lie between `from` and `to`: then the steps before it are
// applied without a mean, and the others with one.  The state of the optimizer itself, such as decayed sums
// of squares, does not depend on the weights and is advanced by all steps at once.
template <class T>
void RowOptimizer<T>::catch_up(const Row<T>& row, int64_t from, int64_t to) const {
  if (from >= to || idle_is_identity()) return;
  if (traits_.idle_state) advance_state(row, to - from);
  if (average_ && from < average_->begin_step && average_->begin_step < to) {
    advance(row, from, average_->begin_step);
    from = average_->begin_step;
  }
  advance(row, from, to);
}

// Applies steps [from, to), all of which lie on the same side of the first step that counts for the average.
template <class T>
void RowOptimizer<T>::advance(const Row<T>& row, int64_t from, int64_t to) const {
  IdleRow<T> idle{row.weight, traits_.momentum ? row.state : nullptr, nullptr, 0, row.width};
  if (average_ && from >= average_->begin_step) {
    idle.mean = mean(row);
    idle.averaged = from - average_->begin_step;
  }
  if (timeline_) {
    advance_row(*timeline_, from, to, idle, cpu_);
  } else if (idle.mean) {
    hold_row(to - from, idle);
  }
}

// steps_ counts the current step already: it is number steps_ - 1, and the mean has taken in steps_ - 1 -
// begin_step steps before it.
template <class T>
void RowOptimizer<T>::update(const Row<T>& row, const T* gradient, T scale) const {
  step(row, {gradient, scale, clip_});
  if (average_ && steps_ > average_->begin_step) {
    hold_row(1, IdleRow<T>{row.weight, nullptr, mean(row), steps_ - 1 - average_->begin_step, row.width});
  }
}

template <class T>
void RowOptimizer<T>::update_rows(std::span<T* const> rows, int64_t width, const T* gradients,
                                  T scale) const {
  if (average_) return Optimizer<T>::update_rows(rows, width, gradients, scale);
  step_rows({rows, width, {gradients, scale, clip_}});
}

// Asks the concrete optimizer for its step by step_rows with no rows and `asked` set, so that it needs no
// further virtual function.
template <class T>
std::optional<CurrentStep<T>> RowOptimizer<T>::current_step() const {
  CurrentStep<T> current{{}, clip_, {}};
  step_rows({{}, 0, {nullptr, 1, clip_}, &current.step});
  if (average_ && steps_ > average_->begin_step)
    current.mean = held_change(steps_ - 1 - average_->begin_step, 1);
  return current;
}

// Steps on both sides of the first that counts for the average are two changes, and left to catch_up.
template <class T>
std::optional<IdleChange> RowOptimizer<T>::idle_change(int64_t from, int64_t to) const {
  if (traits_.idle_state || (!timeline_ && !average_)) return std::nullopt;
  const bool averages = average_ && to > average_->begin_step;
  const int64_t begin = averages ? average_->begin_step : from;
  if (!timeline_)
    return averages ? held_change(std::max(from - begin, int64_t{0}), to - std::max(from, begin))
                    : IdleChange{};
  if (from < begin) return std::nullopt;
  return change_between(*timeline_, from, to, traits_.momentum.has_value(),
                        averages ? std::optional(from - begin) : std::nullopt);
}

// Until the first averaged step the mean is not that of any step, and the weights are read.
template <class T>
void RowOptimizer<T>::read_at(int64_t steps, const Row<T>& row, T* out) const {
  const T* from = average_ && steps > average_->begin_step ? mean(row) : row.weight;
  if (from != out) std::copy_n(from, row.width, out);
}

template <class T>
void RowOptimizer<T>::read_rows(std::span<T* const> rows, int64_t width, T* out) const {
  if (average_) return Optimizer<T>::read_rows(rows, width, out);
  if (width == 1) {  // a call of memmove for each would take as long as fetching the row's cache line
    for (const T* row : rows) *out++ = *row;
    return;
  }
  for (const T* row : rows) out = std::copy_n(row, width, out);
}

// state := steps:i64 rate:f64 timeline?
template <class T>
void RowOptimizer<T>::save(std::string& out) const {
  put(out, steps_);
  put(out, rate_);
  if (timeline_) timeline_->save(out);
}

template <class T>
void RowOptimizer<T>::load(ByteReader& in) {
  PS_CHECK(steps_ == 0);
  steps_ = in.get<int64_t>();
  rate_ = in.get<double>();
  if (timeline_) timeline_->load(in, steps_);
  if (!in.ok() || steps_ < 0) fail(Code::kCorrupt, "state of an optimizer is cut short");
}

#define PS_INSTANTIATE(T) template class RowOptimizer<T>;
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
