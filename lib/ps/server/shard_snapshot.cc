#include "ps/server/shard_snapshot.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "ps/server/slice_checks.h"
#include "ps/server/snapshot_fields.h"
#include "ps/wire/run_status.h"

namespace ps {

namespace {

constexpr uint16_t kTrainerEnded = 1, kGivenUp = 2, kWasGivenUp = 4, kHasMarker = 8, kKnowsChunks = 16,
                   kHasRows = 32, kAtEnd = 64, kHasKnownToAll = 128,
                   kClockCounts = 256;  // on disk: never renumber

// Saves or loads one trainer's part of a snapshot; lives for one call.
//
// trainer := generation:u64 next_step:u64 pulled_at:u64 marker_at:u64
//            marker_number:u64 flags:u16
//            done:u32 text[done] slices:u32 slice[slices] pulls:u32 answered[pulls]
//            sender:u64 chunks:u32 text[chunks], if a flag says so
// slice := generation:u64 push:text
// told:u32 step:u64[told], if a flag says so: the steps for which all shards hold the trainer's push
// answered := former:u8 pull:text rows:text
class TrainerSnapshot {
 public:
  TrainerSnapshot(const SnapshotContext& context, RosterEntry& trainer)
      : context_(context),
        trainer_(trainer),
        steps_(context.clock.trainer(trainer.rank)),
        state_(context.states.of(trainer.rank)) {}

  void save(std::string& out) const {
    for (uint64_t number :
         {trainer_.generation, steps_.next_step, steps_.pulled_at, steps_.marker_at, steps_.marker_number}) {
      put(out, number);
    }
    put(out, flags());
    put(out, static_cast<uint32_t>(steps_.done.size()));
    for (const Done& done : steps_.done) put_text(out, encode_done(done));
    save_pushes(out);
    context_.pulls.history(trainer_.rank).save(out);
    if (state_.knows_chunks) save_chunks(out);
    if (has_known_to_all()) save_known_to_all(out);
  }

  void load(ByteReader& in) {
    for (uint64_t* number : {&trainer_.generation, &steps_.next_step, &steps_.pulled_at, &steps_.marker_at,
                             &steps_.marker_number}) {
      *number = in.get<uint64_t>();
    }
    const uint16_t flags = in.get<uint16_t>();
    set_flags(flags);
    for (uint32_t left = in.get<uint32_t>(); left > 0 && in.ok(); --left) {
      steps_.done.push_back(decode_done(bytes_of(read_text(in))));
    }
    load_pushes(in);
    context_.pulls.history(trainer_.rank).load(in, context_.pulls.pool(), context_.held, trainer_.rank);
    if (state_.knows_chunks) load_chunks(in);
    if ((flags & kHasKnownToAll) != 0) load_known_to_all(in);
  }

 private:
  bool has_known_to_all() const {
    return std::ranges::any_of(steps_.pushes, [](const auto& push) { return push.second.all_hold; });
  }

  uint16_t flags() const {
    return static_cast<uint16_t>(
        (trainer_.ended ? kTrainerEnded : 0) | (trainer_.given_up ? kGivenUp : 0) |
        (trainer_.was_given_up ? kWasGivenUp : 0) | (steps_.has_marker ? kHasMarker : 0) |
        (state_.knows_chunks ? kKnowsChunks : 0) | (state_.has_rows ? kHasRows : 0) |
        (context_.clock.rest().at_end(trainer_.rank) ? kAtEnd : 0) |
        (has_known_to_all() ? kHasKnownToAll : 0) | (steps_.counted ? kClockCounts : 0));
  }

  // A snapshot is made when a checkpoint begins.  The clock then counts all batches of the trainer or, in
  // an asynchronous run in which the trainer was lost, none: the flag is enough, and the number is that of
  // the run state.
  void set_flags(uint16_t flags) {
    trainer_.ended = (flags & kTrainerEnded) != 0;
    trainer_.given_up = (flags & kGivenUp) != 0;
    trainer_.was_given_up = (flags & kWasGivenUp) != 0;
    steps_.has_marker = (flags & kHasMarker) != 0;
    state_.knows_chunks = (flags & kKnowsChunks) != 0;
    state_.has_rows = (flags & kHasRows) != 0;
    if ((flags & kClockCounts) == 0) steps_.counted.reset();
    context_.clock.rest().set_at_end(trainer_.rank, (flags & kAtEnd) != 0);
  }

  void save_pushes(std::string& out) const {
    size_t num_slices = 0;
    for (const auto& [step, push] : steps_.pushes) num_slices += push.slices.size();
    put(out, static_cast<uint32_t>(num_slices));
    for (const auto& [step, push] : steps_.pushes) {
      for (const auto& [number, slice] : push.slices) {
        put(out, push.generation);
        put_text(out, encode_again(slice, context_.tables.widths()));
      }
    }
  }

  // Pushes are checked as when they came from a trainer, since the snapshot may be damaged.  Their rows
  // were decoded before they were held, so that rows of another type are damage.
  void load_pushes(ByteReader& in) {
    for (uint32_t left = in.get<uint32_t>(); left > 0 && in.ok(); --left) {
      const auto generation = in.get<uint64_t>();
      PushRequest request =
          decode_push(to_buffer(context_.held.pool(), read_text(in)), context_.tables.widths());
      if (request.type != RowType::kF32 || request.coded)
        fail(Code::kCorrupt, "the snapshot of a shard has encoded rows");
      check_gradients(context_.tables.parameters(), request.row_slices);
      PendingPush& push = steps_.pending_push(request);
      push.generation = generation;
      const HeldPeer peer = static_cast<HeldPeer>(trainer_.rank);
      push.held.push_back(context_.held.take(peer, HeldKind::kPushes, memory_of_push(request)));
      push.slices.try_emplace(request.slice, std::move(request));
    }
  }

