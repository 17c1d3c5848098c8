#include "ps/server/shard.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "ps/server/lent_rows.h"
#include "ps/server/snapshot_fields.h"
#include "ps/server/step_clocks.h"
#include "store/optimizer_states.h"

namespace ps {

namespace {

// The job has other shards: one of them may be a step behind.
bool has_others(const ShardPlace& place) {
  return place.num_dense > 1 || place.num_sparse > 1 || place.dense < 0 || place.sparse < 0;
}

bool keeps_answers(const ShardPlace& place, const Consistency& consistency) {
  return has_others(place) && !consistency.async && consistency.staleness == 0 && consistency.ahead == 0;
}

std::string_view text_of(const Buffer& buffer) {
  return {buffer.data(), buffer.size()};
}

// The slices of a push before the last are answered when they have come: only the step's end is waited for.
void answer_or_wait(const PushRequest& request, PendingPush& push, ReplyPtr& reply) {
  if (request.num_slices > 0 && request.slice + 1 == request.num_slices)
    return push.replies.push_back(std::move(reply));
  reply->answer(Payload());
  reply.reset();
}

// The reason for which a run without these ranks cannot go on.
Error without(const TrainerRoster& roster, std::span<const int> missing, uint64_t clock) {
  std::vector<std::string> ranks;
  bool left = false;
  for (int rank : missing) {
    ranks.push_back(std::to_string(rank));
    left |= roster.at(rank).left_at.has_value();
  }
  const std::string who = cat("trainer ", join(ranks, ", "), " of ", roster.size());
  const std::string where = cat(", at step ", clock);
  if (left) return Error(Code::kFenced, cat(who, " was ended before the run was done", where));
  const std::string seconds = significant(to_seconds(roster.loss().timeout), 3);
  return Error(Code::kFenced, cat("no connection from ", who, " for ", seconds, " s", where));
}

}  // namespace

Shard::Shard(std::vector<ParameterSpec> specs, const OptimizerPlan& optimizers, const ShardPlace& place,
             const Consistency& consistency, const TrainerLoss& loss, const ShardLimits& limits,
             const Json& push_codec)
    : memory_(limits.tables, dense_bytes(specs, optimizers, place)),
      held_(limits.held_bytes, memory_, counters_),
      tables_(specs, optimizers, place, limits.spill, limits.array_bytes),
      codecs_(push_codec, specs, /*rank=*/0, optimizers.cpu),
      roster_(loss),
      applier_(specs, optimizers, tables_, codecs_.sum_in_any_order(), counters_),
      pulls_(tables_, memory_, held_, counters_, limits.answer_bytes, keeps_answers(place, consistency)),
      checkpoints_(changes_),
      clock_(make_step_clock(consistency, step_context())),
      intake_(tables_, memory_, codecs_, *clock_, step_context()),
      gatherings_(roster_, *clock_, held_, changes_),
      recovery_({roster_, *clock_, checkpoints_, applier_, gatherings_.present(), states_, pulls_, held_,
                 tables_, counters_, going_, trainers_held_}),
      slice_work_(limits.slice_work) {}

// ---- steps

template <class Body>
void Shard::step(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    applier_.abandon();
    broken_ = error.within(cat("step ", counters_.steps));
    refuse_waiting(*broken_);
  }
  if (busy() && on_busy_) on_busy_();
}

void Shard::on_busy(std::function<void()> busy) {
  on_busy_ = std::move(busy);
  applier_.set_slice_work(slice_work_);
}

void Shard::go_on() {
  if (!busy()) return;
  step([&] { clock_->go_on(); });
  if (busy()) return;
  settle();
  count_chunks();
  if (pulls_.num_starved() > 0) pulls_.answer_starved(clock_->clock());
}

void Shard::finish_step() {
  if (!busy()) return;
  applier_.set_slice_work(SliceWork::kUnlimited);
  go_on();
  applier_.set_slice_work(slice_work_);
}

// Does what follows from a request whose steps are over.
void Shard::settle() {
  if (busy()) return;
  if (const std::optional<Moving> moving = std::exchange(moving_, std::nullopt))
    intake_.move_if_waiting(moving->rank, moving->step, moving->slice);
  applier_.clear_whole_squares();
  if (std::exchange(completes_gathering_, false) && !broken_) gatherings_.finish_if_complete();
}

// ---- trainers that come and go

