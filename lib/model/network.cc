#include "model/network.h"

#include <algorithm>

#include "base/error.h"
#include "base/reals.h"
#include "base/text.h"
#include "config/catalog.h"
#include "model/cost_evaluator.h"
#include "model/network_execution.h"

namespace ps {

// Stream of the numbers that sample_keys draws; layers use small streams.
static constexpr uint64_t kSampleStream = ~uint64_t{0};

template <class T>
Network<T>::Network(const ModelOptions& options, const DataSchema& schema, uint64_t seed)
    : layers_(options, schema, seed), execution_(std::make_unique<NetworkExecution<T>>(layers_)) {
  read_evaluators(options.evaluators);
  calibrate(options.calibration);
}

template <class T>
Network<T>::~Network() = default;

// An evaluator is a name, or an object with a "type".  Each is made here once and thrown away: its
// constructor checks its keys against the predictions of the model, so that an error comes before training,
// and it says if it wants log losses.
template <class T>
void Network<T>::read_evaluators(const Json& evaluators) {
  spec_internal::expect_array(evaluators, "model.evaluators");
  for (const Json& given : evaluators) {
    std::string path = cat("model.evaluators.", evaluators_.size());
    Json object = given.is_string() ? Json{{"type", given}} : given;
    const EvaluatorEntry& entry = find_entry(evaluator_catalog(), object, path, "evaluator");
    evaluators_.emplace_back(&entry, entry.spec().complete(without_type(object), path));
    try {
      const std::unique_ptr<Evaluator> made = make_evaluator(evaluators_.size() - 1);  // may throw
      if (made->wants_log_losses()) execution_->want_log_losses();
      all_run_there_ = all_run_there_ && made->runs_there();
    } catch (const Error& error) {
      throw error.within(path);
    }
  }
}

// Makes the evaluator of one cost.  Predictions of a batch have the columns of all costs in
// layers_.predicted; of.first is the first one of this cost, the sum of the columns of the costs before it.
// A CostEvaluator around the evaluator cuts its columns out, and puts the cost's own labels in place of
// those of the batch; a model whose only cost reads the labels of the batch needs none.  The cost with sets
// of labels takes only evaluators that can read sets.
template <class T>
std::unique_ptr<Evaluator> Network<T>::make_evaluator(size_t index) const {
  const auto& [entry, object] = evaluators_[index];
  const size_t cost = cost_of_evaluator(object);
  CostPredictions of{0, layers_.cols_of(cost), layers_.costs[cost].labels, cost == 0};
  for (size_t before : layers_.predicted) of.first += before < cost ? layers_.cols_of(before) : 0;
  auto made = entry->make(object, of.cols);
  const std::string label = object.value("label", "");
  if (layers_.predicted.size() > 1 || of.labels) {
    made = std::make_unique<CostEvaluator>(std::move(made), of, label.empty() ? "" : label + ".");
  }
  const std::optional<size_t> sets = layers_.costs[cost].cost->label_slot();
  if (!sets || made->use_label_sets(*sets)) return made;
  fail(Code::kUsage, entry->name,
       " is of one label an example, and the cost takes any number of them: expected ",
       "precision_at_k, micro_f1, log_loss or sum");
}

// Returns the first cost that reads the label of an evaluator; the main one, if it names none.
template <class T>
size_t Network<T>::cost_of_evaluator(const Json& evaluator) const {
  const std::string label = evaluator.value("label", "");
  if (label.empty()) return 0;
  std::vector<std::string> known;
  for (size_t c : layers_.predicted) {
    const std::optional<OwnLabels>& labels = layers_.costs[c].labels;
    if (!labels) continue;
    known.push_back(layers_.schema.slots[labels->slot()].name);
    if (known.back() == label) return c;
  }
  fail(Code::kUsage, "label: no cost reads the label ", quote(label), did_you_mean(label, known),
       known.empty() ? ": name it by the key label of a cost" : "");
}

template <class T>
std::vector<size_t> Network<T>::label_slots() const {
  std::vector<size_t> slots;
  for (const NetworkCost<T>& cost : layers_.costs) {
    if (const std::optional<size_t> sets = cost.cost->label_slot()) slots.push_back(*sets);
    if (cost.labels) slots.push_back(cost.labels->slot());
  }
  return slots;
}

template <class T>
std::vector<std::unique_ptr<Evaluator>> Network<T>::make_evaluators() const {
  std::vector<std::unique_ptr<Evaluator>> made;
  for (size_t i = 0; i < evaluators_.size(); ++i) made.push_back(make_evaluator(i));
  return made;
}

template <class T>
std::vector<std::string> Network<T>::layers_without_device() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < layers_.nodes.size(); ++i) {
    if (layers_.nodes[i].on_devices) continue;
    names.push_back(cat(layers_.graph.nodes[i].name, " (", layers_.graph.nodes[i].entry->name, ")"));
  }
  return names;
}

