// A shard makes again what its log says that it has made.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "ps/server/shard.h"
#include "ps/server/shard_snapshot.h"
#include "ps/server/shard_state.h"

namespace ps {

namespace {

// Nobody waits for the answers: who asked asks again.
class NoReply final : public Reply {
 public:
  void answer(std::shared_ptr<const Payload>) override {}
  void fail(const Error&) override {}
  bool wanted() const override { return false; }
};

std::span<const char> bytes_of(std::string_view body) {
  return {body.data(), body.size()};
}

}  // namespace

// What was decided while an event was handled follows it in the log.
void Shard::replay(ShardEvent event, int rank, std::string_view body, Time now) {
  if (event != ShardEvent::kCut) {
    make_held_event(now);
    held_event_ = std::make_unique<HeldEvent>(HeldEvent{event, rank, std::string(body), {}});
    return;
  }
  if (!held_event_) fail(Code::kCorrupt, "a checkpoint was decided on by nothing");
  ByteReader in(body);
  held_event_->cuts.push_back(in.get<uint64_t>());
}

void Shard::make_held_event(Time now) {
  const std::unique_ptr<HeldEvent> held = std::move(held_event_);
  if (!held) return;
  auto decided = [&held](uint64_t number) {
    return std::ranges::find(held->cuts, number) != held->cuts.end();
  };
  const auto wanted = std::exchange(cut_wanted_, decided);
  make_again(held->event, held->rank, held->body, now);
  cut_wanted_ = wanted;
}

void Shard::make_again(ShardEvent event, int rank, std::string_view body, Time now) {
  constexpr uint32_t kMostTrainers = 1 << 16;
  ByteReader in(body);
  ReplyPtr reply = std::make_unique<NoReply>();
  switch (event) {
    case ShardEvent::kRun: {
      const uint64_t run = in.get<uint64_t>();
      const uint32_t trainers = in.get<uint32_t>();
      if (!in.ok() || run == 0 || trainers == 0 || trainers > kMostTrainers) break;
      return begin_run({.rank = 0, .trainers = static_cast<int>(trainers), .run = run}, now);
    }
    case ShardEvent::kTrainer:
      return take_over(trainer(rank), in.get<uint64_t>());
    case ShardEvent::kGoOn: {
      std::vector<Trainer*> missing;
      while (in.remaining() > 0 && in.ok()) missing.push_back(&trainer(in.get<int32_t>()));
      return go_on_without(missing);
    }
    case ShardEvent::kPull:
      return pull_again(rank, body, reply);
    case ShardEvent::kPush:
      return push(rank, decode_push(to_buffer(held_, body), widths()), reply);
    case ShardEvent::kApply:
      return apply(rank, decode_apply(bytes_of(body)), reply);
    case ShardEvent::kGather: {
      const uint64_t number = in.get<uint64_t>();
      return gather(rank, number, std::string(in.get_bytes(in.remaining())), reply);
    }
    case ShardEvent::kEndRun:
      return end_run(rank);
    case ShardEvent::kLoad:
      return load(decode_load(to_buffer(held_, body), widths()));
    case ShardEvent::kEndCounts:
      return confirm_end();
    case ShardEvent::kCut:
      return resume_from_snapshot();
  }
  fail(Code::kCorrupt, "there is no event ", static_cast<int>(event), " of ", body.size(), " bytes");
}

// Steps whose pushes are all there follow at once, as they did when the image was made.
void Shard::resume_from_snapshot() {
  if (consistency_.async) begin_aligned_cut();
  for (Trainer& trainer : trainers_) apply_complete(trainer);
}

// One that was refused, for want of memory, was asked again.
void Shard::pull_again(int rank, std::string_view body, ReplyPtr& reply) {
  PullRequest request = decode_pull(bytes_of(body));
  trainer(rank);
  try {
    pull(rank, std::move(request), reply);
  } catch (const Error& error) {
    if (error.code() != Code::kUnavailable && error.code() != Code::kExhausted) throw;
  }
}

void Shard::end_replay(Time now) {
  make_held_event(now);
  resumed_ = true;
  for (Trainer& trainer : trainers_) trainer.gone_since = now;
  forget_unwanted();
}

}  // namespace ps