RunStatus Shard::join(const Member& member, Time now) {
  PS_CHECK(member.rank >= 0 && member.rank < member.ranks() && member.generation != 0);
  finish_step();
  if (!roster_.has(member)) {
    const bool begins = roster_.begins_run(member, now);
    if (begins) {
      roster_.check_can_begin(member, now);
      check_joins(member);
      begin_run(member.run != 0 ? member.run : member.generation, member, now);
    }
    roster_.check_can_take_over(member);
    take_over(member.rank, member.generation);
  }
  roster_.connect(member.rank);
  return run_status(roster_.at(member.rank));
}

void Shard::check_joins(const Member& member) const {
  if (member.ranks() == member.trainers || clock_->goes_on_without_trainers()) return;
  fail(Code::kUsage, "cluster.max_trainers is ", member.max_trainers,
       ", but nobody joins trainers that pull ahead: leave out cluster.max_trainers, or train.pull_ahead");
}

void Shard::begin_run(uint64_t run, const Member& member, Time now) {
  const uint32_t num_ranks = static_cast<uint32_t>(member.ranks());
  held_.check_trainers(num_ranks);
  refuse_waiting(Error(kStateLost, "another run has begun"));
  changes_.note(ShardEvent::kRun, member.rank, [&] {
    const uint32_t num_trainers = static_cast<uint32_t>(member.trainers);
    return num_ranks == num_trainers ? event_of_numbers(run, num_trainers)
                                     : event_of_numbers(run, num_trainers, num_ranks);
  });
  roster_.begin_run(run, member.trainers, member.ranks(), now);
  clock_->restart(num_ranks);
  states_.restart(num_ranks);
  pulls_.restart(num_ranks);
  gatherings_.present().restart(0);
  checkpoints_.plan() = {};
  going_ = false;
  count_chunks();
  trainers_held_ = HeldBytes();  // nothing is held for the run before
  trainers_held_ = held_.take_trainers(num_ranks);
  const std::optional<RunState> from = recovery_.release_restored(num_ranks);
  if (!from) return;
  clock_->resume_from(*from);
  states_.resume();
  count_chunks();
  // As if all trainers had died right after the checkpoint began: they begin with a gathering, and end every
  // pass with one.
  gatherings_.present().restart(from->pass + (from->pass_begun() ? 1 : 0));
}

void Shard::take_over(int rank, uint64_t generation) {
  RosterEntry& trainer = roster_.at(rank);
  changes_.note(ShardEvent::kTrainer, rank, [&] { return event_of_numbers(generation); });
  if (trainer.generation != 0) ++counters_.trainers_returned;
  if (trainer.generation == 0 && trainer.given_up) ++counters_.trainers_joined;
  roster_.take_over(trainer, generation);
  states_.of(rank).last_return = 0;
  pulls_.history(rank).take_over();
  clock_->take_over(rank, trainer.was_given_up);
  gatherings_.present().forget_pieces(rank);
  count_chunks();
}

// A trainer that has pushed for a pass has done what follows the one before, or has its model made of what the
// servers keep: to save what they have now would be too late as soon as the others push too.
RunStatus Shard::run_status(const RosterEntry& trainer) const {
  const TrainerPosition position = clock_->position_of(trainer.rank);
  return {.run = roster_.run(),
          .step = position.step,
          .held = position.held,
          .pass = position.pass,
          .batches = position.batches,
          .pass_batches = position.pass_batches,
          .pass_begun = position.pass_begun,
          .gathered = gatherings_.present().number(),
          .dealings = clock_->rest().dealings(),
          .deals = roster_.loss().go_on || clock_->rest().dealings() > 0,
          .was_given_up = trainer.was_given_up,
          .has_rows = states_.of(trainer.rank).has_rows,
          .going = going_,
          .checkpoint_at = clock_->next_checkpoint(trainer.rank)};
}

void Shard::leave(const Member& member, Time now) {
  if (!roster_.has(member)) return;
  roster_.disconnect(member, now);
  waiting_.forget_unwanted();
}

bool Shard::is_unused(Time now) const {
  if (roster_.run() == 0) return true;
  return counters_.steps == 0 && !resumed_ && (roster_.is_left(now) || roster_.is_stalled(now));
}

void Shard::end_run(int rank) {
  finish_step();
  RosterEntry& ending = roster_.at(rank);
  changes_.note(ShardEvent::kEndRun, rank, empty_event);
  ending.ended = true;
}

