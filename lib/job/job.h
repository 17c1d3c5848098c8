// Job: the whole job file as one struct.  Used by ps-train; this library alone knows all concrete classes.
#ifndef PS_JOB_JOB_H_
#define PS_JOB_JOB_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/flags.h"
#include "config/spec.h"
#include "data/options.h"
#include "device/options.h"
#include "job/cluster.h"
#include "model/options.h"
#include "train/checkpoint_options.h"
#include "train/options.h"

namespace ps {

struct JobOptions {
  std::string name = "job";
  uint64_t seed = 1;

  static const ObjectSpec<JobOptions>& spec();
};

struct Job {
  JobOptions job;
  DataOptions data;
  ModelOptions model;
  Json optimizer = {{"type", "sgd"}};  // an entry of optimizer_catalog()
  TrainOptions train;
  ClusterOptions cluster;
  CheckpointOptions checkpoint;
  DeviceOptions device;

  static const ObjectSpec<Job>& spec();
};

// Where the job `name` is: a file, "-", or, of a name without a folder, one of the ready-made jobs that were
// installed, with or without ".json".  Throws kUsage when there is none.
std::string find_job(const std::string& name);

// The folder of the ready-made jobs, of what is installed or of the tree that was built; empty: there is none.
std::string job_folder();

// Where the recipe `name` is: a path, or the name of one that was installed.  Throws kUsage when there is none.
std::string find_recipe(const std::string& name);

// The folder of the recipes, as job_folder.
std::string recipe_folder();

// The job with which a model was saved: the job.json in its folder, or in that of a model file.  Throws kUsage.
std::string find_model_job(const std::string& model);

// Reads the job file ("-": standard input).  Comments are left out.  Throws kUsage "job.json:3:7: …".
Json read_job_document(const std::string& path);

// Lays the overrides of flags and environment over it.  Throws kUsage, naming the flag.
Json with_overrides(Json document, const std::string& path, std::span<const Override> overrides);

// Gives the open values of a document the values that the data tell (job/open_values.h).
using FillIn = std::function<void(Json& document)>;

// The job of a document, all of it checked.  `path` and `overrides` are for messages.  Open values are filled in by
// `fill`; without one they are refused.  Throws kUsage "job.json: optimizer.type: …", and what `fill` does.
Job make_job(Json document, const std::string& path, std::span<const Override> overrides,
             const FillIn& fill = {});

// True when the job's data come from standard input, all or some.
bool reads_standard_input(const Job& job);

// All three, for a job by its path or name.
Job load_job(const std::string& path, std::span<const Override> overrides, const FillIn& fill = {});

// Takes out of a saved model's document, before overrides, what was of that run alone: its servers, its trainers, its
// checkpoints, and unless it is to be trained further, its strategy.
void forget_run(Json& document, bool trains);

// The job with every default filled in: what --print-config shows and what is saved beside a model.
Json effective_job(const Job& job);

// The JSON Schema of job files.
Json job_schema();

// The reference of all keys, as the part of ps-job(5) that is generated (mdoc).
std::string job_keys_manual();

// "name  help" a line for each entry of a catalogue: optimizers, schedules, strategies, layers, activations,
// costs, evaluators, formats.
std::string list_catalog(const std::string& kind);
std::vector<std::string> catalog_kinds();

// "train.passes=" and so on: how a --set may begin, of all keys that are not in lists.
std::vector<std::string> settable_keys();

}  // namespace ps

#endif  // PS_JOB_JOB_H_
