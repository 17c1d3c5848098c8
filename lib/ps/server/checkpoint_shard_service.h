// CheckpointShardService: gives out the files that a shard has written for a checkpoint, so that a trainer on
// another machine can make a model from them.  Used by CheckpointDriver.
#ifndef PS_PS_SERVER_CHECKPOINT_SHARD_SERVICE_H_
#define PS_PS_SERVER_CHECKPOINT_SHARD_SERVICE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ps/server/checkpoint_shards.h"
#include "ps/server/reply.h"
#include "ps/wire/checkpoint_messages.h"

namespace ps {

// One owner thread.
class CheckpointShardService {
 public:
  // Answers when the shard's files of this step are written, or will not be.  If the files do not `come`,
  // answers at once.
  void ask(uint64_t step, bool come, ReplyPtr reply);

  // Returns true after add() for this step.
  bool knows(uint64_t step) const;

  // Notes that the shard's files of a checkpoint are written, or will not be, and answers the requests for
  // them.  A file lies in the first of the folders that has it.
  void add(int64_t step, const CheckpointShardAnswer& answer, std::vector<std::string> folders);

  // Answers the requests for files of checkpoints before this one, which do not come any more.
  void end_before(uint64_t step);

  // Drops the requests of connections that are gone: trainers ask again over new ones.
  void forget_unwanted();
  size_t num_waiting() const { return waiting_.size(); }

  // Tells all waiting requests that no files will come any more, and forgets the files that came.
  void refuse(const Error& error);

  // Returns the bytes as encode_shard_bytes does, or that the file is not there any more.  Throws kData for a
  // file that never existed.
  std::string read(const CheckpointShardSlice& slice) const;

 private:
  struct Written {
    uint64_t step;
    CheckpointShardAnswer answer;
    std::vector<std::string> folders;
  };

  std::vector<Written> written_;               // the last few, oldest first
  std::multimap<uint64_t, ReplyPtr> waiting_;  // by step
};

}  // namespace ps

#endif  // PS_PS_SERVER_CHECKPOINT_SHARD_SERVICE_H_
