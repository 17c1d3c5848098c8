#include "model/network.h"

#include <algorithm>

#include "base/error.h"
#include "base/reals.h"
#include "base/text.h"
#include "config/catalog.h"
#include "math/dense_kernels.h"
#include "model/network_impl.h"

namespace ps {

template <class T>
Network<T>::Impl::Impl(const ModelOptions& options, const DataSchema& schema, uint64_t seed)
    : schema_(schema), graph_(make_graph(options, schema_)) {
  for (size_t i = 0; i < graph_.nodes.size(); ++i) make_node(i, seed);
  find_final_gradients();
  for (const CostNode& cost : graph_.costs) make_cost(cost);
  read_evaluators(options.evaluators);
  place_nodes();
  dense_slots_.resize(schema_.slots.size());
}

template <class T>
void Network<T>::Impl::make_node(size_t index, uint64_t seed) {
  const LayerNode& node = graph_.nodes[index];
  NodeSetup setup(graph_, schema_, seed, index, wiring_);
  NodeState<T>& state = nodes_.emplace_back();
  try {
    if constexpr (std::is_same_v<T, float>) {
      state.layer = node.entry->make_float(node.object, setup);
    } else {
      state.layer = node.entry->make_double(node.object, setup);
    }
    setup.finish();
  } catch (const Error& error) {
    throw Error(error.code(), json_path(node.path, error.message()));
  }
  state.activation = find_activation(node.activation);
  state.seed = hash_bytes(node.name, seed);
  state.cols = wiring_.cols[index];
  state.wants_gradient = !wiring_.parameters_of[index].empty();
  for (const InputRef& input : node.inputs) {
    state.wants_gradient |= input.kind == InputKind::kLayer && nodes_[input.index].wants_gradient;
  }
}

// A layer runs on devices if it can, and if all those that share its parameters can: a gradient is summed in one place.
template <class T>
void Network<T>::Impl::place_nodes() {
  for (NodeState<T>& node : nodes_) node.on_devices = node.layer->runs_on_devices();
  on_devices_.assign(wiring_.parameters.size(), true);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (const auto& [suffix, parameter] : wiring_.parameters_of[i]) {
        const size_t p = static_cast<size_t>(parameter);
        if (nodes_[i].on_devices == on_devices_[p]) continue;
        nodes_[i].on_devices = on_devices_[p] = false;
        changed = true;
      }
    }
  }
}

// Backward runs from the last node to the first: a parameter is final after the first one that has it.
template <class T>
void Network<T>::Impl::find_final_gradients() {
  std::vector<bool> seen(wiring_.parameters.size());
  final_after_.resize(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    for (const auto& [suffix, parameter] : wiring_.parameters_of[i]) {
      const size_t p = static_cast<size_t>(parameter);
      if (!seen[p]) final_after_[i].push_back(p);
      seen[p] = true;
    }
  }
}

template <class T>
std::vector<std::string> Network<T>::Impl::layers_without_device() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].on_devices) continue;
    names.push_back(cat(graph_.nodes[i].name, " (", graph_.nodes[i].entry->name, ")"));
  }
  return names;
}

template <class T>
void Network<T>::Impl::make_cost(const CostNode& cost) {
  const LayerNode& node = graph_.nodes[cost.input];
  if (nodes_[cost.input].layer->is_cost() && cost.entry->name != "sum") {
    fail(Code::kUsage, cost.path, ".type: layer ", quote(node.name), " (", node.entry->name,
         ") gives costs already, which the cost 'sum' takes, found ", quote(cost.entry->name));
  }
  if (wiring_.sequences[cost.input]) {
    fail(Code::kUsage, cost.path, ".input: ", quote(node.name),
         " has a row for each id, expected one an example (sequence_pool makes one row of them)");
  }
  CostState<T>& state = costs_.emplace_back();
  state.input = cost.input;
  state.factor = static_cast<T>(cost.object["factor"].get<double>());
  CostInput input{wiring_.cols[cost.input], node.activation};
  try {
    if constexpr (std::is_same_v<T, float>) {
      state.cost = cost.entry->make_float(cost.object, input);
    } else {
      state.cost = cost.entry->make_double(cost.object, input);
    }
  } catch (const Error& error) {
    throw error.within(cost.path);
  }
}

