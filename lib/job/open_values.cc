#include "job/open_values.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "base/error.h"
#include "config/spec.h"
#include "data/csv/learn.h"
#include "model/labels.h"

namespace ps {

namespace {

constexpr std::string_view kOpen = "auto";

bool is_open(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key] == kOpen;
}

const Json& member(const Json& object, const char* key) {
  static const Json kNothing;
  return object.is_object() && object.contains(key) ? object[key] : kNothing;
}

// Returns true if the data are a table whose columns have not been learnt yet.
bool has_open_table(const Json& data) {
  const Json& format = member(data, "format");
  if (!format.is_string() || !is_table_format(format.get_ref<const std::string&>())) return false;
  return member(member(data, "csv"), "learnt") != true;
}

constexpr const char* kDataKeys[] = {"slots", "dim", "batch_size", "shuffle", "unit_length", "log_counts"};

Json slots_json(const std::vector<SlotOptions>& slots) {
  Json out = Json::array();
  for (const SlotOptions& slot : slots) out.push_back(SlotOptions::spec().to_json(slot));
  return out;
}

// A 200th of the examples as a power of two.  For a stream of unknown length it is a quarter of the largest
// batch.
int64_t batch_size(const DataLook& look) {
  constexpr int64_t kSmallest = 32, kLargest = 1024, kParts = 200;
  if (look.stream && !look.whole) return kLargest / 4;
  const uint64_t part = static_cast<uint64_t>(std::max<int64_t>(1, look.examples / kParts));
  return std::clamp(static_cast<int64_t>(std::bit_floor(part)), kSmallest, kLargest);
}

// Returns true if the model has a single layer with one output.  Such a model overfits only after many passes.
bool is_linear(const Json& layers) {
  return layers.is_array() && layers.size() == 1 && member(layers[0], "size") == 1;
}

// As many passes as give a million examples, within the limits.  A stream of unknown length gets one.
int64_t passes(const DataLook& look, bool linear) {
  constexpr int64_t kExamples = 1'000'000;
  const int64_t kMost = linear ? 20 : 10;
  if (look.stream && !look.whole) return 1;
  return std::clamp(kExamples / std::max<int64_t>(1, look.examples), int64_t{1}, kMost);
}

// A full shuffle needs all examples in memory, so large data and streams of unknown length get a window.
const char* shuffle(const DataLook& look) {
  constexpr uint64_t kMostBytes = uint64_t{256} << 20;
  return look.bytes <= kMostBytes && (!look.stream || look.whole) ? "full" : "window";
}

bool unit_length(const DataLook& look) {
  if (look.seen.size() != 1 || look.seen[0].schema.dense) return false;
  // Measured spreads: 1.8 for 20 Newsgroups; 0.28 for MNIST, 0.06 for ctr10k, 0.03 for a9a, 0 for agaricus.
  constexpr double kTextSpread = 0.5;
  return look.seen[0].all_whole && spread_of_lengths(look.seen[0], look.seen_examples) > kTextSpread;
}

int64_t dim(const DataLook& look) {
  Key largest = 0;
  for (const SlotLook& slot : look.seen) largest = std::max(largest, slot.largest_key);
  constexpr Key kMostDim = Key{1} << 62;
  if (largest < kMostDim) return static_cast<int64_t>(largest) + 1;
  fail(Code::kUsage, "data.dim: auto: the largest id is ", largest,
       ", too large for a dim: leave it out, or give data.hash_bits");
}

// Fills in the section `data`.  The format is set wherever slots, columns or classes were learnt, since
// they are those of this format: a later look that recognised another one could not use them.
void fill_in_data(Json& data, const DataLook& look) {
  if (is_open(data, "slots")) {
    data.erase("slots");
    if (!look.slots.empty()) {
      data["slots"] = slots_json(look.slots);
      data["label_slot"] = look.label_slot;
    }
    data["format"] = look.format;
  }
  if (look.csv) {
    data["csv"] = CsvOptions::spec().to_json(*look.csv);
    data["format"] = look.format;
  }
  if (!look.classes.empty()) {
    data["fasttext"]["classes"] = look.classes;
    data["format"] = look.format;
  }
  const bool table = is_table_format(look.format);  // the slots of a table have ids of their own
  if (!table) data.erase("csv");
  if (is_open(data, "dim")) data["dim"] = table ? 0 : dim(look);
  if (is_open(data, "batch_size")) data["batch_size"] = batch_size(look);
  if (is_open(data, "shuffle")) data["shuffle"] = shuffle(look);
  if (is_open(data, "unit_length")) data["unit_length"] = unit_length(look);
  // The integers of criteo are counts of very different sizes, up to millions.
  if (is_open(data, "log_counts")) data["log_counts"] = look.format == "criteo";
}

// Returns one more than the largest label, of the slot of labels if examples have several, else of the
// labels; 2 or more for the latter, as one class would leave nothing to learn.  Throws kUsage for labels
// that are no classes.
int64_t num_classes(const DataLook& look, const std::string& path) {
  if (look.labels) {
    if (look.labels->schema.dim > 0) return look.labels->schema.dim;
    if (look.labels->largest_key < static_cast<Key>(kMaxClasses))
      return static_cast<int64_t>(look.labels->largest_key) + 1;
    fail(Code::kUsage, path, ": auto is the number of classes, and label ", look.labels->largest_key,
         " of these data is no class below ", kMaxClasses);
  }
  if (look.whole_labels && look.smallest_label >= 0 && look.largest_label < static_cast<float>(kMaxClasses))
    return std::max<int64_t>(2, static_cast<int64_t>(look.largest_label) + 1);
  fail(Code::kUsage, path, ": auto is the number of classes, and labels of these data, from ",
       look.smallest_label, " to ", look.largest_label, look.whole_labels ? "" : " with fractions",
       ", are no classes 0, 1, 2, …");
}

// Returns the number of classes of the labels of a slot that a cost reads.
int64_t num_classes_of_slot(const SlotLook& labels, const std::string& path) {
  const bool values = labels.schema.dense || labels.schema.dim == 1;
  if (!values && labels.schema.dim > 1) return labels.schema.dim;
  const double largest = values ? double{labels.largest_value} : static_cast<double>(labels.largest_key);
  if ((!values || labels.all_whole) && largest < static_cast<double>(kMaxClasses))
    return std::max<int64_t>(2, static_cast<int64_t>(largest) + 1);
  fail(Code::kUsage, path, ": auto is the number of classes, and labels of slot ", quote(labels.schema.name),
       ", up to ", largest, values && !labels.all_whole ? " with fractions" : "",
       ", are no classes 0, 1, 2, …");
}

// Returns the slot of the labels of the cost that measures this layer, if the cost has labels of its own.
const SlotLook* own_labels(const DataLook& look, const Json& model, const Json& layer) {
  std::vector<Json> costs = {member(model, "cost")};
  for (const Json& cost : member(model, "auxiliary_costs")) costs.push_back(cost);
  for (const Json& cost : costs) {
    if (member(cost, "input") != member(layer, "name")) continue;
    for (const SlotLook& seen : look.seen) {
      if (member(cost, "label") == seen.schema.name) return &seen;
    }
  }
  return nullptr;
}

constexpr const char* kLayerKeys[] = {"size", "num_classes"};

std::string layer_path(size_t index, const std::string& key) {
  return cat("model.layers.", index, ".", key);
}

// Returns the number of ids of the slot that is a layer's second input, as nce has one in place of labels; nothing if
// there is no such input.
std::optional<int64_t> num_ids_of_slot(const DataLook& look, const Json& layer, const std::string& path) {
  const Json& inputs = member(layer, "input");
  if (!inputs.is_array() || inputs.size() != 2) return std::nullopt;
  const auto slot = std::find_if(look.seen.begin(), look.seen.end(),
                                 [&](const SlotLook& seen) { return inputs[1] == seen.schema.name; });
  if (slot == look.seen.end() || slot->schema.dense) return std::nullopt;
  if (slot->schema.dim > 0) return slot->schema.dim;
  fail(Code::kUsage, path, ": auto is the number of ids of slot ", quote(slot->schema.name),
       ", which may be any number: give the slot a dim, or the column of a table a dictionary and own_ids");
}

int64_t layer_value(const DataLook& look, const Json& model, size_t index, const std::string& key) {
  const Json& layer = model["layers"][index];
  const std::string path = layer_path(index, key);
  if (const SlotLook* labels = own_labels(look, model, layer)) return num_classes_of_slot(*labels, path);
  std::optional<int64_t> ids;
  if (key == "num_classes") ids = num_ids_of_slot(look, layer, path);
  return ids ? *ids : num_classes(look, path);
}

}  // namespace

