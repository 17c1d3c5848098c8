#include "ps/client/remote_pushes.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.h"
#include "ps/client/row_message.h"
#include "ps/wire/run_messages.h"

namespace ps {

RemotePushes::RemotePushes(const Context& context, const Consistency& consistency, RowType type,
                           std::function<bool(int64_t pass)> checkpoint_at_end)
    : context_(context),
      consistency_(consistency),
      type_(type),
      checkpoint_at_end_(std::move(checkpoint_at_end)),
      sent_elsewhere_(context.links.size()) {}

void RemotePushes::leave_to_compute() {
  elsewhere_by_keys_ = std::ranges::any_of(context_.specs, &ParameterSpec::with_compute);
  if (!elsewhere_by_keys_) count_elsewhere({});
}

// Counts the messages that the other process sends in a step to each shard: it routes the same parameters in
// the same way.
void RemotePushes::count_elsewhere(std::span<const KeyPlan> plans) {
  BatchRouter router(context_.specs, context_.links.places());
  router.begin();
  add_pushed(context_.specs, plans, PullScope::kCompute, router);
  router.end();
  for (size_t s = 0; s < sent_elsewhere_.size(); ++s) {
    sent_elsewhere_[s] = static_cast<uint32_t>(router.bundles(s).size());
  }
}

void RemotePushes::begin_at(uint64_t step, const RunStatus& status) {
  step_ = step;
  next_checkpoint_.at = status.checkpoint_at;
  next_checkpoint_.number = status.checkpoint_number;
}

void RemotePushes::push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                        const StepInfo& info) {
  if (elsewhere_by_keys_) count_elsewhere(plans);
  if (context_.residuals.used()) context_.residuals.find(plans);
  send_step(views, info, StepData::kBatch);
}

void RemotePushes::end_pass(int64_t pass) {
  begin_pass_end(pass);
  if (ended_pass_ == pass) return;
  do push_without_data(pass);
  while (!finish_pass_step());
}

// A step ends the pass, deals the rest, or does neither, since some trainer still had a batch in it; then
// the next step asks again.
bool RemotePushes::ask_for_rest(int64_t pass) {
  do {
    send_step({}, {0, pass}, StepData::kAsks);
    finish();
  } while (!dealt_ && !pass_ended_);
  if (pass_ended_) ended_pass_ = pass;
  return dealt_;
}

void RemotePushes::begin_pass_end(int64_t pass) {
  checkpoint_pass_ = checkpoint_at_end_(pass) ? pass : -1;
}

bool RemotePushes::finish_pass_step() {
  finish();
  return pass_ended_;
}

bool RemotePushes::next_begins_checkpoint() {
  finish();
  return step_ + 1 == next_checkpoint_.at;
}

// Sends a step to all shards.  It first waits until this trainer is no more ahead than the job's consistency
// allows.  A push has the row slices that were pulled; a shard from which nothing was pulled gets an empty
// message.  Trainer state is sent last, since encoding the gradients changes the residuals, which are part of
// it.  All messages of a shard carry the total number, so that the shard knows when the step is complete.
void RemotePushes::send_step(std::span<const ParameterView<float>> views, const StepInfo& info,
                             StepData data) {
  const bool ended = data != StepData::kBatch, asks = data == StepData::kAsks;
  const uint64_t lead = consistency_.lead();
  if (step_ >= lead) wait_for_steps_before(step_ - lead);
  const uint64_t step = step_++;
  const size_t num_shards = context_.links.size();
  unanswered_[step].shards = num_shards;
  PushHeader header{.step = step,
                    .info = info,
                    .ended = ended,
                    .asks = asks,
                    .begins_checkpoint = step + 1 == next_checkpoint_.at};
  if (header.begins_checkpoint) header.checkpoint_number = next_checkpoint_.number;
  header.begins_checkpoint |= ended && !asks && checkpoint_pass_ == info.pass;
  // The number of a checkpoint at the end of the pass, which came when the rest was dealt, is good for the
  // next step alone: if that step has a batch, the pass has not ended there.
  const uint64_t end_number = std::exchange(next_checkpoint_.end_number, 0);
  if (ended) header.checkpoint_number = asks ? 0 : end_number;
  header.type = type_;
  header.coded = context_.residuals.codecs().used();
  const PushedState state = context_.states.next(header.begins_checkpoint, ended);
  std::vector<PushHeader> headers(num_shards, header);
  for (size_t s = 0; s < num_shards; ++s) {
    std::deque<Bundle>& bundles = context_.pulls.router().bundles(s);
    const size_t messages = ended ? 0 : bundles.size(), sent = std::max<size_t>(1, messages);
    PushHeader& own = headers[s];
    // Slices [0, first) are those that the process of the compute trainer sends.
    const uint32_t first = ended ? 0 : sent_elsewhere_[s];
    own.slice = first;
    own.num_slices = static_cast<uint32_t>(first + sent + state.num_messages(s));
    if (messages == 0) send(s, own, Payload(encode_push(own, 0, "")));
    for (size_t n = 0; n < messages; ++n, ++own.slice) send_rows(s, own, bundles[n], views);
    own.slice = static_cast<uint32_t>(first + sent);
  }
  context_.states.push(state, headers,
                       [this](size_t s, const PushHeader& own, std::function<void()> on_answer) {
                         send(s, own, Payload(encode_push(own, 0, "")), std::move(on_answer));
                       });
}

