// FinishedRun: a file in the checkpoint directory that says that a run is over, and how many passes it had.
// Used by ShardHost of the job's first shard.
#ifndef PS_PS_SERVER_FINISHED_RUN_H_
#define PS_PS_SERVER_FINISHED_RUN_H_

#include <cstdint>

#include "ps/server/shard_checkpoint.h"

namespace ps {

// A trainer that comes after the end of the run, also to a server that was restarted, is told that nothing is
// left to do.  One owner thread.
class FinishedRun {
 public:
  explicit FinishedRun(const CheckpointSettings& settings) : settings_(settings) {}

  uint64_t passes() const { return passes_; }  // 0: the run is not over

  void read();                  // throws kCorrupt
  void write(uint64_t passes);  // an error of the file is only written to the server's log
  void forget();

 private:
  std::string path() const;

  const CheckpointSettings& settings_;
  uint64_t passes_ = 0;
};

}  // namespace ps

#endif  // PS_PS_SERVER_FINISHED_RUN_H_