// A process that came when the others had gone on without its rank found them in the midst of a run: nobody waits for
// another in its place.
void Shard::leave_run(int rank, Time now) {
  finish_step();
  roster_.leave_run(rank, now);
  const RosterEntry& trainer = roster_.at(rank);
  const bool goes_on = roster_.loss().go_on && clock_->goes_on_without_trainers();
  if (goes_on && trainer.was_given_up && !trainer.given_up && !trainer.ended)
    go_on_without(std::vector{rank});
}

void Shard::check_trainers(Time now) {
  pulls_.check_room(now);
  if (!waiting_.any()) return;
  std::vector<int> missing = roster_.missing(now);
  std::erase_if(missing, [this](int rank) { return gatherings_.present().has_given_end(rank); });
  if (missing.empty()) return;
  const bool goes_on = roster_.loss().go_on && clock_->goes_on_without_trainers();
  if (goes_on && roster_.anybody_connected()) return go_on_without(missing);
  refuse_waiting(without(roster_, missing, clock_->clock()));
}

void Shard::go_on_without(std::span<const int> ranks) {
  finish_step();
  changes_.note(ShardEvent::kGoOn, 0, [&] {
    std::string body;
    for (int rank : ranks) put(body, static_cast<int32_t>(rank));
    return body;
  });
  for (int rank : ranks) {
    roster_.at(rank).given_up = true;
    ++counters_.trainers_given_up;
  }
  completes_gathering_ = true;
  step([&] { clock_->go_on_without(ranks); });
  count_chunks();
  settle();
}

// ---- pulls and pushes

void Shard::pull(int rank, PullRequest request, ReplyPtr& reply) {
  finish_step();
  roster_.at(rank);
  if (broken_) throw *broken_;
  pulls_.check(request);
  if (clock_->logs_pulls()) changes_.note(ShardEvent::kPull, rank, [&] { return encode_again(request); });
  clock_->note_pull(rank);
  if (!clock_->may_pull(request.step)) return pulls_.wait(rank, std::move(request), reply);
  pulls_.answer(rank, std::move(request), clock_->clock(), reply);
}

// In synchronous mode a trainer pushes a step when all shards have applied those before: then the answers for
// these are not needed any more.  A compute trainer, which does not tell the number of slices, may push it when its reader
// has not heard of that yet.
void Shard::push(int rank, PushRequest request, ReplyPtr& reply) {
  finish_step();
  const bool has_chunk = request.chunk.has_value();
  try {
    receive_push(rank, std::move(request), reply);
  } catch (...) {
    if (has_chunk) count_chunks();
    throw;
  }
  if (has_chunk) count_chunks();
}

void Shard::receive_push(int rank, PushRequest request, ReplyPtr& reply) {
  roster_.at(rank);
  going_ = true;
  if (broken_) throw *broken_;
  intake_.check_order(rank, request, resumed_);
  if (clock_->trainer(rank).answer_repeated(request.step, reply)) return void(++counters_.pushes_repeated);
  if (pulls_.keeps_answers() && request.num_slices > 0) pulls_.history(rank).forget_before(request.step);
  auto [room, encoded] = intake_.admit(rank, request);
  PendingPush& push = clock_->trainer(rank).pending_push(request);
  const bool is_new = !push.complete() && !push.slices.contains(request.slice);
  if (is_new) {
    changes_.note(ShardEvent::kPush, rank,
                  [&, &body = encoded.size() > 0 ? encoded : request.body] { return text_of(body); });
  }
  answer_or_wait(request, push, reply);
  const uint64_t number = request.step;
  const uint32_t slice = request.slice;
  is_new ? intake_.hold(push, std::move(request), std::move(room)) : void(++counters_.pushes_repeated);
  if (is_new) moving_ = Moving{rank, number, slice};
  step([&] { clock_->advance(rank); });
  settle();
}

// All trainers send the same sums: the first that come apply the step.
void Shard::apply(int rank, ApplyRequest request, ReplyPtr& reply) {
  finish_step();
  roster_.at(rank);
  if (broken_) throw *broken_;
  if (clock_->trainer(rank).answer_repeated(request.step, reply)) return;
  PendingPush& push = clock_->waiting_push(rank, request);
  if (!std::ranges::all_of(request.squares, [](double square) { return std::isfinite(square); })) {
    ++counters_.refused_not_finite;
    fail(Code::kData, "apply: step ", request.step, " has a norm that is not finite");
  }
  changes_.note(ShardEvent::kApply, rank, [&] { return encode_apply(request); });
  push.replies.push_back(std::move(reply));
  push.all_hold = true;
  if (!request.squares.empty()) applier_.set_whole_squares(std::move(request.squares));
  step([&] { clock_->advance(rank); });
  settle();
}