// A shard remembers the slices of each pull until they are pushed, so that the push need only name the pull.  A
// shard that was restarted from its log knows the pushes and not the pulls; with such shards, the keys travel
// again.
void RemotePushes::send_rows(size_t shard, PushHeader header, Bundle& bundle,
                             std::span<const ParameterView<float>> views) {
  auto begin = [&](const RoutedRows& routed) {
    return pushed_floats(context_.specs[routed.parameter], views[routed.parameter]);
  };
  const bool logged = context_.links.welcome(shard).run_status.logged;
  if (bundle.counted.empty() && !logged) header.pulled = std::exchange(bundle.number, 0);
  send(
      shard, header,
      make_row_message({context_.specs, context_.pulls.router(), context_.links.pool(), context_.links.cpu()},
                       encode_push(header, bundle.num_row_slices(), bundle.push_slices()), shard, bundle,
                       {.begin = begin,
                        .gradients = &context_.pulls.gradients(),
                        .type = type_,
                        .residuals = &context_.residuals}));
}

// Sends one message.  The shard answers the step with the answer to the last message.
void RemotePushes::send(size_t shard, const PushHeader& header, Payload payload,
                        std::function<void()> on_answer) {
  const bool last = header.slice + 1 == header.num_slices;
  auto answered = [this, last, shard, step = header.step,
                   on_answer = std::move(on_answer)](const Frame& frame) {
    if (on_answer) on_answer();
    if (last) pushed(shard, step, frame);
  };
  context_.links.request(shard, Message::kPush, std::move(payload), std::move(answered));
}

// Sends an empty push for each step.  A shard that has applied the step answers so; any other shard holds the
// push of this step, and treats this one as a repetition.
void RemotePushes::finish_held(uint64_t first) {
  for (uint64_t step = first; step < step_; ++step) {
    unanswered_[step].shards = context_.links.size();
    const PushHeader header{.step = step, .ended = true};
    for (size_t s = 0; s < context_.links.size(); ++s) send(s, header, Payload(encode_push(header, 0, "")));
  }
  finish();
}

// Handles the answer of a shard to a push: the step is applied or held, or, with clipping by norm, the
// squares of its clip norms are there.  When all shards have answered, those that wait are told to commit
// the step.  `shards` counts down with each shard that has applied the step.  If a store in front clips by
// norm itself (leaves_committing_), the step rests here until that store calls commit.
void RemotePushes::pushed(size_t shard, uint64_t step, const Frame& frame) {
  const Done done = read_done(step, frame);
  if (done.dealt && shard == 0) next_checkpoint_.end_number = done.checkpoint_number;
  const auto found = unanswered_.find(step);
  if (found == unanswered_.end()) return;  // given up by settle
  Unanswered& waiting = found->second;
  ++waiting.pushed;
  if (done.squares.size() == context_.specs.size()) {
    waiting.waiting_for_commit.push_back(shard);
    waiting.squares.resize(context_.specs.size());
    for (size_t p = 0; p < context_.specs.size(); ++p) waiting.squares[p].add(done.squares[p]);
  } else if (done.held) {
    waiting.waiting_for_commit.push_back(shard);
  } else {
    --waiting.shards;
  }
  if (waiting.pushed < context_.links.size() || (leaves_committing_ && !waiting.waiting_for_commit.empty()))
    return;
  commit_step(step);
}

