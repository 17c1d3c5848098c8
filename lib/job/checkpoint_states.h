// The names of the states that a trainer adds to a checkpoint.  On disk: never change.  See ps-checkpoint(5).
#ifndef PS_JOB_CHECKPOINT_STATES_H_
#define PS_JOB_CHECKPOINT_STATES_H_

#include <string>

#include "base/error.h"

namespace ps {

// The position and figures of a trainer: "trainer/0" and so on.
inline std::string trainer_state_name(int rank) {
  return cat("trainer/", rank);
}
// The own state of a trainer with a strategy without servers: "strategy/0" in the file "strategy-0.psc".
inline std::string strategy_state_name(int rank) {
  return cat("strategy/", rank);
}
inline std::string strategy_file_name(int rank) {
  return cat("strategy-", rank, ".psc");
}
inline constexpr const char* kResultState = "result";  // results of the passes so far: JSON
inline constexpr const char* kJobState = "job";        // the job with all defaults: JSON
inline constexpr const char* kSchemaState = "schema";  // slots of the data: JSON

}  // namespace ps

#endif  // PS_JOB_CHECKPOINT_STATES_H_
