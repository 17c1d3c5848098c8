#include "ps/server/pull_service.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "ps/server/snapshot_fields.h"

namespace ps {

// A kept answer costs no copy, but the memory of the answers for two steps at most.
void PullService::answer(int rank, PullRequest request, uint64_t clock, Reply& reply) {
  std::shared_ptr<const Payload> rows = keeps_answers_ ? history(rank).answer_to(request) : nullptr;
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
  const bool keep = repeated || (keeps_answers_ && request.step == clock);
  history(rank).add({std::make_shared<const PullRequest>(std::move(request)),
                     keep ? std::move(rows) : nullptr, std::move(pulled)});
}

void PullService::check(const PullRequest& request) const {
  tables_.check(request.parts);
  uint64_t bytes = 0;
  for (const RowSlice& slice : request.parts) {
    bytes += tables_.bytes_of({&slice, 1}, request.type);
    if (bytes <= kMaxMessageBytes) continue;
    fail(Code::kData, "pull: the answer would have more than ", human_bytes(kMaxMessageBytes));
  }
}

Payload PullService::read(const PullRequest& request) {
  return make_answer(request,
                     [&](char* out) { tables_.read(request.parts, request.mode, request.type, out); });
}

// Gives room for an answer; one alone is never too long.  Without room the peer is to ask again, until that
// has been of no use for long: then the connections keep more than this shard may have.
Buffer PullService::take_answer(uint64_t bytes) {
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

// The rows of the request, which `fill` puts where it is told.
Payload PullService::make_answer(const PullRequest& request, const std::function<void(char*)>& fill) {
  check(request);
  if (request.mode == PullMode::kTrain) memory_.make_room(tables_, request.parts);
  Buffer rows = take_answer(tables_.bytes_of(request.parts, request.type));
  fill(rows.data());
  ++counters_.pulls;
  for (const RowSlice& slice : request.parts) counters_.rows_pulled += slice.rows();
  return Payload(std::move(rows));
}

void PullService::wait(int rank, PullRequest request, ReplyPtr reply) {
  waiting_.push_back({rank, std::move(request), std::move(reply)});
}

void PullService::answer_waiting(const std::function<bool(uint64_t step)>& may_pull, uint64_t clock) {
  for (WaitingPull& pull : std::exchange(waiting_, {})) {
    if (!may_pull(pull.request.step)) {
      waiting_.push_back(std::move(pull));
      continue;
    }
    try {
      answer(pull.rank, std::move(pull.request), clock, *pull.reply);
    } catch (const Error& error) {
      pull.reply->fail(error);
    }
  }
}

// A connection that takes nothing is closed after a minute.
void PullService::check_room(Time now) {
  constexpr Duration kLong = std::chrono::seconds(90);
  if (!starved_) starved_since_.reset();
  if (starved_ && !starved_since_) starved_since_ = now;
  starved_for_long_ = starved_since_ && now - *starved_since_ >= kLong;
}

void PullService::forget_unwanted() {
  std::erase_if(waiting_, [](const WaitingPull& pull) { return is_unwanted(pull.reply); });
}

void PullService::take_replies(std::vector<ReplyPtr>& out) {
  for (WaitingPull& pull : std::exchange(waiting_, {})) out.push_back(std::move(pull.reply));
}

// waiting := waiting:u32 (rank:u32 pull:text)[waiting]
void PullService::save_waiting(std::string& out) const {
  if (!keeps_answers_) return put(out, uint32_t{0});
  put(out, static_cast<uint32_t>(waiting_.size()));
  for (const WaitingPull& pull : waiting_) {
    put(out, static_cast<uint32_t>(pull.rank));
    put_text(out, encode_again(pull.request));
  }
}

void PullService::load_waiting(ByteReader& in,
                               const std::function<void(int rank, std::string_view pull)>& tell) {
  for (uint32_t left = in.get<uint32_t>(); left > 0 && in.ok(); --left) {
    const int rank = static_cast<int>(in.get<uint32_t>());
    tell(rank, take_text(in));
  }
}

}  // namespace ps
