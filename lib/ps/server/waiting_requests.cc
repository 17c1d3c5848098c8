#include "ps/server/waiting_requests.h"

#include "ps/server/trainer_steps.h"

namespace ps {

size_t WaitingRequests::size() const {
  return pulls_.num_waiting() + pulls_.num_starved() + gathering_.num_waiting() +
         num_waiting(clock_.trainers());
}

bool WaitingRequests::any() const {
  return pulls_.num_waiting() > 0 || gathering_.num_waiting() > 0 || holds_pushes(clock_.trainers());
}

void WaitingRequests::forget_unwanted() {
  pulls_.forget_unwanted();
  gathering_.forget_unwanted();
  ps::forget_unwanted(clock_.trainers());
}

std::vector<ReplyPtr> WaitingRequests::release_replies() {
  std::vector<ReplyPtr> replies;
  gathering_.release_replies(replies);
  pulls_.release_replies(replies);
  ps::release_replies(clock_.trainers(), replies);
  return replies;
}

}  // namespace ps
