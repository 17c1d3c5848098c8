#include "job/job.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <utility>

#include "base/count_text.h"
#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"
#include "config/catalog.h"
#include "data/csv/learn.h"
#include "job/batch_size.h"
#include "job/former_keys.h"
#include "job/open_values.h"
#include "model/cost.h"
#include "model/evaluator.h"
#include "model/layer.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "strategy/strategy.h"
#include "train/model_file.h"

namespace ps {

namespace {

constexpr uint64_t kMaxJobBytes = 16 << 20;

std::string read_job(const std::string& path) {
  if (path != "-") return read_file(path, kMaxJobBytes);
  return std::string(std::istreambuf_iterator<char>(std::cin), {});
}

// Returns true if the key at `path` has this type in the schema: "train.save_dir" is a string, even if its
// value looks like a number.
bool is_key_of(std::string_view path, const char* type) {
  const std::vector<std::string_view> keys = split(path, '.');
  Json schema;
  for (const auto& field : Job::spec().fields()) {
    if (field->name == keys.front()) schema = field->type();
  }
  for (size_t k = 1; k < keys.size(); ++k) {
    const std::string key(keys[k]);
    if (!schema.contains("properties") || !schema["properties"].contains(key)) return false;
    schema = Json(schema["properties"][key]);
  }
  if (schema.contains("oneOf")) schema = Json(schema["oneOf"][0]);  // or "auto"
  return schema.contains("type") && schema["type"] == type;
}

// A job file is JSON, and so UTF-8.
void check_utf8(const Override& change) {
  for (const std::string& value : change.values) {
    if (!is_utf8(value))
      fail(Code::kUsage, change.key, ": ", quote(value), " is not UTF-8, as a job file is");
  }
}

// Sets one key.  With --set the text is JSON, or a string if it is not valid JSON.  A flag of its own
// follows the type of its key: text for a string, even if it looks like a number, and counts such as 10k
// for an integer.
void apply_override(Json& document, const Override& change) {
  check_utf8(change);
  if (change.is_list) {
    json_set(document, change.key, Json(change.values).dump());
  } else if (!change.is_set && is_key_of(change.key, "string")) {
    json_set(document, change.key, Json(change.values.back()).dump());
  } else if (auto count = parse_count(change.values.back());
             !change.is_set && count && is_key_of(change.key, "integer")) {
    json_set(document, change.key, std::to_string(*count));
  } else {
    json_set(document, change.key, change.values.back());
  }
}

// Returns the last override of the key that an error is about, or of a key above it; null if the value came
// from the file.
const Override* blamed(std::span<const Override> overrides, const Error& error) {
  for (size_t i = overrides.size(); i-- > 0;) {
    const std::string& key = overrides[i].key;
    const bool is_it = error.message().starts_with(key) && error.message().size() > key.size() &&
                       (error.message()[key.size()] == ':' || error.message()[key.size()] == '.');
    if (is_it) return &overrides[i];
  }
  return nullptr;
}

// "--passes: found string 'two', expected an integer"; with --set the key is named too.
Error blame(const Override& change, const Error& error) {
  if (change.is_set) return Error(error.code(), cat(change.typed, " ", error.message()));
  const std::string rest = error.message().substr(change.key.size());
  return Error(error.code(), cat(change.typed, rest));
}

std::string executable_folder() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "" : program.parent_path().string();
}

// Returns the folder `name` of the installation or of the build's source tree; empty if there is none.
std::string shared_folder(const std::string& name) {
  const std::string folder = executable_folder();
  for (const char* share : {"../share/pskit", "../../../share"}) {
    const std::string found = join_path(join_path(folder, share), name);
    if (!folder.empty() && is_directory(found))
      return std::filesystem::path(found).lexically_normal().string();
  }
  return "";
}

// Returns the file `name` of the folder, with or without ".json"; empty if there is none.
std::string find_in(const std::string& folder, const std::string& name) {
  for (const std::string& file : {name, name + ".json"}) {
    const std::string path = join_path(folder, file);
    if (!folder.empty() && exists(path) && !is_directory(path)) return path;
  }
  return "";
}

// Returns "logistic", … for logistic.json, ….
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  if (!is_directory(folder)) return names;
  for (const std::string& file : list_directory(folder))
    if (file.ends_with(".json")) names.push_back(file.substr(0, file.find('.')));
  return names;
}

// Returns the folder of the ready-made jobs whose models are well-known nets.
std::string net_folder() {
  return join_path(job_folder(), "nets");
}

// Calls `body`.  Its errors then name the flag that they are about, or else the job file.
template <class Body>
auto named_errors(const std::string& name, std::span<const Override> overrides, Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    if (const Override* change = blamed(overrides, error)) throw blame(*change, error);
    throw error.within(name);
  }
}