  void save_chunks(std::string& out) const {
    put(out, state_.sender);
    put(out, static_cast<uint32_t>(state_.chunks.size()));
    for (const auto& chunk : state_.chunks) put_text(out, *chunk);
  }

  void load_chunks(ByteReader& in) {
    state_.sender = in.get<uint64_t>();
    for (uint32_t left = in.get<uint32_t>(); left > 0 && in.ok(); --left) {
      state_.chunks.push_back(std::make_shared<const std::string>(read_text(in)));
    }
  }

  void save_known_to_all(std::string& out) const {
    std::vector<uint64_t> steps;
    for (const auto& [step, push] : steps_.pushes) {
      if (push.all_hold) steps.push_back(step);
    }
    put(out, static_cast<uint32_t>(steps.size()));
    for (uint64_t step : steps) put(out, step);
  }

  void load_known_to_all(ByteReader& in) {
    for (uint32_t left = in.get<uint32_t>(); left > 0 && in.ok(); --left) {
      PendingPush* const push = steps_.complete_push(in.get<uint64_t>());
      if (push == nullptr) fail(Code::kCorrupt, "the snapshot of a shard knows of a push that it has not");
      push->all_hold = true;
    }
  }

  const SnapshotContext& context_;
  RosterEntry& trainer_;
  TrainerSteps& steps_;
  StoredTrainerState& state_;
};

// The run state tells the number of trainers, for which the parts of the shard are begun anew.  The clock
// gets the state before the trainers are loaded, since their own fields replace some of what it sets.
void load_trainers(ByteReader& in, uint64_t run, const SnapshotContext& context) {
  const RunState state = RunState::load(in);
  const size_t num_trainers = state.trainers.size();  // ranks; flags say which are given up
  context.trainers_held = context.held.take_trainers(num_trainers);
  context.roster.begin_run(run, static_cast<int>(num_trainers), static_cast<int>(num_trainers), Time());
  context.clock.restart(num_trainers);
  context.clock.resume_from(state);
  context.states.restart(num_trainers);
  context.pulls.restart(num_trainers);
  for (RosterEntry& trainer : context.roster.trainers()) TrainerSnapshot(context, trainer).load(in);
  if (context.clock.pass_just_ended()) context.clock.note_end_checkpoint();
  context.held.set_chunk_bytes(context.states.chunk_bytes() + pending_chunk_bytes(context.clock.trainers()));
}

void load_all(std::string_view snapshot, const SnapshotContext& context,
              const std::function<void(int rank, std::string_view body)>& pull) {
  ByteReader in(snapshot);
  CheckpointAlignment::Plan& plan = context.checkpoints.plan();
  uint64_t run = 0;
  for (uint64_t* number : {&run, &plan.next_step, &context.counters.steps}) *number = in.get<uint64_t>();
  for (bool* flag : {&context.going, &plan.wants_markers}) *flag = in.get<uint8_t>() != 0;
  context.applier.rule().load(in);
  context.gathering.load(in, context.held);
  load_trainers(in, run, context);
  if (!context.gathering.is_of(context.roster.size())) {
    fail(Code::kCorrupt, "the snapshot of a shard has a gathering of more trainers than its run");
  }
  PullService::load_waiting(in, pull);
  if (!in.ok() || in.remaining() > 0) {
    fail(Code::kCorrupt, "the snapshot of a shard has another length");
  }
}

}  // namespace

// snapshot := run:u64 next_checkpoint:u64 steps:u64 going:u8 wants_markers:u8 rule
//             gathered:u64 last:text before:text given:u32 (rank:u32 text)[given]
//             state trainer[trainers] waiting:u32 (rank:u32 pull:text)[waiting]
// The state is that of RunState, as in checkpoints, and tells the number of trainers.
std::string save_shard_snapshot(const SnapshotContext& context) {
  std::string out;
  const CheckpointAlignment::Plan& plan = context.checkpoints.plan();
  for (uint64_t number : {context.roster.run(), plan.next_step, context.counters.steps}) put(out, number);
  for (bool flag : {context.going, plan.wants_markers}) put(out, static_cast<uint8_t>(flag));
  context.applier.rule().save(out);
  context.gathering.save(out);
  context.clock.run_state().save(out);
  for (RosterEntry& trainer : context.roster.trainers()) TrainerSnapshot(context, trainer).save(out);
  context.pulls.save_waiting(out);
  return out;
}

// A request that makes no sense, or of a rank that the run does not have, means here that the snapshot is
// damaged.
void load_shard_snapshot(std::string_view snapshot, const SnapshotContext& context,
                         const std::function<void(int rank, std::string_view body)>& pull) {
  try {
    load_all(snapshot, context, pull);
  } catch (const Error& error) {
    if (error.code() != Code::kData && error.code() != kStateLost) throw;
    throw Error(Code::kCorrupt, cat("the snapshot of a shard: ", error.message()));
  }
}

}  // namespace ps