template <class T>
void Network<T>::Impl::read_evaluators(const Json& evaluators) {
  spec_internal::expect_array(evaluators, "model.evaluators");
  for (const Json& given : evaluators) {
    std::string path = cat("model.evaluators.", evaluators_.size());
    Json object = given.is_string() ? Json{{"type", given}} : given;
    const EvaluatorEntry& entry = find_entry(evaluator_catalog(), object, path, "evaluator");
    evaluators_.emplace_back(&entry, entry.spec().complete(without_type(object), path));
    try {
      make_evaluator(evaluators_.size() - 1);  // it may refuse
    } catch (const Error& error) {
      throw error.within(path);
    }
  }
}

template <class T>
std::unique_ptr<Evaluator> Network<T>::Impl::make_evaluator(size_t index) const {
  const auto& [entry, object] = evaluators_[index];
  return entry->make(object, wiring_.cols[main_cost().input]);
}

template <class T>
std::vector<std::unique_ptr<Evaluator>> Network<T>::Impl::make_evaluators() const {
  std::vector<std::unique_ptr<Evaluator>> made;
  for (const auto& [entry, object] : evaluators_)
    made.push_back(entry->make(object, nodes_[main_cost().input].cols));
  return made;
}

template <class T>
double Network<T>::Impl::forward(const PreparedBatch& prepared, std::span<const ParameterView<T>> views,
                                 Device& device) {
  double sum = 0;
  run_work(device, [&] {
    forward_nodes(prepared, views, device);
    sum = evaluate(costs_.front());
    make_predictions();
    for (size_t i = 1; i < costs_.size() && prepared.training; ++i) sum += evaluate(costs_[i]);
  });
  return sum;
}

// Calls work(), which queues work of the device.  When it has failed, what it has queued no longer refers to the batch.
template <class T>
template <class Work>
void Network<T>::Impl::run_work(Device& device, const Work& work) {
  try {
    work();
  } catch (...) {
    settle(device);
    throw;
  }
}

template <class T>
void Network<T>::Impl::settle(Device& device) noexcept {
  if (device.kernels() == nullptr) return;
  try {
    device.kernels()->wait();
  } catch (const Error&) {
    return;  // the first error is thrown already
  }
}

template <class T>
void Network<T>::Impl::predict(const PreparedBatch& prepared, std::span<const ParameterView<T>> views,
                               Device& device) {
  run_work(device, [&] {
    forward_nodes(prepared, views, device);
    make_predictions();
  });
}

template <class T>
void Network<T>::Impl::check_label(float label) const {
  for (const CostState<T>& state : costs_) state.cost->check_label(label);
  for (const NodeState<T>& node : nodes_) node.layer->check_label(label);
}

template <class T>
void Network<T>::Impl::forward_nodes(const PreparedBatch& prepared, std::span<const ParameterView<T>> views,
                                     Device& device) {
  PS_CHECK(views.size() == wiring_.parameters.size());
  prepared_ = &prepared;
  views_ = views;
  device_ = &device;
  convert_dense_slots();
  if (there()) {
    device.kernels()->begin_batch();
    views_ = device_parameters_.send(wiring_.parameters, on_devices_, prepared.plans, views, device);
  }
  resize_outputs();
  for (size_t i = 0; i < nodes_.size(); ++i) forward_node(i);
  if (there() && prepared.training) device_parameters_.return_statistics();
}

// Batches hold floats: other networks get a copy of their own type.
template <class T>
void Network<T>::Impl::convert_dense_slots() {
  if constexpr (!std::is_same_v<T, float>) {
    for (size_t s = 0; s < schema_.slots.size(); ++s) {
      const std::vector<float>& values = prepared_->batch.slots[s].values;
      if (schema_.slots[s].dense) dense_slots_[s].assign(values.begin(), values.end());
    }
  }
}

template <class T>
Matrix<const T> Network<T>::Impl::dense_slot(size_t slot, Device& device) const {
  int64_t cols = schema_.slots[slot].dim;
  if constexpr (std::is_same_v<T, float>) {
    const std::vector<float>& values = prepared_->batch.slots[slot].values;
    return {mirror(device, values.data(), std::ssize(values)), batch_size(), cols};
  } else {
    return {dense_slots_[slot].data(), batch_size(), cols};
  }
}

template <class T>
void Network<T>::Impl::resize_outputs() {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    NodeState<T>& node = nodes_[i];
    node.output.resize(*device_, num_rows(i) * node.cols);
    node.output_is_here = false;
    if (prepared_->training) node.gradient.resize(*device_, node.output.size());
  }
}

