#include "optim/idle_map.h"

#include <algorithm>
#include <cmath>

#include "optim/kernels/arithmetic.h"

namespace ps {

namespace {

// Least and greatest a x for a in [low, high].
struct Range {
  double low, high;
};
Range times(double low, double high, double x) {
  return x >= 0 ? Range{low * x, high * x} : Range{high * x, low * x};
}

}  // namespace

// Heavy ball: m' = k m - rate l2 w, w' = w + m'.  Nesterov: the same m', w' = w + k m' - rate l2 w.
// Decoupled, with k^2 m for Nesterov: m' = k m, w' = (1 - rate l2) w + m'.
IdleStep::IdleStep(const IdleRule& rule, double rate)
    : keep(1 - rate * rule.l2 * (rule.nesterov && !rule.decoupled ? 1 + rule.momentum : 1)),
      push(rule.nesterov ? rule.momentum * rule.momentum : rule.momentum),
      threshold(rate * rule.l1),
      momentum(rule.momentum),
      pull(rule.decoupled ? 0 : rate * rule.l2) {}

void IdleStep::apply(IdleWeight& state) const {
  double w = soft_threshold(keep * state.weight + push * state.momentum, threshold);
  state.momentum = momentum * state.momentum - pull * state.weight;
  state.weight = w;
  state.sum += w;
}

IdleMap::IdleMap(const IdleStep& step)
    : ww(step.keep),
      wm(step.push),
      wc(step.threshold),
      mw(-step.pull),
      mm(step.momentum),
      sw(step.keep),
      sm(step.push),
      sc(step.threshold),
      decay(step.momentum),
      hold(step.push > 0 ? step.threshold / step.push : kInfinity),
      ww_min(step.keep),
      ww_max(step.keep),
      wm_min(step.push),
      wm_max(step.push),
      wc_max(step.threshold) {}

void IdleMap::apply_linear(IdleWeight& state) const {
  auto [w, m, sum] = state;
  state = {ww * w + wm * m, mw * w + mm * m, sum + sw * w + sm * m};
}

// A weight of zero that L1 holds there only loses momentum.  Any other is taken as positive: `sign` is that
// of the weight, or of the momentum if the weight is zero, which is the side to which it will move.
// `lowest` is a lower bound of w_1, …, w_n: w is not negative, so that ww_min w bounds its part, and the
// part of m takes wm_min or wm_max by the sign of m.  If it is at least zero, no step has crossed zero, and
// the affine map is exact.  A NaN fails the comparison and leaves the state unchanged.
bool IdleMap::apply(IdleWeight& state) const {
  if (state.weight == 0 && std::fabs(state.momentum) <= hold) {
    state.momentum *= decay;
    return true;
  }
  double sign = state.weight != 0 ? std::copysign(1.0, state.weight) : std::copysign(1.0, state.momentum);
  double w = sign * state.weight, m = sign * state.momentum;
  double lowest = ww_min * w + (m >= 0 ? wm_min : wm_max) * m - wc_max;
  if (!(lowest >= 0)) return false;
  state.weight = sign * (ww * w + wm * m - wc);
  state.momentum = sign * (mw * w + mm * m + mc);
  state.sum += sign * (sw * w + sm * m - sc);
  return true;
}

// Multiplies the two maps as matrices: with (w, m) -> (ww w + wm m, mw w + mm m), the map y after the map x
// has the coefficients y x.  With kDecay, the constants compose as wc = y.ww x.wc + y.wc, since w_n = ww w
// - wc.
void IdleMap::append(const IdleMap& next, IdleDetail detail) {
  const IdleMap &y = next, x = *this;
  switch (detail) {
    case IdleDetail::kDecay:
      ww = y.ww * x.ww;
      wc = y.ww * x.wc + y.wc;
      return;
    case IdleDetail::kLinear:
      ww = y.ww * x.ww + y.wm * x.mw;
      wm = y.ww * x.wm + y.wm * x.mm;
      mw = y.mw * x.ww + y.mm * x.mw;
      mm = y.mw * x.wm + y.mm * x.mm;
      return;
    case IdleDetail::kFull:
      return append_full(next);
  }
}

// Does the same with a single step, whose coefficients are keep, push, -pull and momentum.
void IdleMap::append(const IdleStep& next, IdleDetail detail) {
  const IdleMap x = *this;
  switch (detail) {
    case IdleDetail::kDecay:
      ww = next.keep * x.ww;
      wc = next.keep * x.wc + next.threshold;
      return;
    case IdleDetail::kLinear:
      ww = next.keep * x.ww + next.push * x.mw;
      wm = next.keep * x.wm + next.push * x.mm;
      mw = next.momentum * x.mw - next.pull * x.ww;
      mm = next.momentum * x.mm - next.pull * x.wm;
      return;
    case IdleDetail::kFull:
      return append_full(IdleMap(next));
  }
}

// The coefficients of a step j of `next`, seen from before this map, are
//   ww_j x.ww + wm_j x.mw      ww_j x.wm + wm_j x.mm      ww_j x.wc - wm_j x.mc + wc_j
// whose bounds follow from those of ww_j, wm_j, wc_j term by term.
void IdleMap::append_full(const IdleMap& next) {
  const IdleMap &y = next, x = *this;
  append(next, IdleDetail::kLinear);
  wc = y.ww * x.wc - y.wm * x.mc + y.wc;
  mc = y.mm * x.mc - y.mw * x.wc + y.mc;
  sw = x.sw + y.sw * x.ww + y.sm * x.mw;
  sm = x.sm + y.sw * x.wm + y.sm * x.mm;
  sc = x.sc + y.sw * x.wc - y.sm * x.mc + y.sc;
  decay = x.decay * y.decay;
  // Momentum that has decayed to zero satisfies any threshold.
  hold = std::min(x.hold, x.decay > 0 ? y.hold / x.decay : kInfinity);

  Range ww_w = times(y.ww_min, y.ww_max, x.ww), wm_w = times(y.wm_min, y.wm_max, x.mw);
  Range ww_m = times(y.ww_min, y.ww_max, x.wm), wm_m = times(y.wm_min, y.wm_max, x.mm);
  Range ww_c = times(y.ww_min, y.ww_max, x.wc), wm_c = times(y.wm_min, y.wm_max, -x.mc);
  ww_min = std::min(x.ww_min, ww_w.low + wm_w.low);
  ww_max = std::max(x.ww_max, ww_w.high + wm_w.high);
  wm_min = std::min(x.wm_min, ww_m.low + wm_m.low);
  wm_max = std::max(x.wm_max, ww_m.high + wm_m.high);
  wc_max = std::max(x.wc_max, ww_c.high + wm_c.high + y.wc_max);
}

}  // namespace ps
