#include "job/job.h"

#include <cstdio>
#include <iostream>
#include <iterator>

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

// True when the key at `path` is a string in the schema: "train.save_dir" is one, whatever it looks like.
bool is_string_key(std::string_view path) {
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
  return place.contains("type") && place["type"] == "string";
}

void apply_override(Json& document, const Override& change) {
  if (change.is_list) {
    json_set(document, change.key, Json(change.values).dump());
  } else if (!change.is_set && is_string_key(change.key)) {
    json_set(document, change.key, Json(change.values.back()).dump());
  } else {
    json_set(document, change.key, change.values.back());
  }
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
    return s;
  }();
  return spec;
}

Job load_job(const std::string& path, std::span<const Override> overrides) {
  std::string name = path == "-" ? "standard input" : path;
  Json document = parse_json(read_job(path), name);
  try {
    spec_internal::expect_object(document, "");
    for (const Override& change : overrides) apply_override(document, change);
    refuse_former_keys(document);
    Job job = Job::spec().parse(document, "");
    effective_job(job);  // every entry of every catalogue parses
    find_strategy(job.train.strategy).check(job.train.strategy, job.optimizer);
    return job;
  } catch (const Error& error) {
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