template <class T>
void Network<T>::check_label(float label) const {
  for (const NetworkCost<T>& state : layers_.costs) {
    if (!state.labels) state.cost->check_label(label);
  }
  for (const NetworkNode<T>& node : layers_.nodes) node.layer->check_label(label);
}

// Draws the ids of the layers that draw their own.  A layer draws once a batch, for the first of its
// lookups (lookup.samples == u); the others, such as that of the bias, take the same ids.  The random
// numbers depend on job, layer and step alone, so that any thread and any process draws the same.
template <class T>
void Network<T>::draw_samples(PreparedBatch& prepared) const {
  prepared.samples.resize(layers_.wiring.lookups.size());
  for (size_t u = 0; u < layers_.wiring.lookups.size(); ++u) {
    const Lookup& lookup = layers_.wiring.lookups[u];
    if (lookup.slot || lookup.samples != u) continue;
    const NetworkNode<T>& node = layers_.nodes[lookup.node];
    const Random random(layer_seed(node.seed, prepared.step), kSampleStream);
    node.layer->sample_keys(prepared.batch, prepared.training, random, prepared.samples[u]);
  }
}

template <class T>
std::vector<KeyList> Network<T>::key_lists(size_t parameter, const PreparedBatch& prepared) const {
  std::vector<KeyList> lists;
  for (int use : layers_.wiring.lookups_of[parameter]) lists.push_back(key_list(use, prepared));
  return lists;
}

// Samples come first, since they are ids of the plans.  A parameter that looks up the same ids as one
// before it, as the bias beside the weight of a layer, takes over that plan, which is cheaper than to
// number the ids again.  Keys are counted for row policies in training alone: tests must not keep a row
// alive.
template <class T>
void Network<T>::prepare(Planners& planners, PreparedBatch& prepared) const {
  draw_samples(prepared);
  prepared.plans.resize(layers_.wiring.parameters.size());
  for (size_t p = 0; p < layers_.wiring.parameters.size(); ++p) {
    if (layers_.wiring.parameters[p].kind != ParameterKind::kRows) continue;
    const std::vector<KeyList> lists = key_lists(p, prepared);
    KeyPlan& plan = prepared.plans[p];
    if (const std::optional<size_t> like = layers_.wiring.same_ids_as(p)) {
      planners[p].plan_like(prepared.plans[*like], lists, plan);
    } else {
      planners[p].plan(lists, plan);
    }
    if (prepared.training && layers_.wiring.parameters[p].row_policy) count_keys(prepared.batch.labels, plan);
  }
}

// All that comes from the other process is checked before it is used: the batch against the schema, labels
// against the costs, and each plan against the ids of the batch.  Samples were not sent; they are drawn
// again, from the same seed, before the plans that refer to them are checked.  Plans of parameters without
// rows have to be empty.
template <class T>
void Network<T>::adopt_received(Planners& planners, PreparedBatch& prepared) const {
  check_batch(prepared.batch, layers_.schema);
  for (float label : prepared.batch.labels) check_label(label);
  draw_samples(prepared);
  if (prepared.plans.size() != layers_.wiring.parameters.size()) {
    fail(Code::kData, "a prepared batch has ", prepared.plans.size(), " plans, and the network ",
         layers_.wiring.parameters.size(), " parameters");
  }
  for (size_t p = 0; p < layers_.wiring.parameters.size(); ++p) {
    const ParameterSpec& spec = layers_.wiring.parameters[p];
    KeyPlan& plan = prepared.plans[p];
    try {
      const bool rows = spec.kind == ParameterKind::kRows;
      planners[p].complete(rows ? key_lists(p, prepared) : std::vector<KeyList>(), plan);
    } catch (const Error& error) {
      throw error.within(cat("plan of ", quote(spec.name)));
    }
    plan.counts.clear();
    if (prepared.training && spec.row_policy) count_keys(prepared.batch.labels, plan);
  }
}

