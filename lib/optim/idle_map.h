// What steps with zero gradient do to a weight and its momentum: one step, and any number of steps composed
// into one map.  Used by Timeline, which holds such maps for whole stretches of training.
#ifndef PS_OPTIM_IDLE_MAP_H_
#define PS_OPTIM_IDLE_MAP_H_

#include <limits>

namespace ps {

// What moves a parameter when its gradient is zero.
struct IdleRule {
  double momentum = 0;
  bool nesterov = false;
  double l1 = 0, l2 = 0;

  // True when nothing does.
  bool is_identity() const { return momentum == 0 && l1 == 0 && l2 == 0; }
};

// One weight with its momentum, and the sum of the weight over the steps it was taken through (for averages).
struct IdleWeight {
  double weight;
  double momentum;
  double sum;
};

// One step with zero gradient:
//   w' = soft(keep w + push m, threshold)      m' = momentum m - pull w
// soft(x, s) moves x towards zero by s and stops there (the proximal step of L1).
struct IdleStep {
  double keep, push, threshold;
  double momentum, pull;

  IdleStep(const IdleRule& rule, double rate);
  void apply(IdleWeight& state) const;
};

// How much of a map is worked out: the rest of it must not be used.
enum class IdleDetail {
  kDecay,   // no momentum: ww and wc, which say all: see below
  kLinear,  // no L1: ww, wm, mw, mm
  kFull,
};

// n steps in a row.  While the sign of w stays what it was, soft only subtracts a constant, so that the steps
// are affine and compose; with bounds on how low w may come in between, the map also says when that
// assumption is safe.  For w >= 0 (for w <= 0 both signs are turned before and after):
//   w_n = ww w + wm m - wc          m_n = mw w + mm m + mc          w_1 + … + w_n = sw w + sm m - sc
// With w = 0 held there by L1:      m_n = decay m, as long as |m| <= hold.
// Without momentum the size of a weight only falls, and zero is never left: if the composed steps would take
// it past zero, it has stopped there, and w_n = soft(ww w, wc) for every w.
struct IdleMap {
  double ww = 1, wm = 0, wc = 0;
  double mw = 0, mm = 1, mc = 0;
  double sw = 0, sm = 0, sc = 0;
  double decay = 1;  // momentum^n
  double hold = kInfinity;
  // Bounds on the coefficients of w_1, …, w_n.  A map of no step has min > max.
  double ww_min = kInfinity, ww_max = -kInfinity, wm_min = kInfinity, wm_max = -kInfinity,
         wc_max = -kInfinity;

  IdleMap() = default;  // no step
  explicit IdleMap(const IdleStep& step);

  // The steps of this map, then those of `next`.
  void append(const IdleMap& next, IdleDetail detail);
  void append(const IdleStep& next, IdleDetail detail);

  // Takes `state` through the steps when L1 is absent.
  void apply_linear(IdleWeight& state) const;

  // The same with L1, if the weight provably keeps its sign (or stays zero) all through; else false, and
  // `state` is as it was.  Needs kFull.
  bool apply(IdleWeight& state) const;

  bool operator==(const IdleMap&) const = default;

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  void append_full(const IdleMap& next);
};

}  // namespace ps

#endif  // PS_OPTIM_IDLE_MAP_H_
