#include "ps/server/shard.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/radix_sort.h"
#include "ps/server/shard_state.h"

namespace ps {

namespace {

constexpr uint32_t kMaxPieces = 1 << 20;

// Whether the job has other shards: then one of them may be a step behind.
bool has_others(const ShardPlace& place) {
  return place.num_dense > 1 || place.num_sparse > 1 || place.dense < 0 || place.sparse < 0;
}

std::string_view text_of(const Buffer& buffer) {
  return {buffer.data(), buffer.size()};
}

std::string encode_gather(uint64_t number, std::string_view bytes) {
  std::string body;
  put(body, number);
  body += bytes;
  return body;
}

}  // namespace

Shard::Shard(std::vector<ParameterSpec> specs, const OptimizerPlan& optimizers, const ShardPlace& place,
             const Consistency& consistency, const TrainerLoss& loss, const ShardLimits& limits)
    : clipping_(specs, optimizers),
      memory_(limits.tables, dense_bytes(specs, optimizers, place)),
      tables_(std::move(specs), optimizers, place, limits.spill, limits.array_bytes),
      rule_(optimizers.step_rule()),
      consistency_(consistency),
      loss_(loss),
      keeps_pulls_(has_others(place) && !consistency.async && consistency.staleness == 0),
      is_first_(place.dense == 0),
      held_(limits.held_bytes),
      answers_(limits.answer_bytes),
      gathering_(std::make_unique<Gathering>()) {}

Shard::~Shard() = default;

// ---- pushes

void Shard::check_push(const Trainer& trainer, const PushRequest& request) const {
  if (request.step > trainer.next_step + consistency_.lead()) {
    fail(resumed_ ? kStateLost : Code::kData, "push: step ", request.step, " of trainer ", trainer.rank,
         " comes before step ", trainer.next_step);
  }
  if (request.num_pieces > kMaxPieces) fail(Code::kData, "push: ", request.num_pieces, " pieces");
}

// Gives the push the parts that it has of a pull, and looks at all of them.
void Shard::complete(Trainer& trainer, PushRequest& request) {
  if (request.pulled != 0) {
    auto found = trainer.pulls.find(request.pulled);
    if (found == trainer.pulls.end()) fail(Code::kData, "push: there was no pull ", request.pulled);
    const std::shared_ptr<const PullRequest>& pull = found->second.request;
    set_parts(request, {pull, &pull->parts}, widths());
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
    push.cut = request.cut;
    push.num_pieces = request.num_pieces;
  } else if (!push.complete() && (push.num_pieces != request.num_pieces || push.ended != request.ended)) {
    fail(Code::kData, "push: pieces of step ", request.step, " do not belong together");
  }
  return push;
}

// The pieces before the last are answered when they have come: only the step's end is waited for.
//
// In synchronous mode a trainer pushes a step when all shards have applied those before: then what was
// answered for these is not needed any more.
void Shard::push(int rank, PushRequest request, ReplyPtr& reply) {
  Trainer& pusher = trainer(rank);
  going_ = true;
  if (broken_) throw *broken_;
  check_push(pusher, request);
  if (answer_repeated(pusher, request.step, reply)) {
    ++counters_.pushes_repeated;
    return;
  }
  if (keeps_pulls_) pusher.forget_pulls_before(request.step);
  complete(pusher, request);
  memory_.make_room(tables_, request.parts);
  check_room_to_hold(tables_.bytes_of(request.parts, RowType::kF32));
  if (request.kept) check_room_for_kept(request.kept->size());
  Push& push = pending_push(pusher, request);
  const bool was_complete = push.complete();
  if (!was_complete && !push.pieces.contains(request.piece)) {
    note(ShardEvent::kPush, rank, [&] { return text_of(request.body); });
  }
  if (request.piece + 1 == request.num_pieces) {
    push.replies.push_back(std::move(reply));
  } else {
    reply->answer(Payload());
    reply.reset();
  }
  const uint64_t step = request.step, pull = request.pulled, rows = num_rows(request.parts);
  const uint32_t piece = request.piece;
  const bool encoded = request.type != RowType::kF32;
  if (request.parts.empty()) request.body = Buffer();  // what it tells of its trainer is beside it
  if (encoded) take_floats(request, widths(), held_);
  // Another process may tell, or not, what the one before did not, or did: what is whole stays as it is.
  const bool is_new = !was_complete && push.pieces.try_emplace(piece, std::move(request)).second;
  if (is_new && pull != 0) push.pulled[piece] = pusher.pulls.at(pull).pulled;
  counters_.pushes += is_new;
  counters_.rows_pushed += is_new ? rows : 0;
  counters_.pushes_repeated += !is_new;
  apply_complete(pusher);
  auto waiting = pusher.pushes.find(step);
  // What has to wait for others must not take up the memory of connections, or these could not be heard.
  if (is_new && !encoded && waiting != pusher.pushes.end()) {
    held_.adopt(waiting->second.pieces.at(piece).body);
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

void Shard::check_room_to_hold(uint64_t bytes) {
  if (!held_.try_take(bytes)) refuse_to_hold(bytes);
}

void Shard::refuse_to_hold(uint64_t bytes) {
  ++counters_.refused_for_memory;
  fail(Code::kExhausted, "what waits for other trainers takes ",
       human_bytes(held_.bytes_in_use() + kept_bytes()), " already, and has no room for ", human_bytes(bytes),
       " more; give ps-serve more with --max-memory, or the job more servers");
}

// What the trainer has pushed for its next step, when it is whole.
Shard::Push* Shard::next_push(Trainer& trainer) const {
  auto found = trainer.pushes.find(trainer.next_step);
  return found != trainer.pushes.end() && found->second.complete() ? &found->second : nullptr;
}

// In rank order, those whose pushes make the next step, which is whole; none when somebody's is missing.  Who
// was given up takes part as far as its pushes go, who returned after that from its first step on.
std::vector<Shard::Trainer*> Shard::next_pushers() {
  std::vector<Trainer*> pushers;
  for (Trainer& trainer : trainers_) {
    if (!consistency_.async && trainer.next_step > clock_) continue;
    const bool there = next_push(trainer) != nullptr;
    if (!there && !trainer.given_up) return {};
    if (there) pushers.push_back(&trainer);
  }
  return pushers;
}

void Shard::apply_synchronous() {
  for (;;) {
    const std::vector<Trainer*> pushers = next_pushers();
    if (pushers.empty()) return;
    std::vector<Push*> pushes;
    int64_t pass = 0;
    bool cut = false, cut_at_end = cut_at_ends_;
    for (Trainer* trainer : pushers) {
      Push* push = next_push(*trainer);
      (push->ended ? cut_at_end : cut) |= push->cut;
      pass = std::max(pass, push->info.pass);
      if (!push->ended) pushes.push_back(push);
    }
    if (measure(pushes)) return;
    Done done{.pass_ended = pushes.empty()};
    if (!pushes.empty()) done.squares = pushes[0]->measured;
    pushes.empty() ? tables_.end_pass(pass) : apply_step(pushes);
    done.learning_rate = rule_.learning_rate();
    ++clock_;
    cut |= done.pass_ended && cut_at_end;
    done.cut_at = cut ? 0 : next_cut();
    for (Trainer* trainer : pushers) finish(*trainer, done);
    if (done.pass_ended) end_pass();
    if (cut && begin_cut_) begin_cut_(cut_number(), done.pass_ended);
    answer_waiting_pulls();
  }
}

void Shard::apply_asynchronous(Trainer& trainer) {
  Push* push = next_push(trainer);
  if (push == nullptr || trainer.marked) return;
  if (push->ended) {
    take_state(trainer, *push, trainer.batches);
    begin_aligned_cut();
    return end_asynchronous_pass();
  }
  const uint64_t lag = counters_.steps - trainer.pulled_at;
  const bool drop = consistency_.max_lag > 0 && lag > static_cast<uint64_t>(consistency_.max_lag);
  if (!drop && measure({&push, 1})) return;
  std::vector<ExactSquares> squares = push->measured;
  drop ? void(++counters_.pushes_dropped) : apply_step({&push, 1});
  trainer.marked = push->cut;
  const uint64_t cut_at = next_mark(trainer);
  finish(trainer, {.learning_rate = rule_.learning_rate(),
                   .dropped = drop,
                   .cut_at = cut_at,
                   .squares = std::move(squares)});
  begin_aligned_cut();
}

// Answers all trainers once the last of them has ended.
void Shard::end_asynchronous_pass() {
  const std::vector<Trainer*> pushers = next_pushers();
  if (std::ranges::any_of(pushers, &Trainer::marked)) return;
  bool all_ended = std::ranges::all_of(pushers, [this](Trainer* each) { return next_push(*each)->ended; });
  if (pushers.empty() || !all_ended) return;
  int64_t pass = 0;
  bool cut = cut_at_ends_;
  for (Trainer* trainer : pushers) {
    pass = std::max(pass, next_push(*trainer)->info.pass);
    cut |= next_push(*trainer)->cut;
  }
  tables_.end_pass(pass);
  for (Trainer* trainer : pushers) {
    finish(*trainer, {.learning_rate = rule_.learning_rate(), .pass_ended = true});
  }
  end_pass();
  if (cut && begin_cut_) begin_cut_(cut_number(), /*at_end=*/true);
}

void Shard::end_pass() {
  ++pass_;
  for (Trainer& trainer : trainers_) trainer.pass_batches = 0;
}

StepInfo Shard::sum_up(std::span<Push* const> pushes) const {
  StepInfo total;
  for (const Push* push : pushes) {
    total.samples += push->info.samples;
    total.pass = std::max(total.pass, push->info.pass);
    total.shrink |= push->info.shrink;
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
      const auto found = push->pulled.find(piece);
      const PulledRows* pulled = found != push->pulled.end() ? found->second.get() : nullptr;
      for (size_t s = 0; s < request.parts.size(); ++s) {
        const RowSlice& part = request.parts[s];
        const RowPointers* rows = pulled != nullptr ? &(*pulled)[s] : nullptr;
        contributions[part.parameter].push_back({&part, request.floats(part), push->rank, share, rows});
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
  for (Trainer* trainer : next_pushers()) answer_measured(*next_push(*trainer), squares);
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
  note(ShardEvent::kApply, rank, [&] { return encode_apply(request); });
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
    tables_.apply(p, contributions[p], {step.learning_rate, scales[p], step.shrink});
  }
  ++counters_.steps;
}

// Ends a trainer's next step.
void Shard::finish(Trainer& trainer, const Done& done) {
  auto found = trainer.pushes.find(trainer.next_step);
  std::vector<ReplyPtr> replies = std::move(found->second.replies);
  if (!found->second.ended) {
    ++trainer.batches, ++trainer.pass_batches;
    trainer.former_states.clear();
  }
  take_state(trainer, found->second, trainer.batches);
  trainer.pushes.erase(found);
  ++trainer.next_step;
  if (!keeps_pulls_) trainer.forget_pulls_before(trainer.next_step);
  trainer.done.push_back(done);
  if (trainer.done.size() > consistency_.lead() + 1) trainer.done.pop_front();
  for (ReplyPtr& reply : replies) reply->answer(Payload(encode_done(done)));
}

// ---- the rest

void Shard::gather(int rank, uint64_t number, std::string bytes, ReplyPtr& reply) {
  trainer(rank);
  going_ = true;
  Gathering& gathering = *gathering_;
  const uint64_t behind = gathering.number - number;
  if ((behind == 1 || behind == 2) && !gathering.answers[behind - 1].empty()) {
    reply->answer(Payload(gathering.answers[behind - 1]));
    return reply.reset();
  }
  if (number != gathering.number) {
    fail(Code::kData, "gather: number ", number, ", expected ", gathering.number);
  }
  check_room_to_hold(bytes.size());
  // Who comes after one that died has seen less than it: what came first stays.
  if (!gathering.given.contains(rank))
    note(ShardEvent::kGather, rank, [&] { return encode_gather(number, bytes); });
  gathering.given.try_emplace(rank, std::move(bytes));
  gathering.replies.push_back(std::move(reply));
  finish_gathering();
}

// Those who were given up give nothing.
void Shard::finish_gathering() {
  Gathering& gathering = *gathering_;
  bool all_gave = std::ranges::all_of(trainers_, [&gathering](const Trainer& trainer) {
    return trainer.given_up || gathering.given.contains(trainer.rank);
  });
  if (gathering.given.empty() || !all_gave) return;
  if (std::ranges::all_of(trainers_,
                          [this](const Trainer& each) { return each.given_up || gave_end(each); })) {
    if (finished_ && !end_confirmed_) return finished_(pass_);
    for (Trainer& trainer : trainers_) trainer.ended = true;
  }
  std::vector<std::string> all(trainers_.size());
  for (auto& [rank, given] : gathering.given) all[static_cast<size_t>(rank)] = std::move(given);
  std::vector<ReplyPtr> replies = std::move(gathering.replies);
  std::string answer = encode_gathered(all);
  gathering = {.number = gathering.number + 1,
               .given = {},
               .replies = {},
               .answers = {std::move(answer), std::move(gathering.answers[0])}};
  for (ReplyPtr& each : replies) each->answer(Payload(gathering.answers[0]));
}

bool Shard::gave_end(const Trainer& trainer) const {
  auto found = gathering_->given.find(trainer.rank);
  return found != gathering_->given.end() && found->second.starts_with(kGatheredAtEnd);
}

// What a log was about to end may end now.
void Shard::on_finished(std::function<void(uint64_t)> finished) {
  finished_ = std::move(finished);
  finish_gathering();
}

void Shard::confirm_end() {
  note(ShardEvent::kEndCounts, 0, [] { return std::string_view(); });
  end_confirmed_ = true;
  finish_gathering();
  end_confirmed_ = false;
}

std::string Shard::keys(const KeysRequest& request) const {
  ScanCursor cursor = request.cursor;
  std::vector<uint64_t> keys;
  const uint64_t most = std::min(request.most, kMostKeys);
  const bool more = tables_.scan_keys(request.parameter, most, cursor, keys);
  radix_sort(keys);
  return encode_found_keys(more, cursor, keys);
}

void Shard::load(const PushRequest& request) {
  tables_.check(request.parts);
  memory_.make_room(tables_, request.parts);
  note(ShardEvent::kLoad, 0, [&] { return text_of(request.body); });
  for (const RowSlice& part : request.parts) tables_.load(part, request.floats(part));
}

// A trainer's clock counts what it has pushed, so that the one that the others wait for is behind.
void Shard::describe(ShardStatus& status) const {
  status.clock = clock_;
  status.counters = counters_;
  status.counters.refused_for_memory += memory_.refused();
  status.tables = tables_.status();
  status.message_bytes += held_.bytes_in_use() + answers_.bytes_in_use();
  uint64_t furthest = 0;
  for (const Trainer& trainer : trainers_) {
    uint64_t clock = trainer.next_step;
    for (const auto& [step, push] : trainer.pushes) clock += push.complete();
    furthest = std::max(furthest, clock);
    status.trainers.push_back({.rank = trainer.rank, .connections = trainer.connections, .clock = clock});
  }
  for (TrainerStatus& trainer : status.trainers) trainer.lag = furthest - trainer.clock;
}

}  // namespace ps