template <class T>
bool Network<T>::plans_repeat() const {
  return std::all_of(layers_.wiring.lookups.begin(), layers_.wiring.lookups.end(),
                     [](const Lookup& lookup) { return lookup.slot.has_value(); });
}

// Keys and indices are those of an equal batch; the offsets are views of the arrays of a batch, and have to
// be those of this one.
template <class T>
void Network<T>::adopt_plans(PreparedBatch& prepared) const {
  prepared.samples.resize(layers_.wiring.lookups.size());
  for (size_t p = 0; p < layers_.wiring.parameters.size(); ++p) {
    if (layers_.wiring.parameters[p].kind != ParameterKind::kRows) continue;
    for (size_t u = 0; u < layers_.wiring.lookups_of[p].size(); ++u) {
      prepared.plans[p].uses[u].offsets = key_list(layers_.wiring.lookups_of[p][u], prepared).offsets;
    }
  }
}

// Returns the ids of a use: those of its slot, or those that its layer has drawn.  Backward alone needs the
// transposed part; a device with memory of its own always sums gradients by key, also where the processor
// would scatter them.
template <class T>
KeyList Network<T>::key_list(int use, const PreparedBatch& prepared) const {
  const Lookup& lookup = layers_.wiring.lookups[static_cast<size_t>(use)];
  const bool transposed = prepared.training && (lookup.transposed || for_devices_);
  if (lookup.slot) {
    const SlotData& slot = prepared.batch.slots[*lookup.slot];
    return {slot.offsets, slot.keys, transposed};
  }
  const SampledKeys& samples = prepared.samples[lookup.samples];
  return {samples.offsets, samples.keys, transposed};
}

template <class T>
double Network<T>::forward(const PreparedBatch& prepared, std::span<const ParameterView<T>> views,
                           Device& device) {
  return execution_->forward(prepared, views, device);
}

template <class T>
void Network<T>::predict(const PreparedBatch& prepared, std::span<const ParameterView<T>> views,
                         Device& device) {
  execution_->predict(prepared, views, device);
}

template <class T>
void Network<T>::backward(const OnFinalGradient& on_final, Gradients gradients) {
  execution_->backward(on_final, gradients);
}

template <class T>
void Network<T>::divide_over(Communicator* trainers) {
  execution_->divide_over(trainers);
}

template <class T>
void Network<T>::compute_for_others(std::span<const ParameterView<T>> views, Device& device) {
  execution_->compute_for_others(views, device);
}

template <class T>
Matrix<const float> Network<T>::predictions() const {
  return figures().predictions;
}

template <class T>
void Network<T>::calibrate(const std::optional<Calibration>& calibration) {
  if (calibration && !predicts_probability()) {
    fail(Code::kUsage, "model.calibration: the cost ", layers_.graph.costs.front().entry->name,
         " predicts no probability of label 1: binary_cross_entropy and focal do");
  }
  execution_->calibrate(calibration);
}

template <class T>
std::optional<float> Network<T>::main_label(const Batch& batch, int64_t example) const {
  const std::optional<OwnLabels>& labels = layers_.main_cost().labels;
  return labels ? labels->label(batch, example) : batch.labels[static_cast<size_t>(example)];
}

template <class T>
std::span<const float> Network<T>::log_losses() const {
  return figures().log_losses;
}

template <class T>
BatchFigures Network<T>::figures(FiguresFor reader) const {
  return execution_->figures(all_run_there_ ? reader : FiguresFor::kAll);
}

#define PS_INSTANTIATE(T) template class Network<T>;
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

}  // namespace ps
