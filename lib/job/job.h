// Job: the whole job file as one struct.  Used by ps-train.  Only this library knows all concrete classes.
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

// Returns the path of the job `name`: a file, "-", or, for a name without a folder, one of the ready-made jobs
// that were installed, with or without ".json".  Throws kUsage if there is none.
std::string find_job(const std::string& name);

// Returns the folder of the ready-made jobs in the installation or in the build's source tree; empty if there
// is none.
std::string job_folder();

// Returns the path of the recipe `name`: a path, or the name of an installed one.  Throws kUsage if there is
// none.
std::string find_recipe(const std::string& name);

// Returns the folder of the recipes, as job_folder does.
std::string recipe_folder();

// Returns the path of the job with which a model was saved: the job.json in its folder, or in that of a model
// file.  Throws kUsage.
std::string find_model_job(const std::string& model);

// Reads the job file ("-": standard input), without its comments.  Throws kUsage "job.json:3:7: …".
Json read_job_document(const std::string& path);

// Applies the overrides of flags and environment to the document.  Throws kUsage, naming the flag.
Json with_overrides(Json document, const std::string& path, std::span<const Override> overrides);

// Gives the open values of a document the values that follow from the data (job/open_values.h).
using FillIn = std::function<void(Json& document)>;

// Returns the job of a document, all of it checked.  `path` and `overrides` are for messages.  `fill` fills in
// open values; without it they are refused.  Throws kUsage "job.json: optimizer.type: …", and the errors of
// `fill`.
Job make_job(Json document, const std::string& path, std::span<const Override> overrides,
             const FillIn& fill = {});

// Returns true if some of the job's data come from standard input.
bool reads_standard_input(const Job& job);

// Reads a job by its path or name, applies the overrides, and makes the job.
Job load_job(const std::string& path, std::span<const Override> overrides, const FillIn& fill = {});

// Removes the parts of a saved model's document that belonged to its run alone, before overrides: servers,
// trainers, checkpoints, and the strategy unless the model is to be trained further.
void forget_run(Json& document, bool trains);

// Returns the job with every default filled in, which --print-config shows and which is saved beside a model.
Json effective_job(const Job& job);

// Returns the JSON Schema of job files.
Json job_schema();

// Returns the reference of all keys, the generated part of ps-job(5) (mdoc).
std::string job_keys_manual();

// Returns a line "name  help" for each entry of a catalogue: optimizers, schedules, strategies, layers,
// activations, costs, evaluators, formats.
std::string list_catalog(const std::string& kind);
std::vector<std::string> catalog_kinds();

// Returns the possible beginnings of a --set, "train.passes=" and so on, for all keys outside lists.
std::vector<std::string> settable_keys();

}  // namespace ps

#endif  // PS_JOB_JOB_H_
