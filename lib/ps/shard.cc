#include "ps/shard.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "ps/shard_state.h"

namespace ps {

namespace {

constexpr uint32_t kMaxPieces = 1 << 20;

uint64_t num_rows(std::span<const Part> parts) {
  uint64_t rows = 0;
  for (const Part& part : parts) rows += part.rows();
  return rows;
}

}  // namespace

Shard::Shard(std::vector<ParameterSpec> specs, const OptimizerPlan& optimizers, const ShardPlace& place,
             const Consistency& consistency, Duration trainer_timeout)
    : clipping_(specs, optimizers),
      tables_(std::move(specs), optimizers, place),
      rule_(optimizers.step_rule()),
      consistency_(consistency),
      trainer_timeout_(trainer_timeout),
      gathering_(std::make_unique<Gathering>()) {}

Shard::~Shard() = default;

// ---- pulls

bool Shard::may_pull(uint64_t step) const {
  return consistency_.async || step <= clock_ + static_cast<uint64_t>(consistency_.staleness);
}

void Shard::pull(int rank, PullRequest request, ReplyPtr& reply) {
  Trainer& puller = trainer(rank);
  if (broken_) throw *broken_;
  tables_.check(request.parts);
  puller.pulled_at = counters_.steps;
  if (may_pull(request.step)) {
    reply->answer(read(request));
    reply.reset();
    return puller.remember(std::move(request));
  }
  waiting_pulls_.push_back({rank, std::move(request), std::move(reply)});
}

Payload Shard::read(const PullRequest& request) {
  tables_.check(request.parts);
  Buffer rows = held_.take(tables_.bytes_of(request.parts, request.type));
  tables_.read(request.parts, request.mode, request.type, rows.data());
  ++counters_.pulls;
  counters_.rows_pulled += num_rows(request.parts);
  return Payload(std::move(rows));
}

void Shard::answer_waiting_pulls() {
  std::vector<WaitingPull> waiting = std::move(waiting_pulls_);
  waiting_pulls_.clear();
  for (WaitingPull& pull : waiting) {
    if (!may_pull(pull.request.step)) {
      waiting_pulls_.push_back(std::move(pull));
      continue;
    }
    try {
      pull.reply->answer(read(pull.request));
      trainer(pull.rank).remember(std::move(pull.request));
    } catch (const Error& error) {
      pull.reply->fail(error);
    }
  }
}

// ---- pushes

void Shard::check_push(const Trainer& trainer, const PushRequest& request) const {
  if (request.step > trainer.next_step + consistency_.lead()) {
    fail(Code::kData, "push: step ", request.step, " of trainer ", trainer.rank, " comes before step ",
         trainer.next_step);
  }
  if (request.num_pieces > kMaxPieces) fail(Code::kData, "push: ", request.num_pieces, " pieces");
}

// Gives the push the parts that it has of a pull, and looks at all of them.
void Shard::complete(Trainer& trainer, PushRequest& request) {
  if (request.pulled != 0) {
    auto found = trainer.pulls.find(request.pulled);
    if (found == trainer.pulls.end()) fail(Code::kData, "push: there was no pull ", request.pulled);
    set_parts(request, found->second.parts, widths());
  }
  if (request.ended && !request.parts.empty()) fail(Code::kData, "push: gradients after the end of the data");
  tables_.check_gradients(request.parts);
}

// Answers for a step that was applied already, if it was.
bool Shard::answer_repeated(Trainer& trainer, uint64_t step, ReplyPtr& reply) {
  if (step >= trainer.next_step) return false;
  uint64_t back = trainer.next_step - step;
  if (back > trainer.done.size()) fail(Code::kData, "step ", step, " is long past");
  reply->answer(Payload(encode_done(trainer.done[trainer.done.size() - back])));
  reply.reset();
  return true;
}

Shard::Push& Shard::pending_push(Trainer& trainer, const PushRequest& request) {
  auto [place, is_new] = trainer.pushes.try_emplace(request.step);
  Push& push = place->second;
  if (is_new) {
    push.rank = trainer.rank;
    push.info = request.info;
    push.ended = request.ended;
    push.num_pieces = request.num_pieces;
  } else if (push.num_pieces != request.num_pieces || push.ended != request.ended) {
    fail(Code::kData, "push: pieces of step ", request.step, " do not belong together");
  }
  return push;
}

// The pieces before the last are answered when they have come: only the step's end is waited for.
void Shard::push(int rank, PushRequest request, ReplyPtr& reply) {
  Trainer& pusher = trainer(rank);
  if (broken_) throw *broken_;
  check_push(pusher, request);
  if (answer_repeated(pusher, request.step, reply)) {
    ++counters_.pushes_repeated;
    return;
  }
  complete(pusher, request);
  Push& push = pending_push(pusher, request);
  if (request.piece + 1 == request.num_pieces) {
    push.replies.push_back(std::move(reply));
  } else {
    reply->answer(Payload());
    reply.reset();
  }
  const uint64_t step = request.step, rows = num_rows(request.parts);
  const uint32_t piece = request.piece;
  const bool encoded = request.type != RowType::kF32;
  if (encoded) take_floats(request, widths(), held_);
  const bool is_new = push.pieces.try_emplace(piece, std::move(request)).second;
  counters_.pushes += is_new;
  counters_.rows_pushed += is_new ? rows : 0;
  counters_.pushes_repeated += !is_new;
  apply_complete(pusher);
  auto waiting = pusher.pushes.find(step);
  // What has to wait for others must not take up the memory of connections, or these could not be heard.
  if (is_new && !encoded && waiting != pusher.pushes.end()) {
    take_floats(waiting->second.pieces.at(piece), widths(), held_);
  }
}

// Applies what can be applied now that something came from `trainer`.
void Shard::apply_complete(Trainer& trainer) {
  try {
    consistency_.async ? apply_asynchronous(trainer) : apply_synchronous();
  } catch (const Error& error) {
    broken_ = error.within(cat("step ", counters_.steps));
    refuse_waiting(*broken_);
  }
}

bool Shard::all_pushed() const {
  return std::all_of(trainers_.begin(), trainers_.end(), [this](const Trainer& trainer) {
    auto found = trainer.pushes.find(clock_);
    return found != trainer.pushes.end() && found->second.complete();
  });
}

void Shard::apply_synchronous() {
  while (all_pushed()) {
    std::vector<Push*> pushes;
    for (Trainer& trainer : trainers_) {
      Push& push = trainer.pushes.at(clock_);
      if (!push.ended) pushes.push_back(&push);
    }
    if (measure(pushes)) return;
    Done done{.pass_ended = pushes.empty()};
    if (!pushes.empty()) done.squares = pushes[0]->measured;
    if (!pushes.empty()) apply_step(pushes);
    done.learning_rate = rule_.learning_rate();
    ++clock_;
    for (Trainer& trainer : trainers_) finish(trainer, done);
    answer_waiting_pulls();
  }
}

void Shard::apply_asynchronous(Trainer& trainer) {
  auto found = trainer.pushes.find(trainer.next_step);
  if (found == trainer.pushes.end() || !found->second.complete()) return;
  Push& push = found->second;
  if (push.ended) return end_asynchronous_pass();
  const uint64_t lag = counters_.steps - trainer.pulled_at;
  const bool drop = consistency_.max_lag > 0 && lag > static_cast<uint64_t>(consistency_.max_lag);
  Push* pushes[] = {&push};
  if (!drop && measure(pushes)) return;
  std::vector<ExactSquares> squares = push.measured;
  drop ? void(++counters_.pushes_dropped) : apply_step(pushes);
  finish(trainer, {.learning_rate = rule_.learning_rate(), .dropped = drop, .squares = std::move(squares)});
}

// Answers all trainers once the last of them has ended.
void Shard::end_asynchronous_pass() {
  for (const Trainer& trainer : trainers_) {
    auto found = trainer.pushes.find(trainer.next_step);
    if (found == trainer.pushes.end() || !found->second.ended) return;
  }
  for (Trainer& trainer : trainers_) {
    finish(trainer, {.learning_rate = rule_.learning_rate(), .pass_ended = true});
  }
}

StepInfo Shard::sum_up(std::span<Push* const> pushes) const {
  StepInfo total;
  for (const Push* push : pushes) {
    total.samples += push->info.samples;
    total.pass = std::max(total.pass, push->info.pass);
  }
  return total;
}

// By parameter, in the order of ranks and pieces.
std::vector<std::vector<Contribution>> Shard::contributions_of(std::span<Push* const> pushes,
                                                               const StepInfo& total) const {
  std::vector<std::vector<Contribution>> contributions(tables_.size());
  for (const Push* push : pushes) {
    float share = pushes.size() == 1 || total.samples == 0
                      ? 1
                      : static_cast<float>(push->info.samples) / static_cast<float>(total.samples);
    for (const auto& [piece, request] : push->pieces) {
      for (const Part& part : request.parts) {
        contributions[part.parameter].push_back({&part, request.floats(part), push->rank, share});
      }
    }
  }
  return contributions;
}

// Where gradients are clipped by norm: tells the trainers the squares of this shard's part of the step, and
// returns true until the sums of all shards have come back.
bool Shard::measure(std::span<Push* const> pushes) {
  if (!clipping_.any() || pushes.empty() || whole_squares_) return false;
  std::vector<ExactSquares> squares = pushes[0]->measured;
  if (squares.empty()) {
    squares.resize(tables_.size());
    auto contributions = contributions_of(pushes, sum_up(pushes));
    for (size_t p = 0; p < squares.size(); ++p) {
      if (clipping_.needs(p)) squares[p] = tables_.squares(p, contributions[p]);
    }
  }
  if (consistency_.async) {
    answer_measured(*pushes[0], squares);
    return true;
  }
  for (Trainer& trainer : trainers_) answer_measured(trainer.pushes.at(clock_), squares);
  return true;
}

void Shard::answer_measured(Push& push, const std::vector<ExactSquares>& squares) {
  push.measured = squares;
  for (ReplyPtr& reply : std::exchange(push.replies, {})) {
    reply->answer(Payload(encode_done({.learning_rate = rule_.learning_rate(), .squares = squares})));
  }
}

// All trainers send the same sums: the first that come apply the step.
void Shard::apply(int rank, ApplyRequest request, ReplyPtr& reply) {
  Trainer& sender = trainer(rank);
  if (broken_) throw *broken_;
  if (answer_repeated(sender, request.step, reply)) return;
  auto found = sender.pushes.find(request.step);
  bool expected = found != sender.pushes.end() && !found->second.measured.empty() &&
                  request.step == sender.next_step && request.squares.size() == tables_.size();
  if (!expected) fail(Code::kData, "apply: step ", request.step, " is not waiting for it");
  found->second.replies.push_back(std::move(reply));
  whole_squares_ = std::move(request.squares);
  apply_complete(sender);
  whole_squares_.reset();
}

// One step with the sum of these pushes, which come in rank order.
void Shard::apply_step(std::span<Push* const> pushes) {
  const StepInfo total = sum_up(pushes);
  const StepSize step = rule_.next(total);
  const std::vector<double> no_squares(tables_.size());
  const std::vector<float> scales =
      clipping_.scales(whole_squares_ ? *whole_squares_ : no_squares, step.scale);
  whole_squares_.reset();  // those of the next step are others
  auto contributions = contributions_of(pushes, total);
  for (size_t p = 0; p < contributions.size(); ++p) {
    tables_.apply(p, contributions[p], {step.learning_rate, scales[p]});
  }
  ++counters_.steps;
}

// Ends a trainer's next step.
void Shard::finish(Trainer& trainer, const Done& done) {
  auto found = trainer.pushes.find(trainer.next_step);
  std::vector<ReplyPtr> replies = std::move(found->second.replies);
  trainer.pushes.erase(found);
  trainer.forget_pulls(trainer.next_step++);
  trainer.done.push_back(done);
  if (trainer.done.size() > consistency_.lead() + 1) trainer.done.pop_front();
  for (ReplyPtr& reply : replies) reply->answer(Payload(encode_done(done)));
}

// ---- the rest

void Shard::gather(int rank, uint64_t number, std::string bytes, ReplyPtr& reply) {
  trainer(rank);
  Gathering& gathering = *gathering_;
  if (number + 1 == gathering.number) {
    reply->answer(Payload(gathering.last));
    return reply.reset();
  }
  if (number != gathering.number) {
    fail(Code::kData, "gather: number ", number, ", expected ", gathering.number);
  }
  gathering.given[rank] = std::move(bytes);
  gathering.replies.push_back(std::move(reply));
  if (gathering.given.size() < trainers_.size()) return;
  std::vector<std::string> all;
  for (auto& [giver, given] : gathering.given) all.push_back(std::move(given));
  std::vector<ReplyPtr> replies = std::move(gathering.replies);
  std::string answer = encode_gathered(all);
  gathering = {.number = number + 1, .given = {}, .replies = {}, .last = std::move(answer)};
  for (ReplyPtr& each : replies) each->answer(Payload(gathering.last));
}

std::string Shard::keys(const KeysRequest& request) {
  if (request.first == 0 || keys_parameter_ != request.parameter) {
    keys_ = tables_.sorted_keys(request.parameter);
    keys_parameter_ = request.parameter;
  }
  if (request.first > keys_.size()) fail(Code::kData, "keys: ", request.first, " of ", keys_.size());
  const uint64_t total = keys_.size();
  const size_t count = std::min<uint64_t>(request.most, total - request.first);
  std::string out;
  put(out, total);
  encode_keys({keys_.data() + request.first, count}, out);
  if (request.first + count == total) {  // the last piece
    keys_parameter_.reset();
    std::vector<uint64_t>().swap(keys_);
  }
  return out;
}

void Shard::load(const PushRequest& request) {
  tables_.check(request.parts);
  for (const Part& part : request.parts) tables_.load(part, request.floats(part));
}

}  // namespace ps
