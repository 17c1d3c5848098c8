// Every request that changes the run is handled in the same order.  The step that is under way is finished,
// the rank and the request are checked, and memory is taken; then the change is noted for the log, and only
// then it is made.  So a request that is refused has no effect, and is not in the log.
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

// Returns true if the job has other shards, one of which may be a step behind.
bool has_others(const ShardPlace& place) {
  return place.num_dense > 1 || place.num_sparse > 1 || place.dense < 0 || place.sparse < 0;
}

bool keeps_answers(const ShardPlace& place, const Consistency& consistency) {
  return has_others(place) && !consistency.async && consistency.staleness == 0 && consistency.ahead == 0;
}

std::string_view text_of(const Buffer& buffer) {
  return {buffer.data(), buffer.size()};
}

// Answers a slice of a push when it comes, unless it is the last: that one is answered at the end of the
// step.
void answer_or_wait(const PushRequest& request, PendingPush& push, ReplyPtr& reply) {
  if (request.num_slices > 0 && request.slice + 1 == request.num_slices)
    return push.replies.push_back(std::move(reply));
  reply->answer(Payload());
  reply.reset();
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
      recovery_(snapshot_context()),
      runner_(applier_, limits.slice_work,
              {.go_on = [this] { go_on(); },
               .settle = [this] { settle(); },
               .ended = [this] { end_step(); },
               .failed = [this](const Error& error) { membership_.refuse_waiting(error); },
               .answers = [this] { return pulls_.busy(); }}),
      membership_(snapshot_context(), {changes_, gatherings_, recovery_, waiting_, runner_}) {}

SnapshotContext Shard::snapshot_context() {
  return {roster_, *clock_, checkpoints_, applier_, gatherings_.present(), states_, pulls_,
          held_,   tables_, counters_,    going_,   trainers_held_};
}

// ---- steps

// Goes on with the pulls that are answered, and then with the steps.
void Shard::go_on() {
  SliceWork work = applier_.slice();
  if (pulls_.busy()) pulls_.go_on(clock_->clock(), work);
  if (!pulls_.busy()) clock_->go_on();
}

// Does what follows when the steps of a request are over.
void Shard::settle() {
  intake_.end_steps();
  applier_.clear_whole_squares();
  membership_.settle();
}

void Shard::end_step() {
  settle();
  count_chunks();
  if (pulls_.num_starved() > 0) answer_starved();
}

void Shard::answer_starved() {
  SliceWork work = applier_.slice();
  pulls_.answer_starved(clock_->clock(), work);
  runner_.note_answers();
}

// ---- pulls and pushes

// A pull that the log must have is noted before it is answered or waits: in asynchronous mode it says how
// old the weights of the next push are, and in a synchronous job with several shards it brings an answer
// that is kept.  It may still be refused for lack of memory, which a replay ignores.
void Shard::pull(int rank, PullRequest request, ReplyPtr& reply) {
  runner_.finish();
  roster_.at(rank);
  runner_.check();
  pulls_.check(request);
  if (clock_->logs_pulls()) changes_.note(ShardEvent::kPull, rank, [&] { return encode_again(request); });
  clock_->note_pull(rank);
  if (!clock_->may_pull(request.step)) return pulls_.wait(rank, std::move(request), reply);
  SliceWork work = applier_.slice();
  pulls_.answer(rank, std::move(request), clock_->clock(), reply, work);
  runner_.note_answers();
}

void Shard::push(int rank, PushRequest request, ReplyPtr& reply) {
  runner_.finish();
  const bool has_chunk = request.chunk.has_value();
  try {
    receive_push(rank, std::move(request), reply);
  } catch (...) {
    if (has_chunk) count_chunks();
    throw;
  }
  if (has_chunk) count_chunks();
}

// Takes one slice of a push.  A step that was applied is answered again.  A slice that came before only
// adds its reply, since its answer may have been lost.  With the slice that makes the push complete, the
// clock applies all steps that wait for nothing else.
//
// In synchronous mode a trainer pushes a step only when all shards have applied the steps before it, so
// that the answers to the pulls of those are not needed any more.  A compute trainer does not tell the
// number of slices; it may push the step before its reader has learned of that.
void Shard::receive_push(int rank, PushRequest request, ReplyPtr& reply) {
  roster_.at(rank);
  going_ = true;
  runner_.check();
  intake_.check_order(rank, request, membership_.resumed());
  if (clock_->trainer(rank).answer_repeated(request.step, reply)) return void(++counters_.pushes_repeated);
  if (pulls_.keeps_answers() && request.num_slices > 0) pulls_.history(rank).forget_before(request.step);
  auto [room, encoded] = intake_.admit(rank, request);
  PendingPush& push = clock_->trainer(rank).pending_push(request);
  if (push.slices.empty()) push.generation = roster_.at(rank).generation;
  const bool is_new = !push.complete() && !push.slices.contains(request.slice);
  if (is_new) {
    changes_.note(ShardEvent::kPush, rank,
                  [&, &body = encoded.size() > 0 ? encoded : request.body] { return text_of(body); });
  }
  answer_or_wait(request, push, reply);
  is_new ? intake_.hold(push, std::move(request), std::move(room)) : void(++counters_.pushes_repeated);
  runner_.run([&] { clock_->advance(rank); });
  runner_.settle();
}

// All trainers send the same sums, so the first that come apply the step.
void Shard::commit(int rank, CommitRequest request, ReplyPtr& reply) {
  runner_.finish();
  roster_.at(rank);
  runner_.check();
  if (clock_->trainer(rank).answer_repeated(request.step, reply)) return;
  PendingPush& push = clock_->waiting_push(rank, request);
  if (!std::ranges::all_of(request.squares, [](double square) { return std::isfinite(square); })) {
    ++counters_.refused_not_finite;
    fail(Code::kData, "apply: step ", request.step, " has a norm that is not finite");
  }
  changes_.note(ShardEvent::kCommit, rank, [&] { return encode_commit(request); });
  push.replies.push_back(std::move(reply));
  push.all_hold = true;
  if (!request.squares.empty()) applier_.set_whole_squares(std::move(request.squares));
  runner_.run([&] { clock_->advance(rank); });
  runner_.settle();
}

void Shard::load(const PushRequest& request) {
  runner_.finish();
  intake_.admit_weights(request);
  changes_.note(ShardEvent::kLoad, 0, [&] { return text_of(request.body); });
  for (const RowSlice& slice : request.row_slices) tables_.load(slice, request.floats(slice));
}

// optimizers := samples:i64 steps:i64 learning_rate:f64 save_optimizers
std::string Shard::optimizers(bool sparse) {
  runner_.finish();
  std::string out;
  applier_.rule().save(out);
  save_optimizers(tables_.parameters(), sparse, out);
  return out;
}

std::string Shard::stored_rows(std::span<const RowSlice> slices) {
  runner_.finish();
  runner_.check();
  return ps::stored_rows(tables_.parameters(), slices);
}

// The number of the last message need not be stored beyond this process: its connections end with it, and
// with them repeated messages.
std::string Shard::return_rows(int rank, std::string_view body) {
  runner_.finish();
  roster_.at(rank);
  runner_.check();
  const ReturnedRows returned = decode_returned(tables_.parameters(), body, counters_);
  check_owner(returned, rank, roster_.size());
  auto answer = [&] { return absent_keys(tables_.parameters(), returned.counted, tables_.device()); };
  if (returned.number <= states_.of(rank).last_return) return answer();
  std::vector<RowSlice> slices = returned.counted;
  for (const auto& slice : returned.slices) slices.push_back(rows_of_keys(slice.parameter, slice.rows.keys));
  memory_.make_room(tables_, slices);
  changes_.note(ShardEvent::kReturnRows, rank, [&] { return body; });
  going_ = true;
  states_.give_rows(rank, returned.number);
  apply_returned(tables_.parameters(), returned, tables_.device());
  return answer();
}

void Shard::gather(int rank, const GatherRequest& request, ReplyPtr& reply) {
  runner_.finish();
  roster_.at(rank);
  going_ = true;
  gatherings_.give(rank, request, reply);
}

// ---- state chunks and replay

Payload Shard::state_chunk(int rank, uint32_t number) {
  runner_.finish();
  roster_.at(rank);
  return states_.chunk(rank, clock_->trainer(rank).batches, number);
}

void Shard::resume() {
  clock_->begin_aligned_checkpoint();
  for (const RosterEntry& trainer : roster_.trainers()) runner_.run([&] { clock_->advance(trainer.rank); });
}

void Shard::begin_replay() {
  runner_.begin_replay();
  held_.set_unlimited(true);
}

void Shard::end_replay(Time now) {
  runner_.end_replay();
  held_.set_unlimited(false);
  membership_.end_replay(now);
}

// ---- status

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
    if (trainer.given_up && trainer.generation == 0) continue;  // no process has come
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
