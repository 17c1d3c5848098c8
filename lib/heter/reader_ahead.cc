#include "heter/reader_ahead.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "ps/client/ahead_store.h"
#include "ps/client/stored_beginning.h"

namespace ps {

ReaderAhead::ReaderAhead(RemoteStore& remote, ComputeLink& link, const std::vector<ParameterSpec>& specs,
                         const LocalStore& local, const ReaderAheadOptions& options)
    : StoreInFront(remote),
      remote_(remote),
      link_(link),
      specs_(options.asynchronous ? specs : check_no_policies(specs)),
      local_(local),
      options_(options),
      lead_(ahead_consistency(static_cast<int64_t>(options.batches)).lead()),
      stored_(remote.links(), specs,
              options.asynchronous ? std::vector<TableLayout>(specs.size()) : layouts_of(local, specs.size()),
              [this](uint64_t number, size_t p, const RowBlock& rows) { take_rows(number, p, rows); }) {
  const RunPosition start = remote.run().position();
  pass_ = start.pass + (start.pass_ended ? 1 : 0);
}

// ---- the rows of batches

// The first batch of a pass comes when all those before are pushed.
void ReaderAhead::expect_batch(const PreparedBatch& prepared) {
  if (!begun_) begin();
  const uint64_t step = batches_.empty() ? remote_.pushes().next_step() : batches_.back().step + 1;
  Batch& batch = batches_.emplace_back();
  batch.prepared = &prepared;
  batch.step = step;
  ask_rows(batch);
  remote_.poll();
  send_ready();
}

// Has the compute trainer begin where the servers are, all that was pushed included.
void ReaderAhead::begin() {
  begun_ = true;
  if (options_.asynchronous) return;
  remote_.finish_pushes();
  unapplied_.clear();
  windows_.assign(specs_.size(), {});
  num_left_ = 0;
  const auto body =
      std::make_shared<const std::string>(encode_beginning(read_beginning(remote_.model(), specs_, local_)));
  if (body->size() > kMostBatchBytes) {
    fail(Code::kUsage, "train.pull_ahead: the dense parameters with their state take ", body->size(),
         " bytes, a compute trainer takes copies of up to ", kMostBatchBytes, ": leave it out");
  }
  link_.request(ComputeFrame::kBeginning, body, [this](Answer answer) {
    if (answer.error && !error_) error_ = std::move(answer.error);
  });
}

void ReaderAhead::ask_rows(Batch& batch) {
  if (options_.asynchronous) {
    if (free_pulls_.empty()) {
      free_pulls_.push_back(std::make_unique<RemotePulls>(remote_.links(), specs_, RowTypes()));
    }
    batch.pulls = std::move(free_pulls_.back());
    free_pulls_.pop_back();
    batch.pulls->begin(batch.prepared->plans,
                       {PullMode::kTrain, batch.step, PullScope::kReaders, /*push_follows=*/false});
    return;
  }
  forget_applied();
  batch.left = num_left_;
  std::vector<std::vector<uint64_t>> entering(specs_.size());
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (specs_[p].sparse) windows_[p].add(batch.prepared->plans[p].keys, entering[p]);
  }
  batch.rows = {};
  batch.rows.number = batch.step + 1;
  batch.asked = stored_.ask(std::move(entering));
}

// Rows of a batch that was asked for before the compute trainer was lost come too late.
void ReaderAhead::take_rows(uint64_t number, size_t p, const RowBlock& rows) {
  const auto batch = std::ranges::find(batches_, number, &Batch::asked);
  if (batch == batches_.end() || rows.keys.empty()) return;
  batch->rows.slices.push_back({static_cast<uint32_t>(p), rows});
}

bool ReaderAhead::rows_arrived(const Batch& batch) const {
  return batch.pulls ? batch.pulls->arrived() : stored_.arrived(batch.asked);
}

// Drops the rows that only batches use whose steps all shards have applied.
void ReaderAhead::forget_applied() {
  std::vector<uint64_t> leaving;
  for (; !unapplied_.empty() && unapplied_.front() < remote_.pushes().applied_steps();
       unapplied_.pop_front()) {
    ++num_left_;
    for (size_t p = 0; p < specs_.size(); ++p) {
      if (specs_[p].sparse) windows_[p].remove_first(leaving);
    }
    leaving.clear();
  }
}

