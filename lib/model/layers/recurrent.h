// Recurrent layers over sequences of any lengths, forwards, backwards or both.  Used by gru and lstm, which differ in the
// cell that makes a step (math/recurrent.h).
#ifndef PS_MODEL_LAYERS_RECURRENT_H_
#define PS_MODEL_LAYERS_RECURRENT_H_

#include <string>
#include <vector>

#include "config/spec.h"
#include "math/dense_kernels.h"
#include "math/device_buffer.h"
#include "math/gemm.h"
#include "math/recurrent.h"
#include "math/sequences.h"
#include "model/layers/layer_entry.h"

namespace ps {

struct RecurrentOptions : WeightedLayerOptions {
  int64_t size = 0;
  std::string direction = "forward", output = "last";
  BiasOptions bias;

  static const ObjectSpec<RecurrentOptions>& spec();
};

// One direction of a layer: its parameters, and the arrays of its last forward and backward, in packed order.
// One owner thread.  G gates of width H.
template <class T, class Cell>
class RecurrentDirection {
 public:
  RecurrentDirection(const RecurrentOptions& options, LayerSetup& setup, bool reversed)
      : reversed_(reversed),
        inputs_(setup.inputs().front().cols),
        width_(options.size),
        gates_(Cell::kGates * width_) {
    const std::string end = reversed ? "_reverse" : "";
    parameters_.weight = setup.add_matrix({"weight" + end, inputs_, gates_, inputs_, true, options.weight});
    parameters_.recurrent =
        setup.add_matrix({"weight_recurrent" + end, width_, gates_, width_, true, options.weight});
    if (!options.bias.enabled) return;
    parameters_.bias =
        setup.add_matrix({"bias" + end, 1, gates_, /*fan_in=*/0, true, options.bias.parameter});
    if (!Cell::kHiddenBias) return;
    parameters_.hidden_bias =
        setup.add_matrix({"bias_recurrent" + end, 1, width_, /*fan_in=*/0, true, options.bias.parameter});
  }

  // Returns the states [K, H] of the last forward.
  Matrix<const T> states() const { return {states_.data(), rows_, width_}; }
  const PackedSequences& packed() const { return packed_; }

  void forward(LayerRun<T>& run) {
    pack_sequences(run.sequence(0), reversed_, packed_);
    rows_ = run.input(0).rows;
    add_up_inputs(run);
    set_hidden_bias(run);
    states_.resize(run.device(), rows_ * width_);
    if (Cell::kHasCells) cells_.resize(run.device(), states_.size());
    for (int64_t t = 0; t < packed_.num_steps(); ++t) {
      const RecurrentStep step = step_at(t);
      if (step.before >= 0) {
        add_product<T>(run.device(), rows_of(states_, step.before, step.rows, width_),
                       run.value(parameters_.recurrent), rows_of(hidden_, step.begin, step.rows, gates_));
      }
      Cell::step(run.device(), step, arrays());
    }
  }

  // Returns memory for the gradient of the states, in packed order, which the caller sets before backward.
  Matrix<T> state_gradients(Device& device) {
    state_gradients_.resize(device, states_.size());
    return {state_gradients_.data(), rows_, width_};
  }

  void backward(LayerRun<T>& run) {
    gate_gradients_.resize(run.device(), gate_values_.size());
    if (Cell::kHiddenBias) hidden_gradients_.resize(run.device(), hidden_.size());
    if (Cell::kHasCells) {
      cell_gradients_.resize(run.device(), cells_.size());
      fill_values(run.device(), T(0), cells_.size(), cell_gradients_.data());
    }
    for (int64_t t = packed_.num_steps(); t-- > 0;) {
      const RecurrentStep step = step_at(t);
      Cell::step_backward(run.device(), step, arrays(), gradients());
      if (step.before < 0) continue;
      add_product_transposed_right<T>(
          run.device(), rows_of(hidden_gradients(), step.begin, step.rows, gates_),
          run.value(parameters_.recurrent), rows_of(state_gradients_, step.before, step.rows, width_));
    }
    add_parameter_gradients(run);
    add_input_gradients(run);
  }

