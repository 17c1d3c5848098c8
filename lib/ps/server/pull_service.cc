// A pull goes this way: wait keeps it until the clock allows its step, when it is ready; answer_or_wait answers
// it, or queues it behind the pulls that wait for room; try_answer takes memory for the answer; read_rows reads
// the rows, in one call or in several; end_answer sends them, and remembers the pull if a push may name it.
// When answers that were sent free memory, answer_starved continues with the queue in its fair order.  Pulls to
// read go another way (read_answers.h).
#include "ps/server/pull_service.h"

#include <algorithm>
#include <utility>

#include "base/current_error.h"
#include "base/error.h"
#include "ps/server/slice_checks.h"
#include "ps/server/snapshot_fields.h"

namespace ps {

void PullService::read(uint64_t peer, PullRequest request, ReplyPtr& reply) {
  check(request);
  reads_.read(peer, std::move(request), reply);
}

void PullService::answer(int rank, PullRequest request, uint64_t clock, ReplyPtr& reply, SliceWork& work) {
  HeldBytes held;
  const HeldPeer peer = static_cast<HeldPeer>(rank);
  if (request.number != 0) held = held_.take(peer, HeldKind::kPullHistory, memory_of_pull(request));
  answer_or_wait({peer, rank, std::move(request), nullptr, std::move(held)}, clock, reply, work);
}

// Answers the pull, or queues it.  No pull overtakes those that already wait for room.  If it throws, the
// caller has the reply again.
void PullService::answer_or_wait(WaitingPull pull, uint64_t clock, ReplyPtr& reply, SliceWork& work) {
  pull.reply = std::move(reply);
  try {
    if (starved_.empty() && try_answer(pull, clock, work)) return;
    ++counters_.refused_for_memory;
    const uint64_t bytes = memory_of_pull(pull.request);
    if (pull.held.bytes() == 0 && !held_.has_room(pull.peer, bytes)) {
      fail(Code::kUnavailable, "answers that are not taken use ", human_bytes(answers_.bytes_in_use()),
           ", and ", starved_.size(), " pulls wait for room");
    }
    if (pull.held.bytes() == 0) pull.held = held_.take(pull.peer, HeldKind::kPulls, bytes);
    const uint64_t answer_bytes = tables_.bytes_of(pull.request.row_slices, pull.request.type);
    starved_.push(std::move(pull), answer_bytes);
  } catch (...) {
    reply = std::move(pull.reply);
    throw;
  }
}

// Begins to answer the pull, and takes it then.  Returns false if there is no room for the answer.
bool PullService::try_answer(WaitingPull& pull, uint64_t clock, SliceWork& work) {
  const PullRequest& request = pull.request;
  if (keeps_answers_ && answer_again(pull)) return true;
  if (request.mode == PullMode::kTrain) memory_.make_room(tables_, request.row_slices);
  std::optional<Buffer> room = find_room(tables_.bytes_of(request.row_slices, request.type));
  if (!room) return false;
  under_way_.emplace(UnderWay{std::move(pull), std::move(*room)});
  read_rows(clock, work);
  return true;
}

// Reads rows of the pull that is answered.  One whose rows cannot be read is refused.
void PullService::read_rows(uint64_t clock, SliceWork& work) {
  const PullRequest& request = under_way_->pull.request;
  try {
    if (request.mode != PullMode::kTrain) {
      tables_.read(request.row_slices, request.mode, request.type, under_way_->room.data());
    } else if (!tables_.pull(request.row_slices, request.type, under_way_->room.data(), under_way_->progress,
                             work)) {
      return;
    }
    end_answer(clock);
  } catch (...) {
    under_way_->pull.reply->fail(current_error());
  }
  under_way_.reset();
}

// An answer that is kept costs no copy when it is sent again, but the memory of the answers of at most two
// steps.
void PullService::end_answer(uint64_t clock) {
  WaitingPull& pull = under_way_->pull;
  count(pull.request);
  auto rows = std::make_shared<const Payload>(Payload(std::move(under_way_->room)));
  auto pulled = std::make_shared<const PulledRows>(std::move(under_way_->progress.pulled));
  pull.reply->answer(rows);
  const bool keep = keeps_answers_ && pull.request.step == clock;
  remember(pull, keep ? std::move(rows) : nullptr, std::move(pulled));
}

// Continues with the pull that is answered, and then with those whose step has come, in order.  A pull that
// has to be read in several calls ends the loop; one that finds no room goes to starved_, and the next is
// tried.
void PullService::go_on(uint64_t clock, SliceWork& work) {
  if (under_way_) read_rows(clock, work);
  while (!under_way_ && !ready_.empty()) {
    WaitingPull pull = std::move(ready_.front());
    ready_.pop_front();
    ReplyPtr reply = std::move(pull.reply);
    try {
      answer_or_wait(std::move(pull), clock, reply, work);
    } catch (...) {
      reply->fail(current_error());
    }
  }
}

// Sends the answer to an equal earlier pull again.  Returns false if there was none.
bool PullService::answer_again(WaitingPull& pull) {
  std::shared_ptr<const Payload> rows = history(pull.rank).answer_to(pull.request);
  if (rows == nullptr) return false;
  ++counters_.pulls_repeated;
  pull.reply->answer(rows);
  remember(pull, std::move(rows), nullptr);
  return true;
}

// Keeps the pull if it has a number, by which a push may name it.  Its memory stays taken, and only changes
// its kind.
void PullService::remember(WaitingPull& pull, std::shared_ptr<const Payload> rows,
                           std::shared_ptr<const PulledRows> pulled) {
  if (pull.request.number == 0) return;
  held_.move(pull.held, HeldKind::kPullHistory);
  const auto remembered =
      std::make_shared<RememberedPull>(RememberedPull{std::move(pull.request), std::move(pull.held)});
  history(pull.rank).add({{remembered, &remembered->request}, std::move(rows), std::move(pulled)});
}

// Stops at the first pull that finds no room: a smaller one behind it must not overtake it.
void PullService::answer_starved(uint64_t clock, SliceWork& work) {
  starved_.forget_unwanted();
  while (!busy() && !starved_.empty()) {
    try {
      if (!try_answer(starved_.next(), clock, work)) return;
      starved_.pop();
    } catch (const Error& error) {
      starved_.pop().reply->fail(error);
    }
    starved_since_.reset();
  }
}

void PullService::check(const PullRequest& request) const {
  check_slices(tables_.parameters(), request.row_slices);
  uint64_t bytes = 0;
  for (const RowSlice& slice : request.row_slices) {
    bytes += tables_.bytes_of({&slice, 1}, request.type);
    if (bytes <= kMaxMessageBytes) continue;
    fail(Code::kData, "pull: the answer would have more than ", human_bytes(kMaxMessageBytes));
  }
}

// Returns room for an answer, or nothing.  An answer that is alone is never too long.
std::optional<Buffer> PullService::find_room(uint64_t bytes) {
  if (answers_.bytes_in_use() == 0) return answers_.take(bytes);
  return answers_.try_take(bytes);
}

void PullService::count(const PullRequest& request) {
  ++counters_.pulls;
  for (const RowSlice& slice : request.row_slices) counters_.rows_pulled += slice.rows();
}

void PullService::wait(int rank, PullRequest request, ReplyPtr& reply) {
  const HeldPeer peer = static_cast<HeldPeer>(rank);
  HeldBytes held = held_.take(peer, HeldKind::kPulls, memory_of_pull(request));
  waiting_.push_back({peer, rank, std::move(request), std::move(reply), std::move(held)});
}

void PullService::answer_waiting(const std::function<bool(uint64_t step)>& may_pull, uint64_t clock,
                                 SliceWork& work) {
  for (WaitingPull& pull : std::exchange(waiting_, {})) {
    if (may_pull(pull.request.step)) {
      ready_.push_back(std::move(pull));
    } else {
      waiting_.push_back(std::move(pull));
    }
  }
  go_on(clock, work);
}

// A connection that takes too little is closed before this time is over.
void PullService::check_room(Time now) {
  constexpr Duration kLong = std::chrono::seconds(90);
  if (starved_.empty()) return starved_since_.reset();
  if (!starved_since_) starved_since_ = now;
  if (now - *starved_since_ < kLong) return;
  const Error error(
      Code::kExhausted,
      cat("answers that are not taken use ", human_bytes(answers_.bytes_in_use()),
          ", and leave no room for more; give ps-serve more with --max-memory, or the job more servers"));
  for (WaitingPull& pull : starved_.take_all()) pull.reply->fail(error);
}

void PullService::forget_unwanted() {
  std::erase_if(waiting_, [](const WaitingPull& pull) { return is_unwanted(pull.reply); });
  std::erase_if(ready_, [](const WaitingPull& pull) { return is_unwanted(pull.reply); });
  starved_.forget_unwanted();
  reads_.forget_unwanted();
}

void PullService::release_replies(std::vector<ReplyPtr>& out) {
  for (WaitingPull& pull : std::exchange(waiting_, {})) out.push_back(std::move(pull.reply));
  for (WaitingPull& pull : std::exchange(ready_, {})) out.push_back(std::move(pull.reply));
  if (under_way_) out.push_back(std::move(std::exchange(under_way_, std::nullopt)->pull.reply));
  for (WaitingPull& pull : starved_.take_all()) out.push_back(std::move(pull.reply));
  reads_.release_replies(out);
}

// waiting := waiting:u32 (rank:u32 pull:text)[waiting]
void PullService::save_waiting(std::string& out) const {
  if (!keeps_answers_) return put(out, uint32_t{0});
  std::string pulls;
  uint32_t count = 0;
  const auto save = [&](const WaitingPull& pull) {
    ++count;
    put(pulls, static_cast<uint32_t>(pull.rank));
    put_text(pulls, encode_again(pull.request));
  };
  for (const WaitingPull& pull : waiting_) save(pull);
  starved_.for_each(save);
  put(out, count);
  out += pulls;
}

void PullService::load_waiting(ByteReader& in,
                               const std::function<void(int rank, std::string_view pull)>& tell) {
  for (uint32_t left = in.get<uint32_t>(); left > 0 && in.ok(); --left) {
    const int rank = static_cast<int>(in.get<uint32_t>());
    tell(rank, read_text(in));
  }
}

}  // namespace ps
