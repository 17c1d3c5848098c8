#include "optim/idle_row.h"

#include "optim/elementwise.h"

namespace ps {

namespace {

// Coefficients are doubles also for rows of floats: 1 - rate l2 is so near 1 that a rounded one would be off
// by more than it says, the same way at every step.

template <class T>
void advance_linear(const IdleMap& map, Dither dither, const IdleRow<T>& row) {
  double ww = map.ww, wm = map.wm, mw = map.mw, mm = map.mm;
  for (int64_t i = 0; i < row.width; ++i) {
    double w = row.weight[i], m = row.momentum[i];
    row.weight[i] = round_evenly<T>(ww * w + wm * m, dither.next());
    row.momentum[i] = round_normal<T>(mw * w + mm * m);
  }
}

template <class T>
void advance_decay(const IdleMap& map, Dither dither, const IdleRow<T>& row) {
  double ww = map.ww, wc = map.wc;
  for (int64_t i = 0; i < row.width; ++i) {
    double w = row.weight[i];
    row.weight[i] = round_evenly<T>(soft_threshold(ww * w, wc), dither.next());
  }
}

// All cases: element by element.
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
void advance_row(const Timeline& timeline, int64_t from, int64_t to, const IdleRow<T>& row) {
  IdleMap map = timeline.between(from, to);
  bool decay = !row.momentum || timeline.detail() == IdleDetail::kDecay;
  if (!row.mean && decay) return advance_decay(map, Dither(to), row);
  if (!row.mean && timeline.rule().l1 == 0) return advance_linear(map, Dither(to), row);
  advance_elements(timeline, map, from, to, row);
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

template void advance_row(const Timeline&, int64_t, int64_t, const IdleRow<float>&);
template void advance_row(const Timeline&, int64_t, int64_t, const IdleRow<double>&);
template void hold_row(int64_t, const IdleRow<float>&);
template void hold_row(int64_t, const IdleRow<double>&);

}  // namespace ps
