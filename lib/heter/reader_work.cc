#include "heter/reader_work.h"

#include <utility>

#include "base/current_error.h"
#include "base/wait_stopped.h"

namespace ps {

ReaderWork::ReaderWork(const ComputeSetup& setup, const ReaderHello& hello, BufferPool& pool)
    : setup_(setup),
      hello_(hello),
      pool_(pool),
      network_(setup.model, schema_from_json(hello.schema), setup.seed),
      planners_(network_.make_planners(KeyOrder::kAscending)) {
  if (auto difference = first_difference(hello.job, setup.job)) {
    fail(Code::kUsage, "this compute trainer has another job: ", *difference);
  }
}

// A batch that waits for others must not take up the memory of connections, or these could not be heard.
void ReaderWork::take(Frame frame, Responder& responder) {
  if (stage_ != Stage::kIdle) fail(Code::kData, "a batch before the one before is answered");
  body_ = std::move(frame.body);
  pool_.adopt(body_);
  responder_ = std::move(responder);
  stage_ = Stage::kArrived;
}

bool ReaderWork::ready() const {
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

void ReaderWork::advance() {
  try {
    if (stage_ == Stage::kPushing) link_->check();
    if (stage_ == Stage::kArrived) begin();
    if (stage_ == Stage::kPulling && link_->pulled()) compute();
  } catch (const StateLost& lost) {
    finish(Error(kStateLost, lost.message()));
  } catch (const WaitStopped&) {
    throw;
  } catch (...) {
    finish(current_error());  // without memory, too: other readers' batches may find some
  }
}

void ReaderWork::begin() {
  const uint64_t step = step_of_batch(body_.bytes());
  decode_batch(body_.bytes(), network_, planners_, prepared_, rows_);
  if (!link_) {
    RemoteOptions remote = setup_.remote(hello_);
    link_ = std::make_unique<DenseLink>(setup_.transport, remote, network_.parameters());
  }
  link_->begin_pull(step);
  stage_ = Stage::kPulling;
}

void ReaderWork::compute() {
  link_->finish_pull(prepared_.plans, views_);
  for (size_t p = 0; p < views_.size(); ++p) {
    if (network_.parameters()[p].kind == ParameterKind::kRows) views_[p].rows = rows_[p].data();
  }
  const double cost = network_.forward(prepared_, views_, setup_.device);
  network_.backward();
  auto gradients = std::make_shared<const GradientBuffers>(link_->gradients());
  result_ = encode_result(cost, network_.predictions(), prepared_, network_.parameters(), views_, gradients);
  stage_ = Stage::kPushing;
  const uint64_t next = step_of_batch(body_.bytes()) + 1;
  link_->push(views_, [this] { finish(); });
  if (setup_.pulls_ahead) link_->begin_pull(next);
}

// A link that was in the midst of a step is of no use for the same step.  An answer of kUnavailable would have the reader
// send the batch again and again to this process, which does not reach the servers.
void ReaderWork::finish(const Error& error) {
  link_.reset();
  if (stage_ == Stage::kIdle) return;  // it is answered
  const bool unavailable = error.code() == Code::kUnavailable;
  responder_.fail(Error(unavailable ? kServersUnavailable : error.code(), error.message()));
  body_ = Buffer();
  stage_ = Stage::kIdle;
}

void ReaderWork::finish() {
  ++num_batches_;
  responder_.answer(std::move(result_));
  body_ = Buffer();
  stage_ = Stage::kIdle;
}

}  // namespace ps