// Tells the waiting shards to commit the step: with the squares of the whole gradient, or because all shards
// hold it.
void RemotePushes::commit_step(uint64_t step) {
  if (holds_back_) return held_back_.push_back(step);
  std::vector<double> whole;
  for (const ExactSquares& squares : unanswered_[step].squares) whole.push_back(squares.value());
  send_commit(step, std::move(whole));
}

// Sends the commit to the shards that wait for it.  Each applies the step, and answers as to the last
// message of a push; the last answer ends the step here.  A step for which no shard waits has been applied
// by all of them, and ends at once.
void RemotePushes::send_commit(uint64_t step, std::vector<double> squares) {
  Unanswered& waiting = unanswered_[step];
  const CommitRequest request{step, std::move(squares)};
  for (size_t shard : waiting.waiting_for_commit) {
    auto applied = [this, step](const Frame& frame) {
      read_done(step, frame);
      const auto found = unanswered_.find(step);
      if (found != unanswered_.end() && --found->second.shards == 0) finish_step(step);
    };
    context_.links.request(shard, Message::kCommit, Payload(encode_commit(request)), std::move(applied));
  }
  if (waiting.shards == 0) finish_step(step);
}

// All shards have applied the step.  The pass ends only if all of them say so: they may differ in a step in
// which some have heard that a trainer was lost and others have not; then the pass goes on.
void RemotePushes::finish_step(uint64_t step) {
  const auto found = unanswered_.find(step);
  if (step >= whole_step_) {
    whole_step_ = step;
    pass_ended_ = found->second.ended == context_.links.size();
    dealt_ = found->second.dealt == context_.links.size();
  }
  unanswered_.erase(found);
}

// Waits until all shards have answered the last step.  A step that is gone by then was applied without
// squares: then the servers do not clip, and their job is another one than this trainer's.
std::vector<double> RemotePushes::wait_for_squares() {
  PS_CHECK(leaves_committing_);
  auto waiting = unanswered_.end();
  context_.links.wait_for_others([&] {
    waiting = unanswered_.find(step_ - 1);
    return waiting == unanswered_.end() || waiting->second.pushed == context_.links.size();
  });
  if (waiting == unanswered_.end()) {
    fail(Code::kData, "servers have sent no squares of the gradient, but the job clips by norm");
  }
  std::vector<double> whole;
  for (const ExactSquares& squares : waiting->second.squares) whole.push_back(squares.value());
  return whole;
}

void RemotePushes::commit(std::vector<double> squares) {
  send_commit(step_ - 1, std::move(squares));
}

// Decodes an answer, and remembers it if it belongs to the latest step.  An answer that is repeated over a
// new connection may come after the answers to later steps.  A held step has no result yet, so that its
// answer does not become the latest one.
Done RemotePushes::read_done(uint64_t step, const Frame& frame) {
  Done done = decode_done(frame.body.bytes());
  dropped_ += done.dropped;
  if (done.checkpoint_at > next_checkpoint_.at) {
    next_checkpoint_.at = done.checkpoint_at;
    next_checkpoint_.number = done.checkpoint_number;
  }
  if (step >= done_step_ && !done.held) {
    done_step_ = step;
    last_done_ = done;
  }
  const auto found = unanswered_.find(step);
  if (found == unanswered_.end()) return done;
  found->second.ended += done.pass_ended;
  found->second.dealt += done.dealt;
  return done;
}

void RemotePushes::settle(double seconds) {
  context_.links.wait([this] { return unanswered_.empty(); }, seconds);
  unanswered_.clear();
}

// A shard answers requests in their order, so that its answer comes after it has taken all earlier messages.
std::vector<uint64_t> RemotePushes::hold_back() {
  struct Answers {
    std::vector<uint64_t> applied;
    size_t waiting;
  };
  holds_back_ = true;
  const size_t shards = context_.links.size();
  const auto answers = std::make_shared<Answers>(Answers{std::vector<uint64_t>(shards), shards});
  for (size_t s = 0; s < shards; ++s) {
    context_.links.request(s, Message::kApplied, Payload(), [answers, s](const Frame& frame) {
      answers->applied[s] = decode_applied(frame.body.bytes());
      --answers->waiting;
    });
  }
  context_.links.wait([&answers] { return answers->waiting == 0; });
  return answers->applied;
}

void RemotePushes::go_on() {
  holds_back_ = false;
  for (uint64_t step : std::exchange(held_back_, {})) commit_step(step);
}

void RemotePushes::wait_for_steps_before(uint64_t step) {
  context_.links.wait_for_others([&] { return unanswered_.empty() || unanswered_.begin()->first >= step; });
}

}  // namespace ps