// ---- to the compute trainer and back

std::string ReaderAhead::encode(Batch& batch) {
  if (!options_.asynchronous) {
    return encode_ahead({batch.step, batch.left, pass_, std::move(batch.rows)}, *batch.prepared);
  }
  batch.pulls->finish_last(batch.prepared->plans, views_);
  std::string body = encode_batch(batch.step, *batch.prepared, specs_, views_);
  free_pulls_.push_back(std::move(batch.pulls));
  return body;
}

// Servers take messages of so many steps beyond the last that is applied.
void ReaderAhead::send_ready() {
  for (Batch& batch : batches_) {
    if (batch.body) continue;
    if (!rows_arrived(batch) || batch.step > remote_.pushes().applied_steps() + lead_) return;
    batch.body = std::make_shared<const std::string>(encode(batch));
    ++num_batches_;
    if (&batch != &batches_.front()) ++num_ahead_;
    send(batch);
  }
}

void ReaderAhead::send(Batch& batch) {
  const ComputeFrame type = options_.asynchronous ? ComputeFrame::kBatch : ComputeFrame::kAhead;
  link_.request(type, batch.body, [this, step = batch.step](Answer answer) {
    if (answer.error) {
      if (!error_) error_ = std::move(answer.error);
      return;
    }
    link_.note_success();
    std::ranges::find(batches_, step, &Batch::step)->result = answer.take();
  });
}

void ReaderAhead::wait_for_result() {
  const double start = monotonic_seconds();
  for (;;) {
    remote_.wait_for([this] {
      if (!error_) send_ready();
      return error_ || batches_.front().result;
    });
    if (batches_.front().result) break;
    recover(*error_);
  }
  waited_seconds_ += monotonic_seconds() - start;
}

// Copies are lost with their compute trainer, and so are the results that were not pushed: the next one is to bring rows up
// to date by all batches from there on.  Asynchronous batches are themselves all that is needed.
void ReaderAhead::recover(const Error& error) {
  link_.reconnect(Error(error));
  error_.reset();
  if (options_.asynchronous) {
    for (Batch& batch : batches_) {
      if (batch.body && !batch.result) send(batch);
    }
    return;
  }
  begin();
  for (Batch& batch : batches_) {
    batch.result.reset();
    batch.body.reset();
    ask_rows(batch);
  }
}

double ReaderAhead::run(const PreparedBatch& prepared, std::span<const ParameterView<float>> views) {
  PS_CHECK(!batches_.empty() && batches_.front().prepared == &prepared);
  wait_for_result();
  Batch& batch = batches_.front();
  result_ = decode_result(batch.result->body.bytes(), prepared, options_.prediction_cols, specs_, views);
  if (!options_.asynchronous) unapplied_.push_back(batch.step);
  batches_.pop_front();
  return result_.cost;
}

Matrix<const float> ReaderAhead::predictions() const {
  const int64_t cols = result_.cols, size = static_cast<int64_t>(result_.predictions.size());
  return {result_.predictions.data(), cols == 0 ? 0 : size / cols, cols};
}

// ---- as a store

void ReaderAhead::pull(std::span<const KeyPlan> plans, PullMode mode,
                       std::vector<ParameterView<float>>& views) {
  if (mode == PullMode::kTrain) return remote_.prepare_push(plans, PullScope::kReaders, views);
  remote_.finish_pushes();
  remote_.pull(plans, mode, views);
}

void ReaderAhead::push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                       const StepInfo& info) {
  remote_.push(plans, views, info);
  remote_.poll();
  if (!error_) send_ready();
}

void ReaderAhead::end_pass(int64_t pass) {
  remote_.end_pass(pass);
  pass_ = pass + 1;
}

Json ReaderAhead::counters() const {
  return {{"batches", num_batches_}, {"ahead", num_ahead_}, {"wait_seconds", waited_seconds_}};
}

}  // namespace ps
