#include "heter/ahead_work.h"

#include <utility>

#include "base/error.h"

namespace ps {

void AheadWork::receive(Frame frame, Responder& responder) {
  if (ComputeFrame{frame.header.type} != ComputeFrame::kBatch) {
    fail(Code::kData, "a batch of another mode than the job's");
  }
  if (waiting_.size() >= kMostWaitingBatches) fail(Code::kData, waiting_.size(), " batches wait already");
  waiting_.push_back({.body = hold(frame), .responder = {}, .step = nullptr});
  waiting_.back().responder = std::move(responder);
}

bool AheadWork::front_ready() const {
  return !waiting_.empty() && link_ && waiting_.front().step && link_->pulled(*waiting_.front().step);
}

bool AheadWork::pulls_to_begin() const {
  return !waiting_.empty() && !waiting_.back().step;
}

bool AheadWork::ready() const {
  return front_ready() || pulls_to_begin() || (link_ && link_->failed() && !results_.empty());
}

// Does one thing for each call: first it begins the pulls of all batches that have come, so that their
// weights are on the way while a batch is computed; then it computes the batch at the front if its weights
// are there.
void AheadWork::work() {
  if (link_ && link_->failed()) link_->check();
  if (pulls_to_begin()) begin_pulls();
  if (!front_ready()) return;
  Waiting front = std::move(waiting_.front());
  waiting_.pop_front();
  try {
    train(front);
  } catch (...) {
    waiting_.push_front(std::move(front));  // fail_all answers it with the rest
    throw;
  }
}

void AheadWork::begin_pulls() {
  connect();
  for (Waiting& batch : waiting_) {
    if (batch.step) continue;
    batch.step = find_free_step();
    link_->begin_pull(*batch.step, step_of_batch(batch.body.bytes()));
  }
}

// The weights of the readers' rows come with the batch, and all others from the servers.
void AheadWork::train(Waiting& front) {
  decode_batch(front.body.bytes(), network_, planners_, prepared_, rows_);
  link_->finish_pull(*front.step, prepared_.plans, views_);
  for (size_t p = 0; p < views_.size(); ++p) {
    if (with_readers(network_.parameters()[p])) views_[p].rows = rows_[p].data();
  }
  Payload result = compute(views_, front.step->gradients());
  results_.push(*link_, *front.step, step_of_batch(front.body.bytes()), views_, std::move(front.responder),
                std::move(result));
  free_steps_.push_back(std::move(front.step));
}

std::unique_ptr<DenseLink::DenseStep> AheadWork::find_free_step() {
  if (free_steps_.empty()) return link_->make_step();
  std::unique_ptr<DenseLink::DenseStep> step = std::move(free_steps_.back());
  free_steps_.pop_back();
  return step;
}

// All waiting batches fail, since the reader sends all unanswered batches again after an error.
void AheadWork::fail_all(const Error& error) {
  results_.fail_all(error);
  for (Waiting& batch : waiting_) batch.responder.fail(error);
  waiting_.clear();
  free_steps_.clear();
  link_.reset();
}

}  // namespace ps
