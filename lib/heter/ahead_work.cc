#include "heter/ahead_work.h"

#include <utility>

#include "base/error.h"
#include "ps/client/stored_beginning.h"

namespace ps {

void AheadWork::take(Frame frame, Responder& responder) {
  const ComputeFrame type{frame.header.type};
  if ((type == ComputeFrame::kBatch) != setup_.asynchronous) {
    fail(Code::kData, "a batch of another mode than the job's");
  }
  if (waiting_.size() >= kMostWaiting) fail(Code::kData, waiting_.size(), " batches wait already");
  waiting_.push_back({.type = type, .body = hold(frame), .responder = {}, .step = nullptr});
  waiting_.back().responder = std::move(responder);
}

bool AheadWork::front_ready() const {
  if (waiting_.empty()) return false;
  if (!setup_.asynchronous) return true;
  return link_ && waiting_.front().step && link_->pulled(*waiting_.front().step);
}

bool AheadWork::pulls_to_begin() const {
  return setup_.asynchronous && !waiting_.empty() && !waiting_.back().step;
}

bool AheadWork::ready() const {
  return front_ready() || pulls_to_begin() || (link_ && link_->failed() && !unheld_.empty());
}

void AheadWork::work() {
  if (link_ && link_->failed()) link_->check();
  if (pulls_to_begin()) begin_pulls();
  if (!front_ready()) return;
  Waiting front = std::move(waiting_.front());
  waiting_.pop_front();
  try {
    if (front.type == ComputeFrame::kBeginning) return begin_copies(front);
    front.type == ComputeFrame::kAhead ? train_copies(front) : train_pulled(front);
  } catch (...) {
    waiting_.push_front(std::move(front));  // to be answered with the rest
    throw;
  }
}

// ---- synchronous mode

void AheadWork::begin_copies(Waiting& front) {
  connect();
  const std::vector<ParameterSpec>& specs = network_.parameters();
  auto copies = std::make_unique<LocalStore>(specs, setup_.optimizers, setup_.memory_limit, setup_.device);
  begin_from(decode_beginning(front.body.bytes(), specs.size()), specs, *copies);
  copies_ = std::move(copies);
  windows_.assign(specs.size(), {});
  num_left_ = num_trained_ = 0;
  pass_.reset();
  front.responder.answer(Payload());
}

// Passes without a batch are few: each is ended one by one.
void AheadWork::check_pass(int64_t pass) const {
  constexpr int64_t kMostPasses = 1 << 16;
  if (pass < pass_.value_or(0)) fail(Code::kData, "batch: it is of a pass that has ended");
  if (pass_ && pass - *pass_ > kMostPasses) {
    fail(Code::kData, "batch: it is of pass ", pass, ", the one before of pass ", *pass_);
  }
}

// Ends passes, drops the rows that no batch on its way uses, and takes those that come with the batch.
void AheadWork::take_rows(const AheadBatch& ahead) {
  const std::vector<ParameterSpec>& specs = network_.parameters();
  if (ahead.left > num_trained_)
    fail(Code::kData, "batch: ", ahead.left, " steps are applied before it comes");
  check_pass(ahead.pass);
  for (int64_t pass = pass_.value_or(ahead.pass); pass < ahead.pass; ++pass) copies_->end_pass(pass);
  pass_ = ahead.pass;
  std::vector<uint64_t> keys;
  for (; num_left_ < ahead.left; ++num_left_) {
    for (size_t p = 0; p < specs.size(); ++p) {
      if (!specs[p].sparse) continue;
      keys.clear();
      windows_[p].remove_first(keys);
      copies_->erase_rows(static_cast<int>(p), keys);
    }
  }
  for (size_t p = 0; p < specs.size(); ++p) {
    if (specs[p].sparse) windows_[p].add(prepared_.plans[p].keys, keys);
  }
  for (const ReturnedRows::Slice& slice : ahead.rows.slices) {
    copies_->put_rows(static_cast<int>(slice.parameter), slice.rows);
  }
}

void AheadWork::train_copies(Waiting& front) {
  if (!copies_) throw Error(kBeginAgain, "this compute trainer has no copies of the parameters");
  const std::vector<ParameterSpec>& specs = network_.parameters();
  const ReturnedLayout layout = [&](uint32_t p) {
    if (p >= specs.size() || !specs[p].sparse) fail(Code::kData, "batch: rows of parameter ", p);
    return copies_->layout(static_cast<int>(p));
  };
  const AheadBatch ahead = decode_ahead(front.body.bytes(), network_, planners_, layout, prepared_);
  take_rows(ahead);
  copies_->pull(prepared_.plans, PullMode::kTrain, stored_);
  std::unique_ptr<DenseLink::DenseStep> step = take_step();
  link_->prepare(*step, prepared_.plans, views_);
  for (size_t p = 0; p < specs.size(); ++p) {
    views_[p].rows = stored_[p].rows;
    views_[p].value = stored_[p].value;
  }
  Payload result = compute(views_, step->gradients());
  copies_->push(prepared_.plans, views_, {prepared_.batch.size(), ahead.pass});
  ++num_trained_;
  push(*step, ahead.step, std::move(front.responder), std::move(result));
  free_steps_.push_back(std::move(step));
}

// ---- asynchronous mode

void AheadWork::begin_pulls() {
  connect();
  for (Waiting& batch : waiting_) {
    if (batch.step) continue;
    batch.step = take_step();
    link_->begin_pull(*batch.step, step_of_batch(batch.body.bytes()));
  }
}

void AheadWork::train_pulled(Waiting& front) {
  decode_batch(front.body.bytes(), network_, planners_, prepared_, rows_);
  link_->finish_pull(*front.step, prepared_.plans, views_);
  for (size_t p = 0; p < views_.size(); ++p) {
    if (with_readers(network_.parameters()[p])) views_[p].rows = rows_[p].data();
  }
  Payload result = compute(views_, front.step->gradients());
  push(*front.step, step_of_batch(front.body.bytes()), std::move(front.responder), std::move(result));
  free_steps_.push_back(std::move(front.step));
}

// ---- both

std::unique_ptr<DenseLink::DenseStep> AheadWork::take_step() {
  if (free_steps_.empty()) return link_->make_step();
  std::unique_ptr<DenseLink::DenseStep> step = std::move(free_steps_.back());
  free_steps_.pop_back();
  return step;
}

void AheadWork::push(DenseLink::DenseStep& step, uint64_t number, Responder responder, Payload result) {
  const uint64_t id = num_pushed_++;
  unheld_.emplace(id, Unheld{std::move(responder), std::move(result)});
  link_->push(step, number, views_, [this, id] { held(id); });
}

void AheadWork::held(uint64_t id) {
  const auto found = unheld_.find(id);
  ++num_batches_;
  found->second.responder.answer(std::move(found->second.result));
  unheld_.erase(found);
}

// The batches that come later on this connection begin with others that were lost.
void AheadWork::fail_all(const Error& error) {
  for (auto& [id, batch] : unheld_) batch.responder.fail(error);
  unheld_.clear();
  for (Waiting& batch : waiting_) batch.responder.fail(error);
  waiting_.clear();
  free_steps_.clear();
  copies_.reset();
  link_.reset();
}

}  // namespace ps
