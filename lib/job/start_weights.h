// The weights with which a run begins: those of --init-model, or of the files that layers name.  Used by run_job.
#ifndef PS_JOB_START_WEIGHTS_H_
#define PS_JOB_START_WEIGHTS_H_

#include <vector>

#include "job/job.h"
#include "job/run_options.h"
#include "optim/parameter.h"
#include "store/parameter_store.h"

namespace ps {

// Throws kUsage if a task other than training has no model.  It would otherwise give an answer with initial
// weights.
void check_has_model(const Job& job, const RunOptions& options, const std::vector<ParameterSpec>& parameters);

// Loads the model or checkpoint of options.init_model into the store, or without one, the parameters that have
// files of their own; others keep their initial weights.  Throws the errors of reading, and kUsage if names or
// shapes differ.
void load_start_weights(const RunOptions& options, const std::vector<ParameterSpec>& parameters,
                        ParameterStore& store);

}  // namespace ps

#endif  // PS_JOB_START_WEIGHTS_H_
