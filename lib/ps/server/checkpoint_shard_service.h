// CheckpointShardService: gives out the files that a shard has written for a checkpoint, so that a trainer
// far away can make a model of them.  Used by CheckpointDriver.
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
  // `reply` is answered when the shard's files of this step are written, or will not be; at once unless they
  // `come`.
  void ask(uint64_t step, bool come, ReplyPtr reply);

  // True after add() for this step.
  bool knows(uint64_t step) const;

  // The shard's files of a checkpoint are written, or will not be.  They are in the first of the folders that has
  // them.
  void add(int64_t step, const CheckpointShardAnswer& answer, std::vector<std::string> folders);

  // Drops the requests of connections that are gone: trainers ask again over new ones.
  void forget_unwanted();
  size_t num_waiting() const { return waiting_.size(); }

  // Tells all who wait that no files will come any more, and forgets those that came.
  void refuse(const Error& error);

  // Returns the bytes as encode_shard_bytes does, or that the file is not there any more.  Throws kData for a file
  // that never was.
  std::string read(const CheckpointShardSlice& slice) const;

 private:
  struct Written {
    uint64_t step;
    CheckpointShardAnswer answer;
    std::vector<std::string> folders;
  };

  std::vector<Written> written_;               // the last few
  std::multimap<uint64_t, ReplyPtr> waiting_;  // by step
};

}  // namespace ps

#endif  // PS_PS_SERVER_CHECKPOINT_SHARD_SERVICE_H_
