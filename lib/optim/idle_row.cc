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

// Handles all cases, one element at a time.  A weight that may change its sign on the way, for which the map
// does not hold, goes through the timeline in smaller pieces.
template <class T>
void advance_elements(const Timeline& timeline, const IdleMap& map, int64_t from, int64_t to,
                      const IdleRow<T>& row) {
  bool linear = timeline.rule().l1 == 0;
  const MeanChange mean = held_change(row.averaged, to - from).mean;
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
    if (row.mean) add_to_mean(mean, state.sum, dither.next(), row.mean[i]);
  }
}

}  // namespace

// The cases that one map solves for all weights of a row run in the kernels of a level, which are
// vectorised: decay alone, if there is no momentum and no mean, and a linear map if there is no L1.  All
// others go through advance_elements.
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

// Has the cases of advance_row: decay, and the linear map, here also with a mean.  The sum of the weight
// over the steps, which the mean takes in, is map.sw w + map.sm m; a timeline with averages computes these
// coefficients.
std::optional<IdleChange> change_between(const Timeline& timeline, int64_t from, int64_t to, bool momentum,
                                         std::optional<int64_t> averaged) {
  const IdleMap map = timeline.between(from, to);
  IdleChange change;
  if (averaged) change = held_change(*averaged, to - from);
  change.dither = to;
  if (!averaged && (!momentum || timeline.detail() == IdleDetail::kDecay)) {
    change.weights = IdleChange::Weights::kDecayed;
    change.keep = map.ww;
    change.threshold = map.wc;
    return change;
  }
  if (timeline.rule().l1 != 0) return std::nullopt;
  change.weights = IdleChange::Weights::kMapped;
  change.momentum = momentum;
  change.map = {map.ww, map.wm, map.mw, map.mm};
  if (averaged) change.mean.of_weight = map.sw, change.mean.of_momentum = map.sm;
  return change;
}

template <class T>
void hold_row(int64_t steps, const IdleRow<T>& row) {
  const IdleChange change = held_change(row.averaged, steps);
  Dither dither(change.dither);
  for (int64_t i = 0; i < row.width; ++i) hold_mean(change.mean, dither.next(), row.weight[i], row.mean[i]);
}

#define PS_INSTANTIATE(T)                                                                    \
  template void advance_row(const Timeline&, int64_t, int64_t, const IdleRow<T>&, CpuLevel); \
  template void hold_row(int64_t, const IdleRow<T>&);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
