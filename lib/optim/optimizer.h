// Optimizer: how weights move.  One object a parameter; used by the tables (rows) and dense parameters
// (blocks).
//
// Sparse equals dense: a row that sat out n steps is brought up to date, when next read or updated, by the
// closed form of what n steps with zero gradient would have done to it.  Entries that cannot say so are
// marked lazy.
#ifndef PS_OPTIM_OPTIMIZER_H_
#define PS_OPTIM_OPTIMIZER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/bytes.h"
#include "config/fwd.h"

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

// What a layer's "weight" or "bias" may say of its own parameter; what is not said comes from "optimizer".
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

  // State arrays of `width` each that a row carries beside its weights.
  virtual int state_arrays() const = 0;

  // Sets the state of a row that no step has touched; its weights are set already.
  virtual void initialize(const Row<T>& row) const = 0;

  // Announces the next step and its learning rate (schedule applied, parameter's own factor not).
  virtual void begin_step(double learning_rate) = 0;

  // Steps begun so far.
  virtual int64_t steps() const = 0;

  // True when zero-gradient steps never change weights or state: catch_up then does nothing.
  virtual bool idle_is_identity() const = 0;

  // Takes a row that has seen steps [0, from) through steps [from, to) with zero gradient.  to <= steps().
  virtual void catch_up(const Row<T>& row, int64_t from, int64_t to) const = 0;

  // The step begun last, for a row that has seen all before it.  gradient [row.width] is multiplied by
  // `scale` (1 / batch for means, or what clipping by norm leaves), then clipped by value.
  virtual void update(const Row<T>& row, const T* gradient, T scale) const = 0;

  // The same for rows of `width` that lie anywhere: rows[n] are the weights of one, its state right behind
  // them in arrays of `width` each.  One call for many rows, since a small row costs less than a virtual
  // call.
  //   gradients [rows, width]
  virtual void update_rows(std::span<T* const> rows, int64_t width, const T* gradients, T scale) const {
    for (size_t n = 0; n < rows.size(); ++n) {
      update({rows[n], rows[n] + width, width, width}, gradients + static_cast<int64_t>(n) * width, scale);
    }
  }

  // What steps have changed in the optimizer itself, for checkpoints.  load is for a new one of the same
  // options; it throws kCorrupt.
  virtual void save(std::string& out) const = 0;
  virtual void load(ByteReader& in) = 0;

  // The weights to test, predict and save with: the row's own, or their average when the job asks for it.
  // out [row.width] may be row.weight.  The row has seen all steps begun.
  virtual void read(const Row<T>& row, T* out) const = 0;

  // The same for rows as update_rows takes them.
  //   out [rows, width]
  virtual void read_rows(std::span<T* const> rows, int64_t width, T* out) const {
    for (size_t n = 0; n < rows.size(); ++n) {
      read({rows[n], rows[n] + width, width, width}, out + static_cast<int64_t>(n) * width);
    }
  }
};

struct OptimizerEntry : CatalogEntry {
  bool lazy;                // rows that sit out steps differ from dense training; the manual says how
  bool weights_from_state;  // steps make weights anew from state: weights set by others do not last
  std::unique_ptr<Optimizer<float>> (*make_float)(const Json& object, const ParameterTuning& tuning);
  std::unique_ptr<Optimizer<double>> (*make_double)(const Json& object, const ParameterTuning& tuning);
};

// Every optimizer, in the order of the manual.
std::span<const OptimizerEntry* const> optimizer_catalog();

}  // namespace ps

#endif  // PS_OPTIM_OPTIMIZER_H_