void Shard::load(const PushRequest& request) {
  finish_step();
  intake_.admit_weights(request);
  changes_.note(ShardEvent::kLoad, 0, [&] { return text_of(request.body); });
  for (const RowSlice& slice : request.row_slices) tables_.load(slice, request.floats(slice));
}

// optimizers := samples:i64 steps:i64 learning_rate:f64 save_optimizers
std::string Shard::optimizers(bool sparse) {
  finish_step();
  std::string out;
  applier_.rule().save(out);
  save_optimizers(tables_.parameters(), sparse, out);
  return out;
}

std::string Shard::stored_rows(std::span<const RowSlice> slices) {
  finish_step();
  if (broken_) throw *broken_;
  return ps::stored_rows(tables_.parameters(), slices);
}

// Connections end with this process: the number of the last message need not outlive it.
void Shard::return_rows(int rank, std::string_view body) {
  finish_step();
  roster_.at(rank);
  if (broken_) throw *broken_;
  if (roster_.size() > 1) {
    fail(Code::kData, "return rows: there are ", roster_.size(),
         " trainers, and only one alone trains rows itself");
  }
  const ReturnedRows returned = decode_returned(tables_.parameters(), body);
  if (returned.number <= states_.of(rank).last_return) return;
  std::vector<RowSlice> slices;
  for (const auto& slice : returned.slices) slices.push_back(rows_of_keys(slice.parameter, slice.rows.keys));
  memory_.make_room(tables_, slices);
  changes_.note(ShardEvent::kReturnRows, rank, [&] { return body; });
  going_ = true;
  states_.give_rows(rank, returned.number);
  for (const auto& slice : returned.slices) put_rows(tables_.parameters(), slice, tables_.device());
}

void Shard::gather(int rank, const GatherRequest& request, ReplyPtr& reply) {
  finish_step();
  roster_.at(rank);
  going_ = true;
  gatherings_.give(rank, request, reply);
}

// ---- state chunks and replay

Payload Shard::state_chunk(int rank, uint32_t number) {
  finish_step();
  roster_.at(rank);
  return states_.chunk(rank, clock_->trainer(rank).batches, number);
}

void Shard::resume() {
  clock_->begin_aligned_checkpoint();
  for (const RosterEntry& trainer : roster_.trainers()) step([&] { clock_->advance(trainer.rank); });
}

void Shard::begin_replay() {
  applier_.set_slice_work(SliceWork::kUnlimited);
  held_.set_unlimited(true);
}

void Shard::end_replay(Time now) {
  if (on_busy_) applier_.set_slice_work(slice_work_);
  held_.set_unlimited(false);
  resumed_ = true;
  for (RosterEntry& trainer : roster_.trainers()) trainer.gone_since = now;
  waiting_.forget_unwanted();
}

// ---- status

void Shard::refuse_waiting(const Error& error) {
  finish_step();
  std::vector<ReplyPtr> replies = waiting_.release_replies();
  count_chunks();
  for (ReplyPtr& reply : replies) reply->fail(error);
}

void Shard::describe(ShardStatus& status) const {
  status.clock = clock_->clock();
  status.counters = counters_;
  status.counters.refused_for_memory += memory_.refused();
  status.tables = tables_.status();
  status.message_bytes += held_.bytes_in_use() + pulls_.bytes_in_use();
  held_.describe(status.held);
  status.held.push_back({"answers", pulls_.bytes_in_use()});
  uint64_t furthest = 0;
  for (const RosterEntry& trainer : roster_.trainers()) {
    if (trainer.given_up && trainer.generation == 0) continue;  // nobody has come
    const uint64_t clock = clock_->trainer(trainer.rank).pushed_steps();
    furthest = std::max(furthest, clock);
    status.trainers.push_back({.rank = trainer.rank,
                               .connections = trainer.connections,
                               .clock = clock,
                               .held_bytes = held_.bytes_of(static_cast<HeldPeer>(trainer.rank))});
  }
  for (TrainerStatus& trainer : status.trainers) trainer.lag = furthest - trainer.clock;
}

}  // namespace ps
