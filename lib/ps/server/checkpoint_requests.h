// CheckpointRequests: the requests for checkpoints, and the trainers among them that wait until their
// checkpoint counts.  Used by CheckpointDriver of the job's first shard.
#ifndef PS_PS_SERVER_CHECKPOINT_REQUESTS_H_
#define PS_PS_SERVER_CHECKPOINT_REQUESTS_H_

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ps/server/reply.h"
#include "ps/wire/checkpoint_messages.h"

namespace ps {

// One owner thread.
class CheckpointRequests {
 public:
  // A request that comes while a checkpoint is being written gets the next one.
  void add(ReplyPtr reply) { waiting_.push_back(std::move(reply)); }
  void add() { asked_ = true; }                                           // without a reply
  void add_begun(ReplyPtr reply) { begun_.push_back(std::move(reply)); }  // for the one that is being written
  bool any() const { return asked_ || !waiting_.empty(); }

  // begin: a checkpoint begins, for all requests so far. end: it counts, or has failed.
  void begin();
  void end(const AskedCheckpoint& answer);

  // Drops the requests of connections that are gone: trainers ask again over new ones.
  void forget_unwanted();
  size_t num_waiting() const { return waiting_.size() + begun_.size(); }

  // Fails all requests: there will be no checkpoint.
  void refuse(const Error& error);

 private:
  bool asked_ = false;                     // a checkpoint was asked for without a reply
  std::vector<ReplyPtr> waiting_, begun_;  // for the next checkpoint; for the one that is being written
};

}  // namespace ps

#endif  // PS_PS_SERVER_CHECKPOINT_REQUESTS_H_
