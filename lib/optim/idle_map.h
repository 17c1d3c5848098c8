// The effect of steps with zero gradient (idle steps) on a weight and its momentum: of one step, and of any
// number of steps composed into one map.  Used by Timeline, which stores such maps for long ranges of steps.
#ifndef PS_OPTIM_IDLE_MAP_H_
#define PS_OPTIM_IDLE_MAP_H_

#include <limits>

namespace ps {

// The parts of an optimizer that change a weight even if its gradient is zero.
struct IdleRule {
  double momentum = 0;
  bool nesterov = false;
  double l1 = 0, l2 = 0;
  bool decoupled = false;  // l2 acts on the weight alone; else inside the gradient, and so on momentum too

  // Returns true if steps with zero gradient change nothing.
  bool is_identity() const { return momentum == 0 && l1 == 0 && l2 == 0; }
};

// One weight with its momentum, and the sum of the weight over the applied steps (for averages).
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

// The coefficients of a map that are computed; the others must not be used.
enum class IdleDetail {
  kDecay,   // no momentum: ww and wc suffice, see below
  kLinear,  // no L1: ww, wm, mw, mm
  kFull,
};

// The composition of n steps.  While w keeps its sign, soft only subtracts a constant, so the steps are
// affine maps and compose.  The map also bounds the lowest value of w in between, and so tells if that
// assumption holds for a given weight.  For w >= 0 (for w <= 0, w and m are negated before and after):
//   w_n = ww w + wm m - wc          m_n = mw w + mm m + mc          w_1 + … + w_n = sw w + sm m - sc
// If w = 0, L1 holds it there, and m_n = decay m, provided that |m| <= hold.  Without momentum, |w| never
// grows, and w stays at zero once it is there: if the composed steps would take it past zero, it has stopped
// at zero, so w_n = soft(ww w, wc) for every w.
struct IdleMap {
  double ww = 1, wm = 0, wc = 0;
  double mw = 0, mm = 1, mc = 0;
  double sw = 0, sm = 0, sc = 0;
  double decay = 1;  // momentum^n
  double hold = kInfinity;
  // Bounds on the coefficients of w_1, …, w_n.  The empty map has min > max.
  double ww_min = kInfinity, ww_max = -kInfinity, wm_min = kInfinity, wm_max = -kInfinity,
         wc_max = -kInfinity;

  IdleMap() = default;  // the empty map
  explicit IdleMap(const IdleStep& step);

  // The steps of this map, then those of `next`.
  void append(const IdleMap& next, IdleDetail detail);
  void append(const IdleStep& next, IdleDetail detail);

  // Applies the steps to `state`, if there is no L1.
  void apply_linear(IdleWeight& state) const;

  // The same with L1, if the bounds prove that the weight keeps its sign, or stays zero, in all steps.
  // Otherwise returns false and leaves `state` unchanged.  Needs kFull.
  bool apply(IdleWeight& state) const;

  bool operator==(const IdleMap&) const = default;

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  void append_full(const IdleMap& next);
};

}  // namespace ps

#endif  // PS_OPTIM_IDLE_MAP_H_
