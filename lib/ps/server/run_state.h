// RunState: how far a run has come, as far as its servers know.  It is a state of their checkpoints, and the
// head of shard snapshots.  Used by Shard and its StepClock.
#ifndef PS_PS_SERVER_RUN_STATE_H_
#define PS_PS_SERVER_RUN_STATE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "ps/server/rest_of_pass.h"

namespace ps {

inline constexpr const char* kRunState = "run";  // its name in a checkpoint of servers

// States by their names, which a checkpoint that is being written shares with the run that goes on.
using SharedStates = std::map<std::string, std::shared_ptr<const std::string>>;

struct RunState {
  // Batches of one trainer that were applied.
  struct Progress {
    uint64_t batches = 0, pass_batches = 0;  // in the run; in this pass
  };

  uint64_t clock = 0, pass = 0;    // steps applied, passes ended
  std::vector<Progress> trainers;  // by rank
  RestOfPass rest = {};            // which rank trains which data, once the rest of the pass was dealt

  void save(std::string& out) const;

  // Throws kCorrupt if it is cut short or makes no sense.
  static RunState load(ByteReader& in);

  // Returns true if some trainer has trained a batch of this pass.
  bool pass_begun() const;

  // Returns the same state for so many trainers.  If their number has changed, the batches of the pass that
  // are done are dealt to them: batch b counts as one of trainer b mod their number.  The batches that lost
  // trainers had left then count as the ones after those.
  RunState dealt_to(size_t num_trainers) const;
};

}  // namespace ps

#endif  // PS_PS_SERVER_RUN_STATE_H_
