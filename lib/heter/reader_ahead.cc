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
      requests_(link),
      specs_(options.asynchronous ? specs : check_no_policies(specs)),
      local_(local),
      options_(options),
      lead_(ahead_consistency(static_cast<int64_t>(options.batches)).lead()),
      stored_(remote.links(), specs,
              options.asynchronous ? std::vector<TableLayout>(specs.size()) : layouts_of(local, specs.size()),
              [this](uint64_t number, size_t p, const RowBlock& rows) { receive_rows(number, p, rows); }) {
  // Batches belong to the next pass if the process before this one has ended its last pass.
  const RunPosition start = remote.run().position();
  pass_ = start.pass + (start.pass_ended ? 1 : 0);
}

bool ReaderAhead::all_applied() const {
  return remote_.pushes().applied_steps() == remote_.pushes().next_step();
}

// ---- the rows of batches

// Queues a batch and asks for its rows.  Its step follows that of the last batch; if all batches are pushed, as
// at the first batch of a pass, it is the next step that is pushed.
void ReaderAhead::expect_batch(const PreparedBatch& prepared) {
  const bool last_is_pushed = num_pushed_ == batches_.size();
  const uint64_t step = last_is_pushed ? remote_.pushes().next_step() : batches_.back().step + 1;
  Batch& batch = batches_.emplace_back();
  batch.prepared = &prepared;
  batch.step = step;
  batch.pass = pass_;
  if (options_.asynchronous) {
    ask_rows(batch);
  } else {
    batch.keys.resize(specs_.size());
    for (size_t p = 0; p < specs_.size(); ++p) {
      if (specs_[p].sparse) batch.keys[p] = prepared.plans[p].keys;
    }
    if (!copies_.joined) join();
    if (copies_.begun) forget_applied(), ask_rows(batches_.back());
  }
  remote_.poll();
  if (!requests_.has_failed()) send_ready();
}

// Asks the shards for the rows of a batch.  Asynchronous mode pulls all of them.  Synchronous mode asks only
// for the rows that no batch in the window uses, since the compute trainer has copies of the others.
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
  // The rows that the shards send now have all steps before `left`, if not more.  Steps before the copies
  // began count too, since the shards had applied them all when the beginning was read.
  batch.left = std::max(copies_.first, std::min(batch.step, remote_.pushes().applied_steps()));
  std::vector<std::vector<uint64_t>> entering(specs_.size());
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (specs_[p].sparse) windows_[p].add(batch.keys[p], entering[p]);
  }
  batch.rows = {};
  // The format numbers messages from 1 on.
  batch.rows.number = batch.step + 1;
  batch.asked = stored_.ask(std::move(entering));
}

// Rows that were asked for before the copies were lost belong to no batch any more, and are ignored.
void ReaderAhead::receive_rows(uint64_t number, size_t p, const RowBlock& rows) {
  const auto batch = std::ranges::find(batches_, number, &Batch::asked);
  if (batch == batches_.end() || rows.keys.empty()) return;
  batch->rows.slices.push_back({static_cast<uint32_t>(p), rows});
}

bool ReaderAhead::rows_arrived(const Batch& batch) const {
  return batch.pulls ? batch.pulls->arrived() : stored_.arrived(batch.asked);
}

// Drops the batches whose steps all shards have applied, and the rows that only these batches use.  The
// reader itself keeps no rows: the keys in `leaving` only have to leave the windows, so that the next batch
// that uses them asks for them again.
void ReaderAhead::forget_applied() {
  std::vector<uint64_t> leaving;
  for (; num_pushed_ > 0 && batches_.front().step < remote_.pushes().applied_steps(); --num_pushed_) {
    for (size_t p = 0; p < specs_.size(); ++p) {
      if (specs_[p].sparse) windows_[p].remove_first(leaving);
    }
    leaving.clear();
    batches_.pop_front();
  }
}

// ---- joining the copies

// Begins to join: holds back further pushes, so that the shards can take all earlier ones, and sends the join.
void ReaderAhead::join() {
  requests_.begin();
  copies_ = {.joined = true};
  remote_.pushes().hold_back();
  ask_copies(ComputeFrame::kJoin, "");
}

// An answer is only kept here, since it comes in the loop; wait_until handles it.
void ReaderAhead::ask_copies(ComputeFrame type, std::string body) {
  requests_.ask(type, std::make_shared<const std::string>(std::move(body)),
                [this](Answer& answer) { copies_.answer = answer.take(); });
}

// Handles the answer to a join or a beginning.  When all readers have joined, the first one gets an empty
// answer and sends the beginning; then all readers are told its step.
void ReaderAhead::go_on_joining() {
  const Frame answer = std::move(*std::exchange(copies_.answer, std::nullopt));
  if (answer.body.size() == 0 && remote_.group().rank() == 0) return send_beginning();
  begin_copies(decode_first(answer.body.bytes()));
}

