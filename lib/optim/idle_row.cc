#include "optim/idle_row.h"

#include "base/cpu.h"
#include "base/cpu_levels.h"
#include "base/reals.h"
#include "optim/kernels/idle.h"
#include "optim/kernels/rounding.h"

namespace ps {

// The kernels of each level of instruction sets are in lib/optim/kernels/idle.cc.
#define PS_DECLARE(level)        \
  namespace level {              \
  template <class T>             \
  IdleKernels<T> idle_kernels(); \
  }
PS_FOR_CPU_LEVELS(PS_DECLARE)
#undef PS_DECLARE

namespace {

template <class T>
IdleKernels<T> idle_kernels(CpuLevel cpu) {
#define PS_FUNCTION(level) level::idle_kernels<T>,
  static constexpr IdleKernels<T> (*kLevels[])() = {PS_FOR_CPU_LEVELS(PS_FUNCTION)};
#undef PS_FUNCTION
  return kLevels[static_cast<int>(cpu)]();
}

// Returns the mean of `count` numbers with mean `mean` and of `more` numbers with sum `sum` together.
double join_mean(double mean, double count, double sum, double more) {
  return mean + (sum - more * mean) / (count + more);
}

// Handles all cases, one element at a time.  A weight that may change its sign on the way, for which the map
// does not hold, goes through the timeline in smaller pieces.
template <class T>
void advance_elements(const Timeline& timeline, const IdleMap& map, int64_t from, int64_t to,
                      const IdleRow<T>& row) {
  bool linear = timeline.rule().l1 == 0;
  double averaged = static_cast<double>(row.averaged), steps = static_cast<double>(to - from);
  Dither dither(to);
  for (int64_t i = 0; i < row.width; ++i) {
    IdleWeight state{row.weight[i], row.momentum ? static_cast<double>(row.momentum[i]) : 0.0, 0.0};
    if (linear) {
      map.apply_linear(state);
    } else if (!map.apply(state)) {
      timeline.advance(state, from, to);
    }
    row.weight[i] = round_evenly<T>(state.weight, dither.next());
    if (row.momentum) row.momentum[i] = round_normal<T>(state.momentum);
    if (row.mean) {
      row.mean[i] = round_evenly<T>(join_mean(row.mean[i], averaged, state.sum, steps), dither.next());
    }
  }
}

}  // namespace

template <class T>
void advance_row(const Timeline& timeline, int64_t from, int64_t to, const IdleRow<T>& row, CpuLevel cpu) {
  IdleMap map = timeline.between(from, to);
  bool decay = !row.momentum || timeline.detail() == IdleDetail::kDecay;
  if (!row.mean && decay) {
    return idle_kernels<T>(cpu).advance_decay(map.ww, map.wc, to, row.weight, row.width);
  }
  if (!row.mean && timeline.rule().l1 == 0) {
    const LinearMap linear{map.ww, map.wm, map.mw, map.mm};
    return idle_kernels<T>(cpu).advance_linear(linear, to, row.weight, row.momentum, row.width);
  }
  advance_elements(timeline, map, from, to, row);
}

std::optional<IdleChange> change_between(const Timeline& timeline, int64_t from, int64_t to, bool momentum) {
  const IdleMap map = timeline.between(from, to);
  if (!momentum || timeline.detail() == IdleDetail::kDecay) return IdleChange{{}, map.ww, map.wc, to, false};
  if (timeline.rule().l1 != 0) return std::nullopt;
  return IdleChange{{map.ww, map.wm, map.mw, map.mm}, 1, 0, to, true};
}

template <class T>
void hold_row(int64_t steps, const IdleRow<T>& row) {
  double averaged = static_cast<double>(row.averaged), more = static_cast<double>(steps);
  Dither dither(row.averaged + steps);
  for (int64_t i = 0; i < row.width; ++i) {
    double sum = more * static_cast<double>(row.weight[i]);
    row.mean[i] = round_evenly<T>(join_mean(row.mean[i], averaged, sum, more), dither.next());
  }
}

#define PS_INSTANTIATE(T)                                                                    \
  template void advance_row(const Timeline&, int64_t, int64_t, const IdleRow<T>&, CpuLevel); \
  template void hold_row(int64_t, const IdleRow<T>&);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
