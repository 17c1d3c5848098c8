// What a shard's trainers and readers get of its parameters.
#include <algorithm>

#include "ps/server/shard.h"
#include "ps/server/shard_snapshot.h"
#include "ps/server/shard_state.h"

namespace ps {

namespace {

bool same_rows(const RowSlice& a, const RowSlice& b) {
  return a.parameter == b.parameter && a.by_keys == b.by_keys && a.exact == b.exact && a.first == b.first &&
         a.count == b.count && a.keys == b.keys;
}

bool same_pull(const PullRequest& a, const PullRequest& b) {
  return a.step == b.step && a.type == b.type && std::ranges::equal(a.parts, b.parts, same_rows);
}

}  // namespace

bool Shard::may_pull(uint64_t step) const {
  return consistency_.async || step <= clock_ + static_cast<uint64_t>(consistency_.staleness);
}

void Shard::pull(int rank, PullRequest request, ReplyPtr& reply) {
  Trainer& puller = trainer(rank);
  if (broken_) throw *broken_;
  tables_.check(request.parts);
  if (keeps_pulls_ || consistency_.async) {
    note(ShardEvent::kPull, rank, [&] { return encode_again(request); });
  }
  if (consistency_.async) puller.pulled_at = counters_.steps;
  if (may_pull(request.step)) {
    answer_pull(puller, std::move(request), *reply);
    return reply.reset();
  }
  waiting_pulls_.push_back({rank, std::move(request), std::move(reply)});
}

// What was answered to the same pull before; null when it was not, or is not kept.
std::shared_ptr<const Payload> Shard::former_answer(const Trainer& puller, const PullRequest& request) const {
  if (!keeps_pulls_) return nullptr;
  for (const auto& [number, pull] : puller.pulls) {
    if (pull.rows && same_pull(*pull.request, request)) return pull.rows;
  }
  for (const AnsweredPull& pull : puller.former_pulls) {
    if (pull.rows && same_pull(*pull.request, request)) return pull.rows;
  }
  return nullptr;
}

// What is kept costs no copy, but the memory of the answers for two steps at most.
void Shard::answer_pull(Trainer& puller, PullRequest request, Reply& reply) {
  std::shared_ptr<const Payload> rows = former_answer(puller, request);
  const bool repeated = rows != nullptr;
  std::shared_ptr<const PulledRows> pulled;
  if (!repeated) {
    rows = std::make_shared<const Payload>(make_answer(request, [&](char* out) {
      if (request.number == 0) return tables_.read(request.parts, request.mode, request.type, out);
      pulled = std::make_shared<const PulledRows>(tables_.pull(request.parts, request.type, out));
    }));
  }
  counters_.pulls_repeated += repeated;
  reply.answer(rows);
  const bool keep = repeated || (keeps_pulls_ && request.step == clock_);
  puller.remember({std::make_shared<const PullRequest>(std::move(request)), keep ? std::move(rows) : nullptr,
                   std::move(pulled)});
}

// Room for an answer; one alone is never too long.  Without it whoever asks is to ask again, until that has
// been of no use for long: then what is kept is more than this shard may have.
Buffer Shard::take_answer(uint64_t bytes) {
  if (answers_.bytes_in_use() == 0) return answers_.take(bytes);
  if (std::optional<Buffer> room = answers_.try_take(bytes)) {
    starved_ = false;
    return std::move(*room);
  }
  starved_ = true;
  ++counters_.refused_for_memory;
  const std::string what = cat("answers that are not taken use ", human_bytes(answers_.bytes_in_use()),
                               ", and leave no room for ", human_bytes(bytes));
  if (!starved_for_long_) fail(Code::kUnavailable, what);
  fail(Code::kExhausted, what, "; give ps-serve more with --max-memory, or the job more servers");
}

// The rows that are asked for, which `fill` puts where it is told.
Payload Shard::make_answer(const PullRequest& request, const std::function<void(char*)>& fill) {
  tables_.check(request.parts);
  if (request.mode == PullMode::kTrain) memory_.make_room(tables_, request.parts);
  Buffer rows = take_answer(tables_.bytes_of(request.parts, request.type));
  fill(rows.data());
  ++counters_.pulls;
  counters_.rows_pulled += num_rows(request.parts);
  return Payload(std::move(rows));
}

Payload Shard::read(const PullRequest& request) {
  return make_answer(request,
                     [&](char* out) { tables_.read(request.parts, request.mode, request.type, out); });
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
      answer_pull(trainer(pull.rank), std::move(pull.request), *pull.reply);
    } catch (const Error& error) {
      pull.reply->fail(error);
    }
  }
}

}  // namespace ps
