#include "ps/server/checkpoint_requests.h"

#include <iterator>
#include <utility>

#include "base/error.h"

namespace ps {

void CheckpointRequests::begin() {
  asked_ = false;
  std::move(waiting_.begin(), waiting_.end(), std::back_inserter(begun_));
  waiting_.clear();
}

void CheckpointRequests::end(const AskedCheckpoint& answer) {
  for (ReplyPtr& reply : std::exchange(begun_, {})) reply->answer(Payload(encode_asked_checkpoint(answer)));
}

void CheckpointRequests::forget_unwanted() {
  std::erase_if(waiting_, is_unwanted);
  std::erase_if(begun_, is_unwanted);
}

void CheckpointRequests::refuse(const Error& error) {
  begin();
  for (ReplyPtr& reply : std::exchange(begun_, {})) reply->fail(error);
}

}  // namespace ps