 private:
  // The numbers of the parameters in the run; a negative number means that there is none.
  struct Parameters {
    int weight = -1, recurrent = -1, bias = -1, hidden_bias = -1;
  };

  static Matrix<T> rows_of(DeviceBuffer<T>& array, int64_t begin, int64_t rows, int64_t cols) {
    return {array.data() + begin * cols, rows, cols};
  }

  RecurrentStep step_at(int64_t t) const {
    const size_t i = static_cast<size_t>(t);
    const std::vector<int64_t>& starts = packed_.starts;
    return {starts[i], starts[i + 1] - starts[i], t == 0 ? -1 : starts[i - 1]};
  }

  CellArrays<T> arrays() {
    return {width_, gate_values_.data(), hidden_.data(), states_.data(), cells_.data()};
  }
  CellGradients<T> gradients() {
    return {gate_gradients_.data(), hidden_gradients().data(), state_gradients_.data(),
            cell_gradients_.data()};
  }
  DeviceBuffer<T>& hidden_gradients() { return Cell::kHiddenBias ? hidden_gradients_ : gate_gradients_; }

  void add_up_inputs(LayerRun<T>& run) {
    input_.resize(run.device(), rows_ * inputs_);
    pack_rows<T>(run.device(), packed_, columns(run.input(0)), rows_of(input_, 0, rows_, inputs_));
    gate_values_.resize(run.device(), rows_ * gates_);
    const Matrix<T> sums = rows_of(gate_values_, 0, rows_, gates_);
    if (parameters_.bias >= 0) {
      set_rows<T>(run.device(), run.value(parameters_.bias).data, sums);
    } else {
      fill_values(run.device(), T(0), sums.size(), sums.data);
    }
    add_product<T>(run.device(), rows_of(input_, 0, rows_, inputs_), run.value(parameters_.weight), sums);
  }

  void set_hidden_bias(LayerRun<T>& run) {
    hidden_.resize(run.device(), gate_values_.size());
    const Matrix<T> hidden = rows_of(hidden_, 0, rows_, gates_);
    if (parameters_.hidden_bias < 0) return fill_values(run.device(), T(0), hidden.size(), hidden.data);
    hidden_start_.resize(run.device(), gates_);
    fill_values(run.device(), T(0), gates_, hidden_start_.data());
    copy_values(run.device(), run.value(parameters_.hidden_bias).data, width_,
                hidden_start_.data() + gates_ - width_);
    set_rows<T>(run.device(), hidden_start_.data(), hidden);
  }

  // Steps after the first have the rows of the state before them: [num_first, K).
  void add_parameter_gradients(LayerRun<T>& run) {
    const Matrix<const T> gradient = rows_of(gate_gradients_, 0, rows_, gates_);
    add_product_transposed_left<T>(run.device(), rows_of(input_, 0, rows_, inputs_), gradient,
                                   run.gradient(parameters_.weight));
    if (parameters_.bias >= 0) {
      add_column_sums<T>(run.device(), columns(gradient), rows_, nullptr, 0,
                         run.gradient(parameters_.bias).data);
    }
    if (parameters_.hidden_bias >= 0) {
      const Matrix<const T> hidden = rows_of(hidden_gradients_, 0, rows_, gates_);
      add_column_sums<T>(run.device(), columns(hidden, gates_ - width_, width_), rows_, nullptr, 0,
                         run.gradient(parameters_.hidden_bias).data);
    }
    if (packed_.num_steps() < 2) return;
    const int64_t first = packed_.starts[1];
    previous_.resize(run.device(), states_.size());
    for (int64_t t = 1; t < packed_.num_steps(); ++t) {
      const RecurrentStep step = step_at(t);
      copy_values<T>(run.device(), states_.data() + step.before * width_, step.rows * width_,
                     previous_.data() + step.begin * width_);
    }
    add_product_transposed_left<T>(run.device(), rows_of(previous_, first, rows_ - first, width_),
                                   rows_of(hidden_gradients(), first, rows_ - first, gates_),
                                   run.gradient(parameters_.recurrent));
  }

