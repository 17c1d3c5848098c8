#include "job/job.h"

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>

#include "base/count_text.h"
#include "base/error.h"
#include "base/file.h"
#include "config/catalog.h"
#include "job/former_keys.h"
#include "model/cost.h"
#include "model/evaluator.h"
#include "model/layer.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "strategy/strategy.h"

namespace ps {

namespace {

constexpr uint64_t kMaxJobBytes = 16 << 20;

std::string read_job(const std::string& path) {
  if (path != "-") return read_file(path, kMaxJobBytes);
  return std::string(std::istreambuf_iterator<char>(std::cin), {});
}

// True when the key at `path` has this type in the schema: "train.save_dir" is a string, whatever it looks like.
bool is_key_of(std::string_view path, const char* type) {
  const std::vector<std::string_view> keys = split(path, '.');
  Json place;
  for (const auto& field : Job::spec().fields()) {
    if (field->name == keys.front()) place = field->type();
  }
  for (size_t k = 1; k < keys.size(); ++k) {
    const std::string key(keys[k]);
    if (!place.contains("properties") || !place["properties"].contains(key)) return false;
    place = Json(place["properties"][key]);
  }
  return place.contains("type") && place["type"] == type;
}

void apply_override(Json& document, const Override& change) {
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

// The last override of the key that an error is about, or of one above it; null when the file said it.
const Override* blamed(std::span<const Override> overrides, const Error& error) {
  for (size_t i = overrides.size(); i-- > 0;) {
    const std::string& key = overrides[i].key;
    const bool is_it = error.message().starts_with(key) && error.message().size() > key.size() &&
                       (error.message()[key.size()] == ':' || error.message()[key.size()] == '.');
    if (is_it) return &overrides[i];
  }
  return nullptr;
}

// "--passes: found string 'two', expected an integer"; of --set the key is told too.
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

template <class Entry>
Json complete(std::span<const Entry* const> catalog, const Json& object, const std::string& path,
              std::string_view kind) {
  return complete_entry(find_entry(catalog, object, path, kind), object, path);
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
  const std::string folder = executable_folder();
  for (const char* place : {"../share/pskit/jobs", "../../../share/jobs"}) {
    const std::string jobs = join_path(folder, place);
    if (!folder.empty() && is_directory(jobs)) return std::filesystem::path(jobs).lexically_normal().string();
  }
  return "";
}

std::string find_job(const std::string& name) {
  if (name == "-" || exists(name) || name.find('/') != std::string::npos) return name;
  const std::string folder = job_folder();
  if (folder.empty()) return name;
  for (const std::string& file : {name, name + ".json"}) {
    if (const std::string path = join_path(folder, file); exists(path)) return path;
  }
  std::vector<std::string> names;
  for (const std::string& file : list_directory(folder)) names.push_back(file.substr(0, file.find('.')));
  fail(Code::kUsage, "cannot open ", quote(name), ": no such file, and no ready-made job of that name",
       did_you_mean(name, names), "; ps-train --list jobs names those");
}

Job load_job(const std::string& path, std::span<const Override> overrides) {
  const std::string file = find_job(path);
  std::string name = file == "-" ? "standard input" : file;
  Json document = parse_json(read_job(file), name);
  try {
    spec_internal::expect_object(document, "");
    for (const Override& change : overrides) apply_override(document, change);
    refuse_former_keys(document);
    Job job = Job::spec().parse(document, "");
    effective_job(job);  // every entry of every catalogue parses
    find_strategy(job.train.strategy).check(job.train.strategy, job.optimizer);
    return job;
  } catch (const Error& error) {
    if (const Override* change = blamed(overrides, error)) throw blame(*change, error);
    throw error.within(name);
  }
}

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
