#include "heter/held_results.h"

#include <utility>

namespace ps {

// The result is stored before the push, since the link may call held() during it.  The id, unlike the
// number of the step, belongs to one push alone: a step that has failed may be pushed again, while the link
// still has the callback of its first push.
void HeldResults::push(DenseLink& link, DenseLink::DenseStep& step, uint64_t number,
                       std::span<const ParameterView<float>> views, Responder responder, Payload result) {
  const uint64_t id = num_pushed_++;
  unheld_.emplace(id, Unheld{std::move(responder), std::move(result)});
  link.push(step, number, views, [this, id] { held(id); });
}

void HeldResults::held(uint64_t id) {
  const auto found = unheld_.find(id);
  if (found == unheld_.end()) return;  // it was failed
  ++num_answered_;
  found->second.responder.answer(std::move(found->second.result));
  unheld_.erase(found);
}

void HeldResults::fail_all(const Error& error) {
  for (auto& [id, batch] : unheld_) batch.responder.fail(error);
  unheld_.clear();
}

}  // namespace ps
