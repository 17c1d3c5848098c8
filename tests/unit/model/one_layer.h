// A network of one layer that is a cost, on top of a dense slot "x", with its weights in plain arrays.  Used
// by the tests of nce and hsigmoid.
#ifndef PS_TESTS_UNIT_MODEL_ONE_LAYER_H_
#define PS_TESTS_UNIT_MODEL_ONE_LAYER_H_

#include <string>
#include <vector>

#include "base/random.h"
#include "config/json.h"
#include "model/network.h"

namespace ps {

template <class T>
class OneLayer {
 public:
  // `layer` has its "type" and options.  Weights start as normal numbers of the given deviation.  With `ids` the
  // layer has a second input, a slot of ids below it.
  OneLayer(Json layer, int64_t dim, double deviation = 1, int threads = 1, int64_t ids = -1)
      : schema_(schema(dim, ids)),
        network_(options(std::move(layer), schema_), schema_, /*seed=*/1),
        planners_(network_.make_planners()),
        device_(threads, best_cpu_level()) {
    for (const ParameterSpec& spec : network_.parameters()) {
      Random random(17, parameters_.size());
      Parameter& parameter = parameters_.emplace_back();
      parameter.cols = static_cast<size_t>(spec.cols);
      for (int64_t i = 0; i < spec.rows * spec.cols; ++i) {
        parameter.weights.push_back(static_cast<T>(deviation * random.normal()));
      }
    }
    views_.resize(parameters_.size());
  }

  // The costs of the examples.
  std::vector<float> costs(const Batch& batch, bool training, int64_t step = 0) {
    prepared_.batch = batch;
    prepared_.training = training;
    prepared_.step = step;
    network_.prepare(planners_, prepared_);
    for (size_t p = 0; p < parameters_.size(); ++p) place(p);
    network_.forward(prepared_, views_, device_);
    Matrix<const float> predictions = network_.predictions();
    return {predictions.data, predictions.data + predictions.size()};
  }

  // After costs in training: the gradients of the rows of the plan, all parameters after each other.
  std::vector<T> gradients() {
    network_.backward();
    std::vector<T> all;
    for (const Parameter& parameter : parameters_) {
      all.insert(all.end(), parameter.gradients.begin(), parameter.gradients.end());
    }
    return all;
  }

  // One step of plain gradient descent on the mean of the costs of the batch.
  void train(const Batch& batch, int64_t step, T rate) {
    costs(batch, true, step);
    network_.backward();
    for (Parameter& parameter : parameters_) {
      for (size_t i = 0; i < parameter.gradients.size(); ++i) {
        parameter.rows[i / parameter.cols][i % parameter.cols] -=
            rate / static_cast<T>(batch.size()) * parameter.gradients[i];
      }
    }
  }

  const Network<T>& network() const { return network_; }
  const PreparedBatch& prepared() const { return prepared_; }

  // [rows, cols]: 0 is "weight", 1 "bias".
  std::vector<T>& weights(size_t parameter) { return parameters_[parameter].weights; }

 private:
  struct Parameter {
    size_t cols;
    std::vector<T> weights, gradients;  // [rows, cols]; [N, cols]
    std::vector<T*> rows;               // [N]
  };

  static DataSchema schema(int64_t dim, int64_t ids) {
    DataSchema schema{{{.name = "x", .dense = true, .dim = dim}}};
    if (ids >= 0) schema.slots.push_back({.name = "item", .dim = ids});
    return schema;
  }

  static ModelOptions options(Json layer, const DataSchema& schema) {
    layer["name"] = "costs";
    layer["input"] = Json::array();
    for (const SlotSchema& slot : schema.slots) layer["input"].push_back(slot.name);
    ModelOptions model;
    model.layers.push_back(std::move(layer));
    model.cost = {{"type", "sum"}, {"input", "costs"}};
    return model;
  }

  void place(size_t p) {
    Parameter& parameter = parameters_[p];
    parameter.rows.clear();
    for (Key key : prepared_.plans[p].keys)
      parameter.rows.push_back(&parameter.weights[key * parameter.cols]);
    parameter.gradients.assign(parameter.rows.size() * parameter.cols, 0);
    views_[p] = {.rows = parameter.rows.data(), .row_gradients = parameter.gradients.data()};
  }

  DataSchema schema_;
  Network<T> network_;
  typename Network<T>::Planners planners_;
  Device device_;
  PreparedBatch prepared_;
  std::vector<Parameter> parameters_;
  std::vector<ParameterView<T>> views_;
};

// Examples with the given labels and normal "x".
inline Batch labelled_points(const std::vector<float>& labels, int64_t dim, uint64_t seed = 1) {
  Random random(seed, 0);
  Batch batch;
  batch.labels = labels;
  batch.slots.resize(1);
  for (size_t i = 0; i < labels.size() * static_cast<size_t>(dim); ++i) {
    batch.slots[0].values.push_back(static_cast<float>(random.normal()));
  }
  return batch;
}

// weight[row] . x[example] + bias[row], plainly.
template <class T>
double score(OneLayer<T>& layer, const Batch& batch, size_t row, size_t example) {
  size_t dim = batch.slots[0].values.size() / batch.labels.size();
  double sum = static_cast<double>(layer.weights(1)[row]);
  for (size_t d = 0; d < dim; ++d) {
    sum += static_cast<double>(layer.weights(0)[row * dim + d]) *
           static_cast<double>(batch.slots[0].values[example * dim + d]);
  }
  return sum;
}

}  // namespace ps

#endif  // PS_TESTS_UNIT_MODEL_ONE_LAYER_H_
