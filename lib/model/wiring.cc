#include "model/wiring.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/reals.h"
#include "config/json.h"

namespace ps {

namespace {

// Returns the type that "default" stands for: see LayerSetup::Request.
std::string default_type(const LayerSetup::Request& request) {
  if (!request.smart_default) return "normal";
  return request.fan_in > 0 ? "smart" : "zero";
}

// Returns the start of the weights.  "smart" is normal with deviation 1 / sqrt(fan_in), which keeps the
// variance of the outputs at that of the inputs; "he" has sqrt(2 / fan_in), since a relu halves it: He et
// al., ICCV 2015.
Initializer make_initializer(const LayerSetup::Request& request, uint64_t seed) {
  const InitOptions& init = request.options.init;
  const std::string type = init.type == "default" ? default_type(request) : init.type;
  if (type == "constant") return {Distribution::kConstant, init.mean, 0, seed};
  if (type == "normal") return {Distribution::kNormal, init.mean, init.deviation, seed};
  if (type == "uniform") return {Distribution::kUniform, init.mean, init.deviation, seed};
  if (type != "smart" && type != "he") return {Distribution::kZero, 0, 0, seed};  // file: until it is read
  if (request.fan_in <= 0) {
    fail(Code::kUsage, request.suffix, ".init.type: ", quote(type),
         " needs a known number of inputs (give the slot a dim)");
  }
  const double gain = type == "he" ? 2 : 1;
  return {Distribution::kNormal, init.mean, std::sqrt(gain / static_cast<double>(request.fan_in)), seed};
}

ParameterSpec make_spec(const LayerSetup::Request& request, const std::string& name, ParameterKind kind,
                        uint64_t seed) {
  ParameterSpec spec;
  spec.name = name;
  spec.kind = kind;
  spec.rows = request.rows;
  spec.cols = request.cols;
  spec.initializer = make_initializer(request, hash_bytes(name, seed));
  spec.init_file = request.options.init.path;
  spec.tuning = request.options;
  spec.split = request.split;
  return spec;
}

std::string shape_of(const ParameterSpec& spec) {
  return cat(spec.rows == 0 ? "any id" : std::to_string(spec.rows), " x ", spec.cols,
             spec.sparse ? ", sparse" : "", spec.split ? ", divided over trainers" : "");
}

InputInfo input_info(const InputRef& input, const std::string& name, const DataSchema& schema,
                     const Wiring& wiring) {
  if (input.kind == InputKind::kLayer)
    return {name, input.kind, wiring.cols[input.index], wiring.images[input.index],
            wiring.sequences[input.index]};
  return {name, input.kind, schema.slots[input.index].dim, std::nullopt, std::nullopt, input.index};
}

}  // namespace

NodeSetup::NodeSetup(const Graph& graph, const DataSchema& schema, uint64_t seed, size_t node, Wiring& wiring)
    : node_(graph.nodes[node]), index_(node), graph_(graph), seed_(seed), wiring_(wiring) {
  PS_CHECK(wiring.cols.size() == node);
  wiring.cols.push_back(0);
  wiring.images.emplace_back();
  wiring.sequences.emplace_back();
  wiring.pair_work.push_back(0);
  wiring.parameters_of.emplace_back();
  for (size_t i = 0; i < node_.inputs.size(); ++i) {
    inputs_.push_back(input_info(node_.inputs[i], node_.input_names[i], schema, wiring));
  }
}

int NodeSetup::add_matrix(const Request& request) {
  if (request.options.row_policy)
    fail(Code::kUsage, "weight.rows: the layer has no rows that are reached by ids");
  const int parameter = add(request.suffix, make_spec(request, cat(node_.name, ".", request.suffix),
                                                      ParameterKind::kMatrix, seed_));
  if (request.of_input < 0) return parameter;
  const InputRef& input = node_.inputs[static_cast<size_t>(request.of_input)];
  if (input.kind == InputKind::kDenseSlot) add_row_slot(parameter, input.index);
  return parameter;
}

// Refuses combinations that have no meaning: rows without a number are possible in a table alone, and so is
// a row policy, which makes and removes single rows; compute trainers have whole tables alone.
int NodeSetup::add_rows(const Request& request, bool sparse_update) {
  ParameterSpec spec = make_spec(request, cat(node_.name, ".", request.suffix), ParameterKind::kRows, seed_);
  spec.sparse = sparse_update;
  if (spec.rows == 0 && !sparse_update) {
    fail(Code::kUsage, "sparse_update: must be true, since the ids of the input have no dim");
  }
  if (request.options.row_policy && !sparse_update) {
    fail(Code::kUsage, "weight.rows: sparse_update must be true, else all rows are there all the time");
  }
  spec.row_policy = request.options.row_policy;
  spec.with_compute = node_.device == "compute";
  if (spec.with_compute && sparse_update) {
    fail(Code::kUsage,
         "device: a compute trainer has whole tables, and sparse_update makes one of single rows: "
         "leave out one of the two");
  }
  has_rows_ = true;
  return add(request.suffix, std::move(spec));
}

int NodeSetup::add_statistic(const std::string& suffix, int64_t rows, int64_t cols, double initial) {
  ParameterSpec spec;
  spec.name = cat(node_.name, ".", suffix);
  spec.kind = ParameterKind::kStatistic;
  spec.rows = rows;
  spec.cols = cols;
  spec.initializer = {Distribution::kConstant, initial, 0, 0};
  return add(suffix, std::move(spec));
}

// Appends the parameter to the wiring, with empty lists of lookups and slots, unless share_with gives the
// layer another one's.
int NodeSetup::add(const std::string& suffix, ParameterSpec spec) {
  int parameter = node_.share_with ? share(suffix, spec) : -1;
  if (parameter < 0) {
    parameter = static_cast<int>(wiring_.parameters.size());
    wiring_.parameters.push_back(std::move(spec));
    wiring_.lookups_of.emplace_back();
    wiring_.row_slots.emplace_back();
  }
  bool added = wiring_.parameters_of[index_].emplace(suffix, parameter).second;
  PS_CHECK(added);
  return parameter;
}

// Returns the parameter with this suffix of the layer that share_with names, or -1 if that layer has none.
int NodeSetup::share(const std::string& suffix, const ParameterSpec& spec) {
  const auto& others = wiring_.parameters_of[*node_.share_with];
  auto found = others.find(suffix);
  if (found == others.end()) return -1;
  const ParameterSpec& other = wiring_.parameters[static_cast<size_t>(found->second)];
  if (other.kind != spec.kind || other.rows != spec.rows || other.cols != spec.cols ||
      other.sparse != spec.sparse || other.split != spec.split) {
    fail(Code::kUsage, "share_with: ", suffix, " is ", shape_of(spec), ", but that of ",
         quote(graph_.nodes[*node_.share_with].name), " is ", shape_of(other));
  }
  if (suffix.starts_with("weight") ? node_.weight_set : suffix.starts_with("bias") && node_.bias_set) {
    fail(Code::kUsage, suffix.starts_with("weight") ? "weight" : "bias", ": is that of ",
         quote(graph_.nodes[*node_.share_with].name), ", which share_with names: set it there");
  }
  shared_ = true;
  return found->second;
}

int NodeSetup::use_input(int parameter, int input, bool transposed) {
  const InputRef& ref = node_.inputs[static_cast<size_t>(input)];
  PS_CHECK(ref.kind == InputKind::kSparseSlot);
  // Layers that look up the same ids in the same table share the look-up.
  for (int lookup : wiring_.lookups_of[static_cast<size_t>(parameter)]) {
    Lookup& known = wiring_.lookups[static_cast<size_t>(lookup)];
    if (known.slot != ref.index) continue;
    known.transposed |= transposed;
    return lookup;
  }
  add_row_slot(parameter, ref.index);
  return add_lookup(parameter, ref.index, transposed);
}

void NodeSetup::add_row_slot(int parameter, size_t slot) {
  std::vector<size_t>& slots = wiring_.row_slots[static_cast<size_t>(parameter)];
  if (std::find(slots.begin(), slots.end(), slot) == slots.end()) slots.push_back(slot);
}

// Two lookups have the same ids if they read the same slot, or the same drawn samples.  A plan is the same
// if all lookups are, in their order, since keys are numbered in the order of first use.
std::optional<size_t> Wiring::same_ids_as(size_t parameter) const {
  auto same = [this](int a, int b) {
    const Lookup &x = lookups[static_cast<size_t>(a)], &y = lookups[static_cast<size_t>(b)];
    return x.slot == y.slot && (x.slot || x.samples == y.samples);
  };
  const std::vector<int>& own = lookups_of[parameter];
  for (size_t p = 0; p < parameter && !own.empty(); ++p) {
    if (std::equal(own.begin(), own.end(), lookups_of[p].begin(), lookups_of[p].end(), same)) return p;
  }
  return std::nullopt;
}

int NodeSetup::use_samples(int parameter) {
  if (wiring_.parameters[static_cast<size_t>(parameter)].row_policy) {
    fail(Code::kUsage, "weight.rows: ids that the layer draws or computes do not occur in the data");
  }
  return add_lookup(parameter, std::nullopt, /*transposed=*/true);
}

// `samples` becomes the first drawn lookup of this node, if there is one, else this lookup: all drawn
// lookups of a node have the ids that it draws once.  position is the place among the lookups of the
// parameter, and so in KeyPlan::uses.
int NodeSetup::add_lookup(int parameter, std::optional<size_t> slot, bool transposed) {
  std::vector<int>& plan = wiring_.lookups_of[static_cast<size_t>(parameter)];
  size_t lookup = wiring_.lookups.size(), samples = lookup;
  for (size_t u = lookup; u-- > 0;) {
    if (!slot && !wiring_.lookups[u].slot && wiring_.lookups[u].node == index_)
      samples = wiring_.lookups[u].samples;
  }
  wiring_.lookups.push_back({parameter, plan.size(), index_, slot, samples, transposed});
  plan.push_back(static_cast<int>(lookup));
  return plan.back();
}

void NodeSetup::set_output(int64_t cols) {
  PS_CHECK(wiring_.cols[index_] == 0 && cols > 0);
  wiring_.cols[index_] = cols;
}

void NodeSetup::set_image_output(const ImageShape& image) {
  set_output(image.size());
  wiring_.images[index_] = image;
}

void NodeSetup::keep_rows() {
  const InputInfo& first = inputs_.front();
  for (const InputInfo& input : inputs_) {
    if (input.sequence == first.sequence) continue;
    const InputInfo& sequence = first.sequence ? first : input;
    const InputInfo& other = first.sequence ? input : first;
    fail(Code::kUsage, "input: ", quote(sequence.name), " has a row for each id, and ", quote(other.name),
         " ", other.sequence ? "for each id of another slot" : "one an example",
         ": expected inputs with the same rows (sequence_pool makes one row an example)");
  }
  reads_sequences_ = true;
  wiring_.sequences[index_] = first.sequence;
}

void NodeSetup::join_rows() {
  for (const InputInfo& input : inputs_) {
    if (input.sequence) continue;
    fail(Code::kUsage, "input: ", node_.entry->name, " takes sequences, found ", quote(input.name), ", ",
         input.kind == InputKind::kLayer ? "a layer of one row an example" : "a slot",
         " (an embedding with pooling \"none\" makes sequences of a sparse slot)");
  }
  reads_sequences_ = true;
}

void NodeSetup::follow_ids(int input) {
  const InputRef& ref = node_.inputs[static_cast<size_t>(input)];
  PS_CHECK(ref.kind == InputKind::kSparseSlot);
  wiring_.sequences[index_] = ref.index;
}

void NodeSetup::check_device() const {
  if (node_.device == "default") return;
  if (node_.share_with) {
    fail(Code::kUsage, "device: is that of ", quote(graph_.nodes[*node_.share_with].name),
         ", which share_with names: set it there");
  }
  if (has_rows_) return;
  if (node_.device == "reader") {
    fail(Code::kUsage, "device: a reader has rows that ids reach alone, and ", quote(node_.name),
         " has none: leave it to the compute trainers");
  }
}

void NodeSetup::finish() const {
  PS_CHECK(wiring_.cols[index_] > 0);
  check_device();
  for (const InputInfo& input : inputs_) {
    if (reads_sequences_ || !input.sequence) continue;
    fail(Code::kUsage, "input: ", node_.entry->name, " takes one row an example, found ", quote(input.name),
         ", which has one for each id (sequence_pool makes one row of them)");
  }
  if (!node_.share_with || shared_) return;
  fail(Code::kUsage, "share_with: ", quote(graph_.nodes[*node_.share_with].name),
       " has no parameter of the same name");
}

// The constructor of the layer declares itself to `setup`.  Errors of both get the path of the layer in the
// job file.
template <class T>
std::unique_ptr<Layer<T>> make_layer(const Graph& graph, const DataSchema& schema, uint64_t seed, size_t node,
                                     Wiring& wiring) {
  const LayerNode& layer_node = graph.nodes[node];
  try {
    NodeSetup setup(graph, schema, seed, node, wiring);
    std::unique_ptr<Layer<T>> layer;
    if constexpr (std::is_same_v<T, float>) {
      layer = layer_node.entry->make_float(layer_node.object, setup);
    } else {
      layer = layer_node.entry->make_double(layer_node.object, setup);
    }
    setup.finish();
    return layer;
  } catch (const Error& error) {
    throw Error(error.code(), json_path(layer_node.path, error.message()));
  }
}

#define PS_INSTANTIATE(T) \
  template std::unique_ptr<Layer<T>> make_layer(const Graph&, const DataSchema&, uint64_t, size_t, Wiring&);
PS_FOR_REALS(PS_INSTANTIATE)
#undef PS_INSTANTIATE

std::vector<ParameterSpec> model_parameters(const ModelOptions& options, const DataSchema& schema,
                                            uint64_t seed) {
  const Graph graph = make_graph(options, schema);
  Wiring wiring;
  for (size_t i = 0; i < graph.nodes.size(); ++i) make_layer<float>(graph, schema, seed, i, wiring);
  return std::move(wiring.parameters);
}

}  // namespace ps
