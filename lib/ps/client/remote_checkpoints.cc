#include "ps/client/remote_checkpoints.h"

#include <utility>

#include "ps/wire/checkpoint_messages.h"

namespace ps {

bool RemoteCheckpoints::ask(int64_t pass, std::function<void(const AskedCheckpoint&)> done) {
  if (!gives_files()) return false;
  auto on_answer = [done = std::move(done)](const Frame& frame) {
    done(decode_asked_checkpoint(frame.body.bytes()));
  };
  links_.request(0, Message::kCheckpoint, Payload(encode_checkpoint_request(pass)), std::move(on_answer));
  return true;
}

}  // namespace ps