template <class T>
void Network<T>::Impl::forward_node(size_t index) {
  NodeState<T>& node = nodes_[index];
  if (runs_here(index)) {
    forward_here(index);
  } else {
    Run run(*this, index);
    node.layer->forward(run);
  }
  for (CostState<T>& state : costs_) {
    if (state.input != index || !state.cost->takes_logits()) continue;
    state.logits.resize(*device_, node.output.size());
    copy_values(*device_, node.output.data(), node.output.size(), state.logits.data());
  }
  activate(*device_, node.activation, output(index));
}

template <class T>
double Network<T>::Impl::evaluate(CostState<T>& state) {
  if (there() && !state.cost->runs_on_devices()) return evaluate_here(state);
  const Matrix<const T> outputs = output(state.input);
  state.costs.resize(*device_, outputs.rows);
  Matrix<T> gradient;
  if (prepared_->training) {
    state.gradient.resize(*device_, outputs.size());
    gradient = {state.gradient.data(), outputs.rows, outputs.cols};
  }
  Matrix<const T> scores = outputs;
  if (state.cost->takes_logits()) scores.data = state.logits.data();
  const std::span<T> costs(state.costs.data(), static_cast<size_t>(outputs.rows));
  state.cost->evaluate(scores, prepared_->batch, *device_, costs, gradient);
  return static_cast<double>(state.factor) * total_cost(*device_, state.costs.data(), outputs.rows);
}

template <class T>
void Network<T>::Impl::make_predictions() {
  const Matrix<const T> outputs = output(main_cost().input);
  predictions_.resize(static_cast<size_t>(outputs.size()));
  if (!there()) return main_cost().cost->predict(outputs, *device_, predictions_);
  predictions_there_.resize(*device_, outputs.size());
  main_cost().cost->predict(outputs, *device_, {predictions_there_.data(), predictions_.size()});
  device_->kernels()->receive(predictions_.data(), predictions_there_.data(), predictions_there_.bytes());
}

template <class T>
void Network<T>::Impl::tell_final_gradients(size_t index, const OnFinalGradient& on_final) const {
  if (!on_final) return;
  for (size_t parameter : final_after_[index]) on_final(parameter);
}

template <class T>
void Network<T>::Impl::backward(const OnFinalGradient& on_final) {
  PS_CHECK(prepared_ != nullptr && prepared_->training);
  run_work(*device_, [&] {
    zero_gradients();
    for (size_t i = nodes_.size(); i-- > 0;) {
      if (nodes_[i].wants_gradient) backward_node(i);
      if (!there()) tell_final_gradients(i, on_final);
    }
    if (!there()) return;
    device_parameters_.return_gradients();
    device_->kernels()->wait();
    for (size_t i = nodes_.size(); i-- > 0;) tell_final_gradients(i, on_final);
  });
}

template <class T>
void Network<T>::Impl::compute_for_others(std::span<const ParameterView<T>> views, Device& device) {
  nothing_.batch.clear(schema_);
  nothing_.training = true;
  prepared_ = &nothing_;
  views_ = views;
  device_ = &device.host();
  for (size_t p = 0; p < wiring_.parameters.size(); ++p) {
    const ParameterSpec& spec = wiring_.parameters[p];
    if (spec.split) fill_values(*device_, T(0), spec.rows * spec.cols, views[p].gradient);
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (Run run(*this, i); nodes_[i].layer->is_divided()) nodes_[i].layer->forward(run);
  }
  for (size_t i = nodes_.size(); i-- > 0;) {
    if (Run run(*this, i); nodes_[i].layer->is_divided()) nodes_[i].layer->backward(run);
  }
}

template <class T>
void Network<T>::Impl::zero_gradients() {
  const auto zero = [](Device& device, T* data, int64_t size) { fill_values(device, T(0), size, data); };
  for (size_t p = 0; p < wiring_.parameters.size(); ++p) {
    const ParameterSpec& spec = wiring_.parameters[p];
    Device& device = on_devices_[p] ? *device_ : device_->host();
    if (spec.kind == ParameterKind::kMatrix) zero(device, views_[p].gradient, spec.rows * spec.cols);
    if (spec.kind == ParameterKind::kRows) {
      zero(device, views_[p].row_gradients,
           static_cast<int64_t>(prepared_->plans[p].keys.size()) * spec.cols);
    }
  }
  for (NodeState<T>& node : nodes_) zero(*device_, node.gradient.data(), node.gradient.size());
}

