// Takes the weights of a row, their momentum and their running mean through steps with zero gradient.
#ifndef PS_OPTIM_IDLE_ROW_H_
#define PS_OPTIM_IDLE_ROW_H_

#include <cstdint>

#include "optim/timeline.h"

namespace ps {

// The arrays that such steps move, [width] each.
template <class T>
struct IdleRow {
  T* weight;
  T* momentum;  // null: none
  T* mean;      // of the weights over `averaged` steps so far; null: not kept
  int64_t averaged;
  int64_t width;
};

// Steps [from, to) of the timeline.  One pass over the row; with L1 and momentum, or L1 and mean, weights
// that may change sign on the way are looked into one by one.
template <class T>
void advance_row(const Timeline& timeline, int64_t from, int64_t to, const IdleRow<T>& row);

// The same for weights that nothing moves: only the mean does.
template <class T>
void hold_row(int64_t steps, const IdleRow<T>& row);

}  // namespace ps

#endif  // PS_OPTIM_IDLE_ROW_H_
