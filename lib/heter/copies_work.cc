#include "heter/shared_copies.h"

#include <utility>

#include "base/error.h"
#include "heter/ahead_work.h"

namespace ps {

CopiesWork::CopiesWork(const ComputeSetup& setup, const ReaderHello& hello, HeldBatches& held,
                       SharedCopies& copies)
    : ReaderWork(setup, hello, held), copies_(copies) {
  copies_.enter(*this);
}

CopiesWork::~CopiesWork() {
  copies_.leave(*this);
}

// ---- what the reader says

void CopiesWork::receive(Frame frame, Responder& responder) {
  switch (ComputeFrame{frame.header.type}) {
    case ComputeFrame::kJoin:
      if (joined_) fail(Code::kData, "a reader that has joined joins again");
      joined_ = true;
      join_ = std::move(responder);
      return copies_.note_joined();
    case ComputeFrame::kBeginning:
      copies_.receive_beginning(*this, [&] { return hold(frame); });
      join_ = std::move(responder);
      return;
    case ComputeFrame::kStay:
      copies_.check_begun(*this);
      stay_ = std::move(responder);
      return;
    case ComputeFrame::kAhead:
      return receive_step(frame, responder, /*has_data=*/true);
    case ComputeFrame::kNoData:
      return receive_step(frame, responder, /*has_data=*/false);
    default:
      fail(Code::kData, "a batch of another mode than the job's");
  }
}

// Queues a message for a step.  A reader announces steps without data before it knows that the pass has ended;
// such a message about an ended pass is answered at once.
void CopiesWork::receive_step(Frame& frame, Responder& responder, bool has_data) {
  copies_.check_begun(*this);
  if (waiting_.size() >= kMostWaitingBatches) fail(Code::kData, waiting_.size(), " batches wait already");
  Waiting waiting;
  if (!has_data) waiting.no_data = decode_no_data(frame.body.bytes());
  if (waiting.no_data && ended_pass_ && waiting.no_data->pass <= *ended_pass_) {
    return responder.answer(Payload(encode_pass_ended(true)));
  }
  if (has_data) waiting.body = hold(frame);
  waiting.responder = std::move(responder);
  waiting_.push_back(std::move(waiting));
}

// ---- what the copies have done

bool CopiesWork::ready() const {
  return copies_.ready() || (link_ && link_->failed() && !results_.empty());
}

void CopiesWork::work() {
  copies_.blame(*this);
  check_link();
  copies_.advance();
}

void CopiesWork::fail_all(const Error& error) {
  copies_.fail(error);
}

void CopiesWork::check_link() {
  if (link_ && link_->failed()) link_->check();
}

void CopiesWork::answer_join(Payload payload) {
  join_.answer(std::move(payload));
}

// The first reader to say its pass at the first step sets `pass`; the caller compares those of the others with
// it.
void CopiesWork::set_pass(int64_t said, std::optional<int64_t>& pass) {
  constexpr int64_t kMostPasses = int64_t{1} << 40;
  if (said < 0 || said > kMostPasses) fail(Code::kData, "batch: it is of pass ", said);
  if (!pass) pass = said;
}

void CopiesWork::check_no_data(uint64_t step, std::optional<int64_t>& pass) const {
  const StepWithoutData& front = *waiting_.front().no_data;
  set_pass(front.pass, pass);
  if (front.step == step && front.pass == *pass) return;
  fail(Code::kData, "no data for step ", front.step, " of pass ", front.pass, ", expected step ", step,
       " of pass ", *pass);
}

void CopiesWork::answer_no_data() {
  waiting_.front().responder.answer(Payload(encode_pass_ended(false)));
  waiting_.pop_front();
}

// The reader may have announced several steps beyond the end; all of them are answered now, and those that
// still come are answered by receive_step.
void CopiesWork::end_pass(int64_t pass) {
  ended_pass_ = pass;
  for (; has_next() && !has_batch() && waiting_.front().no_data->pass <= pass; waiting_.pop_front()) {
    waiting_.front().responder.answer(Payload(encode_pass_ended(true)));
  }
}

// `left` must not fall from batch to batch: rows of steps before the last one have left the copies.
CopiesWork::Next CopiesWork::begin_batch(uint64_t step, std::optional<int64_t>& pass,
                                         const ReturnedLayout& layout) {
  current_ = std::move(waiting_.front());
  waiting_.pop_front();
  AheadBatch ahead = decode_ahead(current_.body.bytes(), network_, planners_, layout, prepared_);
  set_pass(ahead.pass, pass);
  if (ahead.step != step || ahead.pass != *pass) {
    fail(Code::kData, "batch: it is of step ", ahead.step, " of pass ", ahead.pass, ", expected step ", step,
         " of pass ", *pass);
  }
  if (ahead.left > step || ahead.left < left_) {
    fail(Code::kData, "batch: ", ahead.left, " steps are applied when it comes, expected ", left_, " to ",
         step);
  }
  number_ = step;
  left_ = ahead.left;
  return {ahead.left, std::move(ahead.rows.slices)};
}

// Computes a batch against the copies.  Each batch of a step starts from the same statistics, so that it gets
// its own copy of them, which it changes.
void CopiesWork::compute_with(LocalStore& copies) {
  const std::vector<ParameterSpec>& specs = network_.parameters();
  copies.pull(prepared_.plans, PullMode::kTrain, stored_);
  if (free_steps_.empty()) free_steps_.push_back(link_->make_step());
  step_ = std::move(free_steps_.back());
  free_steps_.pop_back();
  link_->prepare(*step_, prepared_.plans, views_);
  statistics_.resize(specs.size());
  for (size_t p = 0; p < specs.size(); ++p) {
    views_[p].rows = stored_[p].rows;
    views_[p].value = stored_[p].value;
    if (specs[p].kind != ParameterKind::kStatistic) continue;
    const std::span<const float> whole = copies.whole(static_cast<int>(p));
    statistics_[p].assign(whole.begin(), whole.end());
    views_[p].value = statistics_[p].data();
  }
  result_ = compute(views_, step_->gradients());
}

void CopiesWork::finish_batch() {
  results_.push(*link_, *step_, number_, views_, std::move(current_.responder), std::move(result_));
  current_ = {};
  free_steps_.push_back(std::move(step_));
}

// Batches that were computed, but are not held by the servers yet, fail too: the reader sends them again
// when it has joined.  Afterwards the work is as new, but for its link to the servers.
void CopiesWork::drop(const Error& error) {
  for (Responder* responder : {&join_, &stay_, &current_.responder}) responder->fail(error);
  for (Waiting& batch : waiting_) batch.responder.fail(error);
  results_.fail_all(error);
  waiting_.clear();
  ended_pass_.reset();
  current_ = {};
  left_ = 0;
  joined_ = false;
}

}  // namespace ps
