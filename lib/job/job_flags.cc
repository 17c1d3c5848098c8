#include "job/job_flags.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "job/fill_from_data.h"
#include "job/open_values.h"

namespace ps {

namespace {

// Returns the overrides of the launcher, followed by those of the flags, which take precedence.
std::vector<Override> overrides(const Flags& flags, const std::optional<LaunchedTrainer>& launched) {
  std::vector<Override> all;
  auto add = [&](const char* key, std::vector<std::string> values, bool is_list) {
    all.push_back({.key = key, .values = std::move(values), .is_list = is_list, .typed = launched->launcher});
  };
  if (launched) add("cluster.trainers", {std::to_string(launched->trainers)}, false);
  if (launched && !launched->servers.empty()) add("cluster.servers", launched->servers, true);
  all.insert(all.end(), flags.overrides().begin(), flags.overrides().end());
  return all;
}

// Returns the path of the job file, recipe or model that the command line names; exactly one of them has to
// be given.
std::string find_job_file(const Flags& flags) {
  const bool by_file = !flags.positionals().empty(), by_recipe = flags.given("recipe");
  if (by_file + by_recipe + flags.given("model") > 1)
    flags.refuse(by_recipe ? "recipe" : "model", "give a job file, a recipe or a model, one of them");
  if (flags.given("model") && flags.given("init-model"))
    flags.refuse("init-model", "the weights are those of --model");
  if (by_file) return find_job(flags.positionals()[0]);
  return by_recipe ? find_recipe(*flags.text("recipe")) : find_model_job(*flags.text("model"));
}

// Refuses to fill in values from data for a task other than training and conversion: weights that were
// trained elsewhere have to be used with the values that were filled in when they were trained.
void check_may_fill_in(const std::string& task, const Json& document) {
  if (task == "train" || task == "convert") return;
  fail(Code::kUsage, "--job ", task, ": ", open_values(document).front(),
       " is auto in this job, and was filled in when the model was trained: give --model DIR");
}

}  // namespace

int threads_flag(const Flags& flags) {
  int64_t asked = flags.integer("threads", 0, 1024).value();
  if (asked > 0) return static_cast<int>(asked);
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

std::optional<LaunchedTrainer> find_launched(const Flags& flags) {
  if (flags.given("rank") || flags.given("trainers") || flags.text("role") == "compute") return std::nullopt;
  return launched_trainer(process_environment());
}

// Makes the job from a file, then the flags, then `more`.  The parts of a saved model that belonged to its
// run are forgotten before the flags, which may set them anew.  With --print-config the job is printed and
// nothing returned; if there are no data from which its open values could follow, the document is printed
// with these values still open.
std::optional<Job> job_of_flags(const Flags& flags, const std::optional<LaunchedTrainer>& launched,
                                std::span<const Override> more, InputHead& head, Log& log) {
  const std::string path = find_job_file(flags), task = *flags.text("job");
  std::vector<Override> changes = overrides(flags, launched);
  changes.insert(changes.end(), more.begin(), more.end());
  Json document = read_job_document(path);
  if (flags.given("model")) forget_run(document, task == "train");
  document = with_overrides(std::move(document), path, changes);
  const bool prints = flags.on("print-config"), is_open = !open_values(document).empty();
  if (prints && is_open && known_data_options(document).files.empty()) {
    std::puts(document.dump(2).c_str());
    return std::nullopt;
  }
  Job job = make_job(std::move(document), path, changes, [&](Json& open) {
    check_may_fill_in(task, open);
    head = fill_from_data(open, threads_flag(flags), log);
  });
  if (!prints) return job;
  std::puts(effective_job(job).dump(2).c_str());
  return std::nullopt;
}

}  // namespace ps