  void add_input_gradients(LayerRun<T>& run) {
    const Matrix<T> below = run.input_gradient(0);
    if (!below) return;
    input_gradients_.resize(run.device(), input_.size());
    const Matrix<T> packed = rows_of(input_gradients_, 0, rows_, inputs_);
    fill_values(run.device(), T(0), packed.size(), packed.data);
    add_product_transposed_right<T>(run.device(), rows_of(gate_gradients_, 0, rows_, gates_),
                                    run.value(parameters_.weight), packed);
    add_unpacked_rows<T>(run.device(), packed_, packed, columns(below));
  }

  const bool reversed_;
  const int64_t inputs_, width_, gates_;  // D, H, G H
  Parameters parameters_;

  int64_t rows_ = 0;  // K
  PackedSequences packed_;
  DeviceBuffer<T> input_, input_gradients_;       // [K, D]
  DeviceBuffer<T> gate_values_, gate_gradients_;  // [K, G H]
  DeviceBuffer<T> hidden_, hidden_gradients_;     // [K, G H]: products of the states before
  DeviceBuffer<T> hidden_start_;                  // [G H]: what hidden_ begins with
  DeviceBuffer<T> states_, previous_, cells_;     // [K, H]: h', h, c'
  DeviceBuffer<T> state_gradients_, cell_gradients_;
};

// output [B, H], the last state of each example, 0 of an empty one; or [K, H], the state after each id.  With both
// directions [., 2 H], forwards before backwards: the last state backwards is that after the first id.
template <class T, class Cell>
class Recurrent : public Layer<T> {
 public:
  Recurrent(const RecurrentOptions& options, LayerSetup& setup)
      : width_(options.size), last_(options.output == "last") {
    require_one_input(setup, Cell::kName);
    setup.join_rows();
    if (!last_) setup.keep_rows();
    if (options.direction != "reverse") directions_.emplace_back(options, setup, false);
    if (options.direction != "forward") directions_.emplace_back(options, setup, true);
    setup.set_output(width_ * static_cast<int64_t>(directions_.size()));
  }

  bool runs_on_devices() const override { return true; }

  void forward(LayerRun<T>& run) override {
    for (size_t i = 0; i < directions_.size(); ++i) {
      RecurrentDirection<T, Cell>& direction = directions_[i];
      direction.forward(run);
      const Columns<T> out = columns(run.output(), static_cast<int64_t>(i) * width_, width_);
      if (last_) {
        copy_last_rows<T>(run.device(), direction.packed(), direction.states(), out);
      } else {
        unpack_rows<T>(run.device(), direction.packed(), direction.states(), out);
      }
    }
  }

  void backward(LayerRun<T>& run) override {
    for (size_t i = 0; i < directions_.size(); ++i) {
      RecurrentDirection<T, Cell>& direction = directions_[i];
      const Columns<const T> above = columns(run.output_gradient(), static_cast<int64_t>(i) * width_, width_);
      const Matrix<T> gradient = direction.state_gradients(run.device());
      if (last_) {
        fill_values(run.device(), T(0), gradient.size(), gradient.data);
        add_last_gradients<T>(run.device(), direction.packed(), above, gradient);
      } else {
        pack_rows<T>(run.device(), direction.packed(), above, gradient);
      }
      direction.backward(run);
    }
  }

 private:
  const int64_t width_;  // H
  const bool last_;
  std::vector<RecurrentDirection<T, Cell>> directions_;
};

}  // namespace ps

#endif  // PS_MODEL_LAYERS_RECURRENT_H_
