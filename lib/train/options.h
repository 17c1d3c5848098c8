// The "train" section of the job file.
#ifndef PS_TRAIN_OPTIONS_H_
#define PS_TRAIN_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "config/spec.h"
#include "ps/wire/consistency.h"

namespace ps {

struct TrainOptions {
  int passes = 1;
  std::string gradient = "mean";      // over the examples of a batch: sum | mean
  Json mode = "sync";                 // of several trainers: "sync", "async", {"staleness": n}, {"geo": k}
  int64_t max_lag = 0;                // async: older gradients are dropped
  std::optional<int64_t> log_period;  // batches between reports; nothing: 100, and a second between lines
  std::string save_dir = "output";  // pass-00000/ … are made here after each pass; empty: nothing is saved
  int saving_period = 1;            // passes between saves; the last pass is always saved
  bool load_save_parameters_in_pserver = false;  // servers write models by themselves

  static const ObjectSpec<TrainOptions>& spec();

  // Whether a model is saved after this pass.
  bool saves_after(int64_t pass) const;

  // Of mode and max_lag.  Throws kUsage "train.mode: …".
  Consistency consistency() const;

  // When the mode is geo.
  std::optional<LocalSgdOptions> geo() const;
};

}  // namespace ps

#endif  // PS_TRAIN_OPTIONS_H_
