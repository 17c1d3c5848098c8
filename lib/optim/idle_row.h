// Applies steps with zero gradient to the weights of a row, their momentum and their running mean.  Used by
// RowOptimizer to bring rows up to date.
#ifndef PS_OPTIM_IDLE_ROW_H_
#define PS_OPTIM_IDLE_ROW_H_

#include <cstdint>
#include <optional>

#include "base/cpu.h"
#include "optim/kernels/idle.h"
#include "optim/timeline.h"

namespace ps {

// The arrays that such steps change, [width] each.
template <class T>
struct IdleRow {
  T* weight;
  T* momentum;  // null: none
  T* mean;      // mean of the weights over `averaged` steps so far; null: no model averaging
  int64_t averaged;
  int64_t width;
};

// Applies steps [from, to) of the timeline in one pass over the row, with the loops of a level.  With L1 and
// momentum, or L1 and mean, weights that may change their sign on the way are computed one by one.
template <class T>
void advance_row(const Timeline& timeline, int64_t from, int64_t to, const IdleRow<T>& row, CpuLevel cpu);

// Returns steps [from, to) of a row for code that applies them elsewhere; `averaged` is the number of steps in
// the mean of the row so far, if it has one.  Returns nullopt with L1 and momentum, and with L1 and a mean,
// since each weight is then computed by itself.
std::optional<IdleChange> change_between(const Timeline& timeline, int64_t from, int64_t to, bool momentum,
                                         std::optional<int64_t> averaged);

// Does the work of advance_row for weights that idle steps do not change: updates only the mean.
template <class T>
void hold_row(int64_t steps, const IdleRow<T>& row);

}  // namespace ps

#endif  // PS_OPTIM_IDLE_ROW_H_