std::string job_name(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

template <class Entry>
Json complete(std::span<const Entry* const> catalog, const Json& object, const std::string& path,
              std::string_view kind) {
  return complete_entry(find_entry(catalog, object, path, kind), object, path);
}

struct CostLabel {
  std::string path;   // "model.cost"
  std::string label;  // the slot that the cost names; empty: none
};

// Returns the labels of the main cost and of the auxiliary ones, with the keys where they stand.
std::vector<CostLabel> labels_of_costs(const ModelOptions& model) {
  const auto label_of = [](const Json& cost) {
    const bool named = cost.is_object() && cost.contains("label") && cost["label"].is_string();
    return named ? cost["label"].get<std::string>() : std::string();
  };
  std::vector<CostLabel> labels = {{"model.cost", label_of(model.cost)}};
  for (const Json& cost : model.auxiliary_costs)
    labels.push_back({cat("model.auxiliary_costs.", labels.size() - 1), label_of(cost)});
  return labels;
}

// Throws kUsage unless each cost of a table with several label columns reads one of them, and each of them
// is read, since layers could read it else.
void check_label_columns(const DataOptions& data, const std::vector<CostLabel>& costs) {
  const std::vector<std::string>& columns = data.csv.labels;
  for (const CostLabel& cost : costs) {
    if (std::ranges::find(columns, cost.label) != columns.end()) continue;
    if (cost.label.empty())
      fail(Code::kUsage, cost.path, ".label: missing, and data.csv.labels names ", join(columns, ", "),
           ": say which the cost reads; for classes of one cost set data.multi_label=true, as the recipe "
           "tags does");
    fail(Code::kUsage, cost.path, ".label: ", quote(cost.label), did_you_mean(cost.label, columns),
         " is not in data.csv.labels, which names the columns that are labels");
  }
  for (const std::string& column : columns) {
    if (std::ranges::any_of(costs, [&](const CostLabel& cost) { return cost.label == column; })) continue;
    fail(
        Code::kUsage, "data.csv.labels: no cost reads ", quote(column),
        ": give it to one by the key label, or leave it out, and in data.csv.columns set its type to ignore");
  }
}

// Throws kUsage if costs name labels that the options of the data would change or cannot have.
void check_own_labels(const DataOptions& data, const ModelOptions& model) {
  const std::vector<CostLabel> costs = labels_of_costs(model);
  const bool table = is_table_format(data.format);
  const bool some = std::ranges::any_of(costs, [](const CostLabel& cost) { return !cost.label.empty(); });
  if (table && !data.multi_label && (some || data.has_own_labels())) return check_label_columns(data, costs);
  if (!some || !(data.log_counts || data.unit_length || data.hash_bits > 0)) return;
  fail(Code::kUsage, costs.front().path,
       ".label: data.log_counts, data.unit_length and data.hash_bits would change the labels of slots as "
       "well");
}

// Throws kUsage if examples have several labels and the cost compares with a single one.
void check_labels_of_cost(const Job& job, const Json& effective) {
  if (job.model.cost.is_null()) return;
  check_own_labels(job.data, job.model);
  if (!job.data.multi_label) return;
  const Json& cost = effective["model"]["cost"];
  if (cost.contains("labels")) return;
  fail(Code::kUsage, "data.multi_label: examples have any number of labels, and the cost ",
       cost["type"].get<std::string>(), " is of one: expected multi_label_cross_entropy");
}

}  // namespace

const ObjectSpec<JobOptions>& JobOptions::spec() {
  static const ObjectSpec<JobOptions> spec = [] {
    ObjectSpec<JobOptions> s;
    s.field("name", &JobOptions::name, "name of the job, for people");
    s.field("seed", &JobOptions::seed, "of all random numbers: initial weights, shuffles, dropout, samples");
    return s;
  }();
  return spec;
}

const ObjectSpec<Job>& Job::spec() {
  static const ObjectSpec<Job> spec = [] {
    ObjectSpec<Job> s;
    s.field("job", &Job::job, "name and seed");
    s.field("data", &Job::data, "what is read");
    s.field("model", &Job::model, "layers, cost, evaluators; not needed to convert");
    s.field("optimizer", &Job::optimizer, "how weights move").type = [] {
      return catalog_schema(optimizer_catalog());
    };
    s.field("train", &Job::train, "how the loop runs").type = [] {
      Json schema = TrainOptions::spec().schema();
      schema["properties"]["strategy"] = strategy_schema();
      return schema;
    };
    s.field("cluster", &Job::cluster, "servers and trainers");
    s.field("checkpoint", &Job::checkpoint, "when all state is written, to go on from it");
    s.field("device", &Job::device, "where rows with sparse update are trained");
    return s;
  }();
  return spec;
}

std::string job_folder() {
  return shared_folder("jobs");
}

std::string recipe_folder() {
  return shared_folder("recipes");
}

