// FinishedRun: a file in the checkpoint directory that says that a run is over, how many passes it had, and how
// many its trainers had asked for.  Used by ShardHost of the job's first shard.
#ifndef PS_PS_SERVER_FINISHED_RUN_H_
#define PS_PS_SERVER_FINISHED_RUN_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "ps/server/shard_checkpoint.h"

namespace ps {

// A trainer that comes after the end of the run, also to a server that was restarted, is told that nothing is
// left to do, unless it asks for more passes than the trainers of the run did.  A run that ended early had fewer
// passes than they had asked for.  One owner thread.
class FinishedRun {
 public:
  explicit FinishedRun(const CheckpointSettings& settings) : settings_(settings) {}

  uint64_t passes() const { return passes_; }  // 0: the run is not over

  // Returns true if the run is over, and its trainers had asked for so many passes, or for more.
  bool has_done(uint64_t passes) const { return passes_ > 0 && std::max(passes_, asked_) >= passes; }

  void read();  // throws kCorrupt

  // An error of the file is only written to the server's log.
  void write(uint64_t passes, uint64_t asked);
  void forget();

 private:
  std::string path() const;

  const CheckpointSettings& settings_;
  uint64_t passes_ = 0;
  uint64_t asked_ = 0;  // passes that the trainers had asked for; 0: not known
};

}  // namespace ps

#endif  // PS_PS_SERVER_FINISHED_RUN_H_
