#include "ps/server/shard_replay.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "ps/server/snapshot_fields.h"
#include "ps/wire/hello.h"

namespace ps {

namespace {

// Drops the answers: a trainer whose request was not answered asks again.
class NoReply final : public Reply {
 public:
  void answer(std::shared_ptr<const Payload>) override {}
  void fail(const Error&) override {}
  bool wanted() const override { return false; }
};

[[noreturn]] void refuse(ShardEvent event, std::string_view body) {
  fail(Code::kCorrupt, "there is no event ", static_cast<int>(event), " of ", body.size(), " bytes");
}

}  // namespace

// The shard applied the steps whose pushes were all there as soon as the checkpoint had begun.  The held
// kCheckpoint stands for that, and the decisions that follow in the log were made then.
void ShardReplay::load_snapshot(std::string_view snapshot) {
  shard_.recovery().load_snapshot(snapshot, [this](int rank, std::string_view body) { pull(rank, body); });
  held_ = HeldEvent{ShardEvent::kCheckpoint, 0, "", {}};
}

void ShardReplay::add(ShardEvent event, int rank, std::string_view body, Time now) {
  if (event != ShardEvent::kCheckpoint) {
    make_held(now);
    held_ = HeldEvent{event, rank, std::string(body), {}};
    return;
  }
  if (!held_) fail(Code::kCorrupt, "a checkpoint was decided on by nothing");
  ByteReader in(body);
  held_->checkpoints.push_back(in.get<uint64_t>());
}

void ShardReplay::end(Time now) {
  make_held(now);
  shard_.end_replay(now);
}

// Makes the held event.  In its course the shard asks about checkpoints, and `decided` repeats the answers
// of the first time, which depended on the clock.
void ShardReplay::make_held(Time now) {
  const std::optional<HeldEvent> held = std::exchange(held_, std::nullopt);
  if (!held) return;
  auto decided = [&held](uint64_t number) {
    return std::ranges::find(held->checkpoints, number) != held->checkpoints.end();
  };
  CheckpointAlignment::Wanted wanted = shard_.checkpoints().exchange_wanted(decided);
  make(held->event, held->rank, held->body, now);
  shard_.checkpoints().exchange_wanted(std::move(wanted));
}

// Calls for each event the function that has noted it; kCheckpoint stands for the steps after the snapshot.
// An event that the enum does not have ends behind the switch, which has no default, so that a compiler
// warns of a new event without a case.
void ShardReplay::make(ShardEvent event, int rank, std::string_view body, Time now) {
  ByteReader in(body);
  ReplyPtr reply = std::make_unique<NoReply>();
  const Widths widths = shard_.tables().widths();
  switch (event) {
    case ShardEvent::kRun:
      return begin_run(body, now);
    case ShardEvent::kTrainer:
      return shard_.membership().take_over(rank, in.get<uint64_t>());
    case ShardEvent::kGoOn: {
      std::vector<int> missing;
      while (in.remaining() > 0 && in.ok()) missing.push_back(in.get<int32_t>());
      return shard_.membership().go_on_without(missing);
    }
    case ShardEvent::kPull:
      return pull(rank, body);
    case ShardEvent::kPush:
      return shard_.push(rank, decode_push(to_buffer(pool_, body), widths), reply);
    case ShardEvent::kCommit:
      return shard_.commit(rank, decode_commit(bytes_of(body)), reply);
    case ShardEvent::kGather:
      return gather(rank, body);
    case ShardEvent::kEndRun:
      return shard_.membership().end_run(rank);
    case ShardEvent::kLoad:
      return shard_.load(decode_load(to_buffer(pool_, body), widths));
    case ShardEvent::kEndCounts:
      return shard_.gatherings().confirm_end();
    case ShardEvent::kCheckpoint:
      return shard_.resume();
    case ShardEvent::kReturnRows:
      return static_cast<void>(shard_.return_rows(rank, body));
  }
  refuse(event, body);
}

void ShardReplay::begin_run(std::string_view body, Time now) {
  ByteReader in(body);
  const uint64_t run = in.get<uint64_t>();
  const uint32_t trainers = in.get<uint32_t>(), ranks = in.remaining() > 0 ? in.get<uint32_t>() : trainers;
  const bool makes_sense = run != 0 && trainers > 0 && trainers <= ranks;
  if (!in.ok() || !makes_sense || ranks > static_cast<uint32_t>(kMostTrainers))
    refuse(ShardEvent::kRun, body);
  const Member first{.trainers = static_cast<int>(trainers), .max_trainers = static_cast<int>(ranks)};
  shard_.membership().begin_run(run, first, now);
}

// The event has all bytes that a trainer gave, in one piece.
void ShardReplay::gather(int rank, std::string_view body) {
  ByteReader in(body);
  const uint64_t number = in.get<uint64_t>();
  if (!in.ok()) refuse(ShardEvent::kGather, body);
  ReplyPtr reply = std::make_unique<NoReply>();
  shard_.gather(rank, {.number = number, .bytes = in.get_bytes(in.remaining()), .first = 0, .rest = 0},
                reply);
}

// A pull that was refused for lack of memory was sent again, so the error is ignored.
void ShardReplay::pull(int rank, std::string_view body) {
  PullRequest request = decode_pull(bytes_of(body));
  shard_.roster().at(rank);
  ReplyPtr reply = std::make_unique<NoReply>();
  try {
    shard_.pull(rank, std::move(request), reply);
  } catch (const Error& error) {
    if (error.code() != Code::kUnavailable && error.code() != Code::kExhausted) throw;
  }
}

}  // namespace ps
