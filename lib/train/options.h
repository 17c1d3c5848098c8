// The "train" section of the job file.
#ifndef PS_TRAIN_OPTIONS_H_
#define PS_TRAIN_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "config/spec.h"

namespace ps {

struct TrainOptions {
  int passes = 1;
  std::string gradient = "mean";  // sum | mean of the gradients of a batch's examples
  int64_t accumulate = 1;         // number of batches whose gradients make one step
  // How trainers bring their work together: an entry of strategy_catalog(), checked by the job.
  Json strategy = {{"type", "parameter_server"}};
  // With servers: the number of batches whose rows are pulled before they are needed; 0: at most one.
  int64_t pull_ahead = 0;
  // Batches between reports; nullopt: 100, and lines at least a second apart.
  std::optional<int64_t> log_period;
  std::string save_dir = "output";  // pass-00000/ … are made here after each pass; empty: nothing is saved
  // Training ends after this number of passes that are not better on the validation data.
  std::optional<int> patience = {};
  std::string best_by = "cost";    // measure of the validation data by which a pass is the best
  std::string calibrate = "none";  // none | platt | isotonic: the fit of saved models to the validation data
  int saving_period = 1;           // passes between saves; the last pass is always saved
  bool load_save_parameters_in_pserver = false;  // servers write models by themselves
  std::optional<std::string> emulated_compute;   // a batch is a wait of this time, which parse_seconds reads

  static const ObjectSpec<TrainOptions>& spec();

  // Returns the seconds of emulated_compute, or nullopt without it.
  std::optional<double> emulated_seconds() const;

  // Returns true if a model is saved after this pass.
  bool saves_after(int64_t pass) const;
};

}  // namespace ps

#endif  // PS_TRAIN_OPTIONS_H_
