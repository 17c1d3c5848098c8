#include "ps/server/trainer_steps.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace ps {

PendingPush* TrainerSteps::next_push() {
  return complete_push(next_step);
}

PendingPush* TrainerSteps::complete_push(uint64_t step) {
  const auto found = pushes.find(step);
  return found != pushes.end() && found->second.complete() ? &found->second : nullptr;
}

bool TrainerSteps::has_complete_push(uint64_t step) const {
  const auto found = pushes.find(step);
  return found != pushes.end() && found->second.complete();
}

uint64_t TrainerSteps::pushed_steps() const {
  uint64_t steps = next_step;
  for (const auto& [step, push] : pushes) steps += push.complete();
  return steps;
}

bool TrainerSteps::marks_checkpoint(uint64_t lead) {
  const bool planned_before_end = end_checkpoint > 0 && next_step + 1 <= end_checkpoint + lead;
  return next_push()->checkpoint && !planned_before_end;
}

// A slice `tells` if it has the number of slices and the fields of the whole push, and the push is `told`
// when such a slice has come.  The slices of a compute trainer do not tell: the reader of the same rank
// does, before them or after.  Slices that tell must agree, and no slice, whenever it came, may have a
// number beyond the last.
PendingPush& TrainerSteps::pending_push(const PushRequest& request) {
  auto [at, is_new] = pushes.try_emplace(request.step);
  PendingPush& push = at->second;
  if (is_new) push.rank = rank;
  if (push.complete()) return push;
  const bool tells = request.num_slices > 0, told = push.num_slices > 0;
  const uint32_t last =
      push.slices.empty() ? request.slice : std::max(request.slice, push.slices.rbegin()->first);
  const uint32_t num_slices = told ? push.num_slices : request.num_slices;
  const bool differs = tells && told && (request.num_slices != num_slices || request.ended != push.ended);
  if (differs || (num_slices > 0 && last >= num_slices)) {
    fail(Code::kData, "push: slices of step ", request.step, " do not belong together");
  }
  if (told || !tells) return push;
  push.info = request.info;
  push.ended = request.ended;
  push.asks = request.asks;
  push.absent = request.absent;
  push.checkpoint = request.begins_checkpoint;
  push.checkpoint_number = request.checkpoint_number;
  push.num_slices = request.num_slices;
  return push;
}

bool TrainerSteps::answer_repeated(uint64_t step, ReplyPtr& reply) const {
  if (step >= next_step) return false;
  const uint64_t back = next_step - step;
  if (back > done.size()) fail(Code::kData, "step ", step, " is long past");
  reply->answer(Payload(encode_done(done[done.size() - back])));
  reply.reset();
  return true;
}

bool pass_begun(std::span<const TrainerSteps> trainers) {
  return std::ranges::any_of(trainers, [](const TrainerSteps& each) { return each.pass_batches > 0; });
}

bool closes_pass(std::span<TrainerSteps* const> pushers) {
  return !std::ranges::all_of(pushers, [](TrainerSteps* pusher) { return pusher->next_push()->asks; });
}

uint64_t pending_chunk_bytes(std::span<const TrainerSteps> trainers) {
  uint64_t bytes = 0;
  for (const TrainerSteps& trainer : trainers) {
    for (const auto& [step, push] : trainer.pushes) bytes += push.chunk_bytes();
  }
  return bytes;
}

size_t num_waiting(std::span<const TrainerSteps> trainers) {
  size_t count = 0;
  for (const TrainerSteps& trainer : trainers) {
    for (const auto& [step, push] : trainer.pushes) count += push.replies.size();
  }
  return count;
}

bool holds_pushes(std::span<const TrainerSteps> trainers) {
  return std::ranges::any_of(trainers, [](const TrainerSteps& trainer) { return !trainer.pushes.empty(); });
}

void forget_unwanted(std::span<TrainerSteps> trainers) {
  for (TrainerSteps& trainer : trainers) {
    for (auto& [step, push] : trainer.pushes) std::erase_if(push.replies, is_unwanted);
  }
}

void release_replies(std::span<TrainerSteps> trainers, std::vector<ReplyPtr>& out) {
  for (TrainerSteps& trainer : trainers) {
    for (auto& [step, push] : trainer.pushes) {
      for (ReplyPtr& reply : push.replies) out.push_back(std::move(reply));
    }
    trainer.pushes.clear();
  }
}

void answer_with_squares(PendingPush& push, const std::vector<ExactSquares>& squares, double learning_rate) {
  push.squares = squares;
  const Done done{.learning_rate = learning_rate, .squares = squares};
  for (ReplyPtr& reply : std::exchange(push.replies, {})) reply->answer(Payload(encode_done(done)));
}

}  // namespace ps