// The gradient of a cost joins before the activation when the cost took the logits, else after it.
template <class T>
void Network<T>::Impl::add_cost_gradients(size_t index, bool before_activation) {
  DeviceBuffer<T>& gradient = nodes_[index].gradient;
  for (const CostState<T>& state : costs_) {
    if (state.input != index || state.cost->takes_logits() != before_activation) continue;
    add_scaled_values<T>(*device_, state.factor, state.gradient.data(), gradient.size(), gradient.data());
  }
}

template <class T>
void Network<T>::Impl::backward_node(size_t index) {
  add_cost_gradients(index, /*before_activation=*/false);
  activation_backward(*device_, nodes_[index].activation, Matrix<const T>(output(index)), gradient(index));
  add_cost_gradients(index, /*before_activation=*/true);
  if (runs_here(index)) return backward_here(index);
  Run run(*this, index);
  nodes_[index].layer->backward(run);
}

template <class T>
Matrix<const float> Network<T>::Impl::predictions() const {
  PS_CHECK(prepared_ != nullptr);
  return {predictions_.data(), batch_size(), prediction_cols()};
}

template <class T>
Network<T>::Network(const ModelOptions& options, const DataSchema& schema, uint64_t seed)
    : impl_(std::make_unique<Impl>(options, schema, seed)) {}

template <class T>
Network<T>::~Network() = default;

template <class T>
const std::vector<ParameterSpec>& Network<T>::parameters() const {
  return impl_->parameters();
}

template <class T>
const DataSchema& Network<T>::schema() const {
  return impl_->schema();
}

template <class T>
const std::vector<size_t>& Network<T>::row_slots(size_t parameter) const {
  return impl_->row_slots(parameter);
}

template <class T>
size_t Network<T>::num_uses(size_t parameter) const {
  return impl_->num_uses(parameter);
}

template <class T>
int64_t Network<T>::prediction_cols() const {
  return impl_->prediction_cols();
}

template <class T>
typename Network<T>::Planners Network<T>::make_planners(KeyOrder order) const {
  return impl_->make_planners(order);
}

template <class T>
void Network<T>::prepare(Planners& planners, PreparedBatch& prepared) const {
  impl_->prepare(planners, prepared);
}

template <class T>
void Network<T>::prepare_for_devices() {
  impl_->prepare_for_devices();
}

template <class T>
const std::vector<bool>& Network<T>::on_devices() const {
  return impl_->on_devices();
}

template <class T>
std::vector<std::string> Network<T>::layers_without_device() const {
  return impl_->layers_without_device();
}

template <class T>
bool Network<T>::plans_repeat() const {
  return impl_->plans_repeat();
}

template <class T>
void Network<T>::adopt_plans(PreparedBatch& prepared) const {
  impl_->adopt_plans(prepared);
}

template <class T>
void Network<T>::adopt_received(Planners& planners, PreparedBatch& prepared) const {
  impl_->adopt_received(planners, prepared);
}

template <class T>
double Network<T>::forward(const PreparedBatch& prepared, std::span<const ParameterView<T>> views,
                           Device& device) {
  return impl_->forward(prepared, views, device);
}

template <class T>
void Network<T>::predict(const PreparedBatch& prepared, std::span<const ParameterView<T>> views,
                         Device& device) {
  impl_->predict(prepared, views, device);
}

template <class T>
bool Network<T>::predicts_costs() const {
  return impl_->predicts_costs();
}

template <class T>
void Network<T>::check_label(float label) const {
  impl_->check_label(label);
}

template <class T>
void Network<T>::backward(const OnFinalGradient& on_final) {
  impl_->backward(on_final);
}

template <class T>
void Network<T>::divide_over(Communicator* trainers) {
  impl_->divide_over(trainers);
}

template <class T>
void Network<T>::compute_for_others(std::span<const ParameterView<T>> views, Device& device) {
  impl_->compute_for_others(views, device);
}

template <class T>
Matrix<const float> Network<T>::predictions() const {
  return impl_->predictions();
}

template <class T>
std::vector<std::unique_ptr<Evaluator>> Network<T>::make_evaluators() const {
  return impl_->make_evaluators();
}

template <class T>
std::vector<LayerSize> Network<T>::layer_sizes(int64_t ids) const {
  return impl_->layer_sizes(ids);
}

template <class T>
std::string Network<T>::describe() const {
  return impl_->describe();
}

#define PS_INSTANTIATE(T) template class Network<T>;
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
