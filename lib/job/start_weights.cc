#include "job/start_weights.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "job/checkpoint_model.h"
#include "job/checkpoint_report.h"
#include "job/fingerprint.h"
#include "train/model_file.h"

namespace ps {

void check_has_model(const Job& job, const RunOptions& options,
                     const std::vector<ParameterSpec>& parameters) {
  if (options.task == "train" || !options.init_model.empty() || has_servers(job)) return;
  auto from_file = [](const ParameterSpec& spec) { return !spec.init_file.empty(); };
  if (std::all_of(parameters.begin(), parameters.end(), from_file)) return;
  fail(Code::kUsage, "no model to ", options.task,
       " with: give --init-model PATH (a folder pass-00000, a model file or a checkpoint), or --servers");
}

// --init-model replaces all weights, so the files that single parameters name count only without it.
void load_start_weights(const RunOptions& options, const std::vector<ParameterSpec>& parameters,
                        ParameterStore& store) {
  if (is_checkpoint(options.init_model)) {
    const CheckpointReader reader(checkpoint_folder(options.init_model));
    CheckpointModel model(reader, {}, options.cpu);
    load_model(model, parameters, store);
    return;
  }
  if (!options.init_model.empty()) {
    load_model(options.init_model, parameters, store);
    return;
  }
  for (size_t p = 0; p < parameters.size(); ++p) {
    const std::string& file = parameters[p].init_file;
    if (!file.empty()) load_parameter(file, parameters, p, store);
  }
}

}  // namespace ps
