// Optimizer: updates weights with gradients.  Each parameter has one object, used by its table for rows
// (sparse) or blocks (dense).
//
// Sparse equals dense: when a row is read or updated after n steps in which it had no gradient, catch_up
// first applies the closed form of n steps with zero gradient.  Entries of optimizers without such a closed
// form are marked lazy.
#ifndef PS_OPTIM_OPTIMIZER_H_
#define PS_OPTIM_OPTIMIZER_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/cpu.h"
#include "config/fwd.h"
#include "optim/current_step.h"
#include "optim/kernels/idle.h"

namespace ps {

// The weights of one row, or of a block of a dense parameter, with their state.
//   weight [width]; state [arrays, width]: array s begins at state + s * stride
template <class T>
struct Row {
  T* weight;
  T* state;
  int64_t width;
  int64_t stride;
};

// The keys by which a layer's "weight" or "bias" tunes its own parameter; missing ones are taken from
// "optimizer".
struct ParameterTuning {
  double learning_rate = 1;      // multiplies the global rate; 0 freezes
  std::optional<double> l1, l2;  // weight decay
  std::optional<double> momentum;
  std::optional<double> clip_value;  // gradients clipped to [-clip_value, clip_value], element by element
  std::optional<double> clip_norm;   // the parameter's gradient scaled to at most this L2 norm

  static const ObjectSpec<ParameterTuning>& spec();
};

// Steps are numbered from 0.  begin_step is called by the owner thread, once for each step in order, before
// that step's updates; catch_up and update may then run on any threads, for different rows.
template <class T>
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Returns the level of instruction sets of its loops.
  virtual CpuLevel cpu() const = 0;

  // Returns the number of state arrays, of `width` each, that a row carries beside its weights.
  virtual int state_arrays() const = 0;

  // Sets the state of a row that no step has touched; its weights are set already.
  virtual void initialize(const Row<T>& row) const = 0;

  // Returns true if a step computes weights from the state alone, so that weights which are set otherwise than by
  // adopt are lost with the next step.
  virtual bool makes_weights_from_state() const { return false; }

  // Sets the weights of a row to `weights` [row.width], which others have trained as well, and its state so that the
  // next step goes on from them.  The state of weights that stay as they are does not change.
  virtual void adopt(const Row<T>& row, const T* weights) const {
    std::copy_n(weights, row.width, row.weight);
  }

  // Begins the next step with its learning rate, to which the schedule has been applied, but not the
  // parameter's own factor.
  virtual void begin_step(double learning_rate) = 0;

  // The number of steps begun so far.
  virtual int64_t steps() const = 0;

  // Returns true if steps with zero gradient never change weights or state: catch_up then does nothing.
  virtual bool idle_is_identity() const = 0;

  // Applies steps [from, to) with zero gradient to a row that has seen steps [0, from). to <= steps().
  virtual void catch_up(const Row<T>& row, int64_t from, int64_t to) const = 0;

  // Applies the step begun last to a row that has seen all steps before it. gradient [row.width] is
  // multiplied by `scale` (1 / batch for means, times the factor of clipping by norm), then clipped by value.
  virtual void update(const Row<T>& row, const T* gradient, T scale) const = 0;

  // Returns true if the step begun last depends on a weight's column in its row, since means are rounded by
  // it: a block of several rows must then be updated row by row.
  virtual bool depends_on_column() const { return false; }

  // Does the same as update for rows of `width` weights anywhere in memory. rows[n] points to the weights of one row;
  // its state arrays of `width` each follow right behind them.  One call updates many rows, since a small row
  // costs less than a virtual call.
  //   gradients [rows, width]
  virtual void update_rows(std::span<T* const> rows, int64_t width, const T* gradients, T scale) const {
    for (size_t n = 0; n < rows.size(); ++n) {
      update({rows[n], rows[n] + width, width, width}, gradients + static_cast<int64_t>(n) * width, scale);
    }
  }

  // Returns the step begun last, for code that applies it elsewhere.  Returns nullopt if update is no such
  // step.
  virtual std::optional<CurrentStep<T>> current_step() const { return std::nullopt; }

  // Returns catch_up from `from` to `to` > `from` as a rule for each weight, for code that applies it
  // elsewhere.  Returns nullopt if catch_up does more than such a rule.
  virtual std::optional<IdleChange> idle_change(int64_t /*from*/, int64_t /*to*/) const {
    return std::nullopt;
  }

  // Save the state of the optimizer itself, which steps have changed, to a checkpoint, and load it. load must
  // be called on a new object with the same options; it throws kCorrupt.
  virtual void save(std::string& out) const = 0;
  virtual void load(ByteReader& in) = 0;

  // out [row.width] <- the weights to test, predict and save with: the row's weights, or their average if the
  // job averages.  `out` may be row.weight.  The row must have seen all steps begun.
  virtual void read(const Row<T>& row, T* out) const = 0;

  // The same for a row that has seen all steps but the one begun last, which is still to come to it: out is the same as
  // before that step began.
  virtual void read_before(const Row<T>& row, T* out) const { read(row, out); }

  // Does the same as read for rows in the form of update_rows.
  //   out [rows, width]
  virtual void read_rows(std::span<T* const> rows, int64_t width, T* out) const {
    for (size_t n = 0; n < rows.size(); ++n) {
      read({rows[n], rows[n] + width, width, width}, out + static_cast<int64_t>(n) * width);
    }
  }
};

struct OptimizerEntry : CatalogEntry {
  bool lazy;                // rows that sit out steps differ from dense training; the manual says how
  bool weights_from_state;  // a step computes weights from state alone: weights set otherwise are lost
  std::unique_ptr<Optimizer<float>> (*make_float)(const Json& object, const ParameterTuning& tuning,
                                                  CpuLevel cpu);
  // Null unless kDoubles, base/reals.h.
  std::unique_ptr<Optimizer<double>> (*make_double)(const Json& object, const ParameterTuning& tuning,
                                                    CpuLevel cpu) = nullptr;
};

// Every optimizer, in the order of the manual.
std::span<const OptimizerEntry* const> optimizer_catalog();

}  // namespace ps

#endif  // PS_OPTIM_OPTIMIZER_H_