// A file of this name comes before a ready-made job, so that an installation never hides a user's file.
std::string find_job(const std::string& name) {
  if (name == "-" || exists(name) || name.find('/') != std::string::npos) return name;
  const std::string folder = job_folder();
  if (folder.empty()) return name;
  if (const std::string path = find_in(folder, name); !path.empty()) return path;
  if (const std::string path = find_in(net_folder(), name); !path.empty()) return path;
  std::vector<std::string> names = names_in(folder);
  for (std::string& net : names_in(net_folder())) names.push_back(std::move(net));
  fail(Code::kUsage, "cannot open ", quote(name), ": no such file, and no ready-made job of that name",
       did_you_mean(name, names), "; ps-train --list jobs names those");
}

std::string find_recipe(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  if (const std::string path = find_in(recipe_folder(), name); !path.empty()) return path;
  const std::vector<std::string> names = names_in(recipe_folder());
  fail(Code::kUsage, "there is no recipe ", quote(name), did_you_mean(name, names), "; expected one of ",
       join(names, ", "), ", or a path with a slash");
}

std::string find_model_job(const std::string& model) {
  const std::string folder = is_directory(model) ? model : parent_directory(model);
  const std::string path = join_path(folder, kModelJob);
  if (exists(path)) return path;
  fail(Code::kUsage, quote(model), exists(model) ? " has no job.json beside its weights" : ": no such model",
       ": expected a folder that ps-train has saved, such as output/pass-00000");
}

void forget_run(Json& document, bool trains) {
  document.erase("cluster");
  document.erase("checkpoint");
  if (!trains && document.contains("train") && document["train"].is_object())
    document["train"].erase("strategy");
}

Json read_job_document(const std::string& path) {
  Json document = parse_json(read_job(path), job_name(path), JsonComments::kIgnored);
  return named_errors(job_name(path), {}, [&] {
    spec_internal::expect_object(document, "");
    return document;
  });
}

Json with_overrides(Json document, const std::string& path, std::span<const Override> overrides) {
  return named_errors(job_name(path), overrides, [&] {
    for (const Override& change : overrides) apply_override(document, change);
    refuse_former_keys(document);
    return document;
  });
}

// Fills in open values first, since the document has to be complete before it is parsed.  Errors after that
// name the flag or file that they come from.  The checks that need several sections at once come last.
Job make_job(Json document, const std::string& path, std::span<const Override> overrides,
             const FillIn& fill) {
  drop_open_batch(document);
  if (const std::vector<std::string> open = open_values(document); !open.empty()) {
    if (!fill) {
      fail(Code::kUsage, job_name(path), ": ", open.front(),
           ": auto is for ps-train, which looks at its data: ps-train --print-config shows the job that it "
           "makes");
    }
    fill(document);
  }
  return named_errors(job_name(path), overrides, [&] {
    Job job = Job::spec().parse(document, "");
    divide_global_batch(document, job.cluster.trainers, job.train.accumulate, job.data);
    check_accumulate(job.data, job.train.accumulate);
    check_labels_of_cost(job, effective_job(job));  // parses every entry of every catalogue
    find_strategy(job.train.strategy).check(job.train.strategy, job.optimizer);
    return job;
  });
}

bool reads_standard_input(const Job& job) {
  const std::vector<std::string>& files = job.data.files;
  return files.empty() || std::find(files.begin(), files.end(), "-") != files.end();
}

Job load_job(const std::string& path, std::span<const Override> overrides, const FillIn& fill) {
  const std::string file = find_job(path);
  return make_job(with_overrides(read_job_document(file), file, overrides), file, overrides, fill);
}

// The sections with a type of their own are kept as JSON in Job; their catalogues complete them here, which
// checks them too.
Json effective_job(const Job& job) {
  Json out = Job::spec().to_json(job);
  out["optimizer"] = complete(optimizer_catalog(), job.optimizer, "optimizer", "optimizer");
  out["train"]["strategy"] = complete_strategy(job.train.strategy);
  Json& model = out["model"];
  for (size_t i = 0; i < job.model.layers.size(); ++i) {
    model["layers"][i] = complete(layer_catalog(), job.model.layers[i], cat("model.layers.", i), "layer");
  }
  if (!job.model.cost.is_null()) {
    model["cost"] = complete(cost_catalog(), job.model.cost, "model.cost", "cost");
  }
  for (size_t i = 0; i < job.model.evaluators.size(); ++i) {
    const Json& evaluator = job.model.evaluators[i];
    Json object = evaluator.is_string() ? Json{{"type", evaluator}} : evaluator;
    model["evaluators"][i] = complete(evaluator_catalog(), object, cat("model.evaluators.", i), "evaluator");
  }
  return out;
}

Json job_schema() {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "pskit job file"}};
  schema.update(Job::spec().schema());
  return schema;
}

}  // namespace ps