// Sends the state of the shards.  All readers hold back their pushes, so that no shard applies a step
// meanwhile.
void ReaderAhead::send_beginning() {
  const std::vector<uint64_t> applied = remote_.pushes().hold_back();
  if (std::ranges::any_of(applied, [&](uint64_t steps) { return steps != applied[0]; })) {
    fail(Code::kData, "the servers have applied different numbers of steps, though all readers hold back");
  }
  std::string body = encode_first(applied[0]);
  body += encode_beginning(read_beginning(remote_.model(), specs_, local_));
  if (body.size() > kMostBatchBytes) {
    fail(Code::kUsage, "train.pull_ahead: the dense parameters with their state take ", body.size(),
         " bytes, a compute trainer takes copies of up to ", kMostBatchBytes, ": leave it out");
  }
  ask_copies(ComputeFrame::kBeginning, std::move(body));
}

// Sends all batches again, from step `first` on.  All shards have applied the steps before it, and this
// reader has pushed them.  Batches that stay keep their place, whether they were pushed or not, and get new
// windows, in the order of steps: their rows are asked for anew, as the shards have them now. kStay is
// answered when these copies are gone, so that a reader that only waits learns of it.
void ReaderAhead::begin_copies(uint64_t first) {
  requests_.link().note_success();
  for (; !batches_.empty() && batches_.front().step < first; batches_.pop_front()) {
    if (num_pushed_ == 0)
      fail(Code::kData, "copies begin after step ", batches_.front().step, ", which is not pushed");
    --num_pushed_;
  }
  copies_.first = first;
  copies_.begun = true;
  requests_.ask(ComputeFrame::kStay, std::make_shared<const std::string>(), [](Answer&) {});
  windows_.assign(specs_.size(), {});
  for (Batch& batch : batches_) {
    batch.result.reset();
    batch.sent = false;
    ask_rows(batch);
  }
  ending_.tell_again_from(first);
  send_ready();
}

// ---- to the compute trainer and back

// Returns the message of a batch.  A batch that is sent again may have been pushed, so that its prepared
// data are gone; they are then taken from its former message.  In asynchronous mode the pull of the rows is
// free for another batch afterwards.
std::string ReaderAhead::encode(Batch& batch) {
  if (!options_.asynchronous) {
    const AheadBatch ahead{batch.step, batch.left, batch.pass, std::move(batch.rows)};
    return batch.body ? encode_ahead_again(ahead, *batch.body) : encode_ahead(ahead, *batch.prepared);
  }
  batch.pulls->finish_last(batch.prepared->plans, views_);
  std::string body = encode_batch(batch.step, *batch.prepared, specs_, views_);
  free_pulls_.push_back(std::move(batch.pulls));
  return body;
}

// Sends all messages that can be sent now.  A shard may apply a step that it has from all other trainers as
// soon as this reader calls go_on; the rows of the last pushed batch must have arrived before.
void ReaderAhead::send_ready() {
  if (!options_.asynchronous && !copies_.begun) return;
  if (num_pushed_ == 0 || rows_arrived(batches_[num_pushed_ - 1])) remote_.pushes().go_on();
  send_batches();
  if (ending_.is_on()) send_without_data();
}

// Sends batches in order, as long as their rows have come.  Two limits hold: servers take messages of lead_
// steps beyond the last applied step, and at most options_.batches + 1 messages are unanswered, also after the
// copies began again.
void ReaderAhead::send_batches() {
  for (Batch& batch : batches_) {
    if (batch.sent) continue;
    if (!rows_arrived(batch) || batch.step > remote_.pushes().applied_steps() + lead_) return;
    if (copies_.in_flight > options_.batches) return;
    if (!batch.body) {
      ++counts_.batches;
      if (&batch != &first_to_push()) ++counts_.ahead;
    }
    batch.body = std::make_shared<const std::string>(encode(batch));
    send(batch);
  }
}

void ReaderAhead::send(Batch& batch) {
  const ComputeFrame type = options_.asynchronous ? ComputeFrame::kBatch : ComputeFrame::kAhead;
  batch.sent = true;
  if (!options_.asynchronous) ++copies_.in_flight;
  requests_.ask(type, batch.body, [this, step = batch.step](Answer& answer) {
    if (!options_.asynchronous) --copies_.in_flight;
    requests_.link().note_success();
    const auto found = std::ranges::find(batches_, step, &Batch::step);
    if (found != batches_.end() && found->prepared != nullptr) found->result = answer.take();
  });
}

