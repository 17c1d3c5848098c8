#include "heter/epoch_requests.h"

#include <utility>

#include "base/error.h"

namespace ps {

void EpochRequests::begin() {
  epoch_ = std::make_shared<Epoch>();
  error_.reset();
}

// The weak pointer expires when begin() makes another epoch, and when this object is gone; it is looked at
// before `this` is used.
void EpochRequests::ask(ComputeFrame type, const std::shared_ptr<const std::string>& body,
                        std::function<void(Answer&)> on_answer) {
  link_.request(type, body,
                [this, epoch = std::weak_ptr(epoch_), on_answer = std::move(on_answer)](Answer answer) {
                  if (epoch.expired()) return;
                  if (!answer.error) return on_answer(answer);
                  if (!error_) error_ = std::move(answer.error);
                });
}

Error EpochRequests::take_error() {
  PS_CHECK(error_);
  return *std::exchange(error_, std::nullopt);
}

}  // namespace ps
