#include "heter/one_batch_work.h"

#include <utility>

#include "base/error.h"

namespace ps {

void OneBatchWork::receive(Frame frame, Responder& responder) {
  if (ComputeFrame{frame.header.type} != ComputeFrame::kBatch) {
    fail(Code::kData, "a batch with copies, but the job has no train.pull_ahead");
  }
  if (stage_ != Stage::kIdle) fail(Code::kData, "a batch before the one before is answered");
  body_ = hold(frame);
  responder_ = std::move(responder);
  stage_ = Stage::kArrived;
}

// A batch whose gradients are on their way needs no work, since the link calls finish(); only an error of
// the link is work, since work() throws it, and the batch is answered with it.
bool OneBatchWork::ready() const {
  switch (stage_) {
    case Stage::kIdle:
      return false;
    case Stage::kArrived:
      return true;
    case Stage::kPulling:
      return link_->pulled();
    case Stage::kPushing:
      return link_->failed();
  }
  return false;
}

void OneBatchWork::work() {
  if (stage_ == Stage::kPushing) link_->check();
  if (stage_ == Stage::kArrived) begin();
  if (stage_ == Stage::kPulling && link_->pulled()) train();
}

void OneBatchWork::begin() {
  const uint64_t step = step_of_batch(body_.bytes());
  decode_batch(body_.bytes(), network_, planners_, prepared_, rows_);
  connect();
  link_->begin_pull(step);
  stage_ = Stage::kPulling;
}

void OneBatchWork::train() {
  link_->finish_pull(prepared_.plans, views_);
  for (size_t p = 0; p < views_.size(); ++p) {
    if (with_readers(network_.parameters()[p])) views_[p].rows = rows_[p].data();
  }
  result_ = compute(views_, link_->gradients());
  stage_ = Stage::kPushing;
  // The step is read before the push, which may call finish() at once, and that drops the body.
  const uint64_t next = step_of_batch(body_.bytes()) + 1;
  link_->push(views_, [this] { finish(); });
  if (!setup_.asynchronous) link_->begin_pull(next);
}

// A link that has begun a step cannot begin the same step again, so it is dropped.
void OneBatchWork::fail_all(const Error& error) {
  link_.reset();
  if (stage_ == Stage::kIdle) return;  // it is answered
  responder_.fail(error);
  body_ = Buffer();
  stage_ = Stage::kIdle;
}

void OneBatchWork::finish() {
  ++num_batches_;
  responder_.answer(std::move(result_));
  body_ = Buffer();
  stage_ = Stage::kIdle;
}

}  // namespace ps