// Announces steps without data, after all batches have been sent.
void ReaderAhead::send_without_data() {
  if (!batches_.empty() && !batches_.back().sent) return;
  while (copies_.in_flight <= options_.batches &&
         ending_.next() <= remote_.pushes().applied_steps() + lead_) {
    const StepWithoutData step{ending_.advance(), pass_};
    ++copies_.in_flight;
    requests_.ask(ComputeFrame::kNoData, std::make_shared<const std::string>(encode_no_data(step)),
                  [this, number = step.step](Answer& answer) {
                    --copies_.in_flight;
                    if (!decode_pass_ended(answer.frame.body.bytes())) ending_.note_data(number);
                  });
  }
}

// While it waits, this sends all messages that can be sent, and joins again or recovers if that is needed.
void ReaderAhead::wait_until(const std::function<bool()>& done) {
  for (;;) {
    remote_.wait_for([&] {
      if (!requests_.has_failed() && !copies_.answer) send_ready();
      return done() || requests_.has_failed() || copies_.answer;
    });
    if (done()) return;
    requests_.has_failed() ? recover() : go_on_joining();
  }
}

// Goes on after an error. kBeginAgain means that the copies are lost though the connection works, as when
// another reader's connection was replaced; other errors need another connection.  Synchronous mode joins
// again; asynchronous batches need no copies and are only sent again.
void ReaderAhead::recover() {
  const Error error = requests_.take_error();
  if (error.code() != kBeginAgain) requests_.link().reconnect(error);
  if (!options_.asynchronous) return join();
  for (Batch& batch : batches_) {
    if (batch.sent && !batch.result) send(batch);
  }
}

// Waits for the result of the first batch that is not pushed, and decodes it into `views`.
double ReaderAhead::run(const PreparedBatch& prepared, std::span<const ParameterView<float>> views) {
  PS_CHECK(num_pushed_ < batches_.size() && first_to_push().prepared == &prepared);
  const double start = monotonic_seconds();
  wait_until([this] { return first_to_push().result.has_value(); });
  counts_.waited_seconds += monotonic_seconds() - start;
  Batch& batch = first_to_push();
  const Frame result = std::move(*std::exchange(batch.result, std::nullopt));
  result_ = decode_result(result.body.bytes(), prepared, options_.sizes, specs_, views);
  batch.prepared = nullptr;
  options_.asynchronous ? batches_.pop_front() : void(++num_pushed_);
  return result_.cost();
}

Matrix<const float> ReaderAhead::predictions() const {
  const int64_t cols = result_.cols, size = static_cast<int64_t>(result_.predictions.size());
  return {result_.predictions.data(), cols == 0 ? 0 : size / cols, cols};
}

// ---- as a store

void ReaderAhead::pull(std::span<const KeyPlan> plans, PullMode mode,
                       std::vector<ParameterView<float>>& views) {
  if (mode == PullMode::kTrain) return remote_.prepare_push(plans, PullScope::kReaders, views);
  wait_until([this] { return all_applied(); });
  remote_.pull(plans, mode, views);
}

void ReaderAhead::push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                       const StepInfo& info) {
  remote_.push(plans, views, info);
  remote_.poll();
  if (!requests_.has_failed()) send_ready();
}

void ReaderAhead::end_pass(int64_t pass) {
  options_.asynchronous ? remote_.end_pass(pass) : end_pass_of_copies(pass);
  pass_ = pass + 1;
}

// Returns true if the next step may be pushed without data: all steps before it are known to have some, so
// that the pass has not ended before it, and the shards take it.
bool ReaderAhead::may_push_without_data() const {
  const uint64_t step = remote_.pushes().next_step();
  return ending_.reaches(step) && step <= remote_.pushes().applied_steps() + lead_;
}

bool ReaderAhead::pass_has_ended() const {
  return all_applied() && remote_.pushes().pass_ended();
}

// Ends a pass in which other readers may still have batches.  As long as some reader has data for a step, this
// one pushes that step without data, after it has announced it to the compute trainer.  The pass has ended when
// all pushes are applied and a shard says so.
void ReaderAhead::end_pass_of_copies(int64_t pass) {
  if (!copies_.joined) join();
  const uint64_t first = remote_.pushes().next_step();
  ending_.begin(first);
  remote_.pushes().begin_pass_end(pass);
  do {
    wait_until([&] {
      const bool begun = remote_.pushes().next_step() > first;
      return may_push_without_data() || (begun && pass_has_ended());
    });
    while (may_push_without_data()) remote_.push_without_data(pass);
  } while (!pass_has_ended());
  ending_.end();
}

Json ReaderAhead::counters() const {
  return {{"batches", counts_.batches}, {"ahead", counts_.ahead}, {"wait_seconds", counts_.waited_seconds}};
}

}  // namespace ps
