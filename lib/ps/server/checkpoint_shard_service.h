// CheckpointShardService: gives out the files that a shard has written for a checkpoint, so that a trainer
// far away can make a model of them.  Used by ShardServer.
#ifndef PS_PS_SERVER_CHECKPOINT_SHARD_SERVICE_H_
#define PS_PS_SERVER_CHECKPOINT_SHARD_SERVICE_H_

#include <cstdint>
#include <functional>
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
  // `folders`: where the files of a cut may be, the first that is there counts.
  explicit CheckpointShardService(std::function<std::vector<std::string>(const CheckpointStep&)> folders)
      : folders_(std::move(folders)) {}

  // Answered when the part is written, or will not be; at once unless it `comes`.
  void ask(uint64_t step, bool comes, ReplyPtr reply);

  // True once it has been told of that part.
  bool knows(uint64_t step) const;

  // A part is written, or will not be.
  void add(const CheckpointStep& cut, const CheckpointShardAnswer& part);

  // There will be none any more.
  void refuse(const Error& error);

  // The bytes, or the word that the file is not there any more.  Throws kData for one that never was.
  std::string read(const CheckpointShardSlice& piece) const;

 private:
  struct Written {
    CheckpointStep cut;
    CheckpointShardAnswer answer;
  };

  const std::function<std::vector<std::string>(const CheckpointStep&)> folders_;
  std::vector<Written> written_;               // the last few
  std::multimap<uint64_t, ReplyPtr> waiting_;  // by step
};

}  // namespace ps

#endif  // PS_PS_SERVER_CHECKPOINT_SHARD_SERVICE_H_