std::vector<std::string> open_values(const Json& document) {
  std::vector<std::string> open;
  for (const char* key : kDataKeys) {
    if (is_open(member(document, "data"), key)) open.push_back(cat("data.", key));
  }
  if (has_open_table(member(document, "data"))) open.emplace_back("data.csv");
  if (is_open(member(document, "train"), "passes")) open.emplace_back("train.passes");
  const Json& layers = member(member(document, "model"), "layers");
  for (size_t i = 0; layers.is_array() && i < layers.size(); ++i) {
    for (const char* key : kLayerKeys) {
      if (is_open(layers[i], key)) open.push_back(layer_path(i, key));
    }
  }
  if (is_open(member(member(document, "optimizer"), "schedule"), "period"))
    open.emplace_back("optimizer.schedule.period");
  return open;
}

DataOptions known_data_options(const Json& document) {
  Json data = member(document, "data");
  if (data.is_null()) data = Json::object();
  for (const char* key : kDataKeys) {
    if (is_open(data, key)) data.erase(key);
  }
  return DataOptions::spec().parse(data, "data");
}

// Fills in the data first, then the passes, the layers, and the period of the schedule, which takes the
// passes that were filled in before it.
void fill_in(Json& document, const DataLook& look) {
  if (look.examples == 0) fail(Code::kData, "there is no example in the data");
  if (document.contains("data")) fill_in_data(document["data"], look);
  const Json& layers = member(member(document, "model"), "layers");
  if (is_open(member(document, "train"), "passes"))
    document["train"]["passes"] = passes(look, is_linear(layers));
  for (size_t i = 0; layers.is_array() && i < layers.size(); ++i) {
    for (const char* key : kLayerKeys) {
      if (is_open(layers[i], key))
        document["model"]["layers"][i][key] = layer_value(look, document["model"], i, key);
    }
  }
  if (is_open(member(member(document, "optimizer"), "schedule"), "period"))
    document["optimizer"]["schedule"]["period"] =
        document.value("train", Json::object()).value("passes", Json(1));
}

}  // namespace ps
