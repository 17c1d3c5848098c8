#include "ps/server/gathering.h"

#include <utility>

#include "base/error.h"
#include "ps/server/snapshot_fields.h"
#include "ps/wire/run_messages.h"

namespace ps {

void Gathering::restart(uint64_t number) {
  *this = {};
  number_ = number;
}

std::shared_ptr<const Gathered> Gathering::former(uint64_t number) const {
  const uint64_t behind = number_ - number;
  if ((behind != 1 && behind != 2) || answers_[behind - 1] == nullptr) {
    fail(Code::kData, "gather: number ", number, ", expected ", number_);
  }
  return answers_[behind - 1];
}

bool Gathering::answer_former(const GatherRequest& request, ReplyPtr& reply) const {
  if (request.number == number_) return false;
  const std::shared_ptr<const Gathered> gathered = former(request.number);
  reply->answer(request.rest > 0 ? Payload() : gathered->beginning());
  reply.reset();
  return true;
}

Payload Gathering::former_slice(const GatheredRequest& request) const {
  return former(request.number)->slice(request.first);
}

// The first slice takes the memory of all slices, so that the later ones cannot be refused.  A slice may
// begin before the end of the bytes that are there, since it is sent again after a lost connection; only
// its bytes behind that end are new.  An entry of slices_ stays until give has answered its replies.
std::optional<Gathering::WholeGift> Gathering::add_slice(int rank, const GatherRequest& slice,
                                                         HeldMemory& held) {
  auto found = slices_.find(rank);
  if (found == slices_.end()) {
    if (slice.first > 0) fail(Code::kData, "gather: a slice from ", slice.first, " on, expected the first");
    HeldBytes all =
        held.take(static_cast<HeldPeer>(rank), HeldKind::kGatherings, memory_of_given(slice.size()));
    if (slice.rest == 0) return WholeGift{std::string(slice.bytes), std::move(all)};
    found = slices_.try_emplace(rank).first;
    found->second.size = slice.size();
    found->second.held = std::move(all);
    found->second.bytes.reserve(slice.size());
  }
  Slices& slices = found->second;
  const uint64_t there = slices.bytes.size();
  if (slice.size() != slices.size || slice.first > there) {
    fail(Code::kData, "gather: a slice from ", slice.first, " on of ", slice.size(), " bytes, expected from ",
         there, " on of ", slices.size);
  }
  const uint64_t known = there - slice.first;
  if (slice.bytes.size() > known) slices.bytes += slice.bytes.substr(known);
  if (slices.bytes.size() < slices.size) return std::nullopt;
  return WholeGift{std::move(slices.bytes), std::move(slices.held)};
}

void Gathering::give(int rank, std::string bytes, HeldBytes held) {
  if (given_.try_emplace(rank, std::move(bytes)).second) held_.push_back(std::move(held));
  const auto found = slices_.find(rank);
  if (found == slices_.end()) return;
  for (ReplyPtr& reply : found->second.replies) reply->answer(Payload());
  slices_.erase(found);
}

void Gathering::add_reply(int rank, const GatherRequest& slice, ReplyPtr reply) {
  if (slice.rest == 0) return replies_.push_back(std::move(reply));
  const auto found = slices_.find(rank);
  if (found == slices_.end()) return reply->answer(Payload());
  found->second.replies.push_back(std::move(reply));
}

bool Gathering::has_given_end(int rank) const {
  auto found = given_.find(rank);
  return found != given_.end() && found->second.starts_with(kGatheredAtEnd);
}

// The newer of the two answers becomes the older one, which is freed with its memory.  A rank that was
// given up has an empty string.
void Gathering::finish(size_t num_trainers) {
  std::vector<std::string> all(num_trainers);
  for (auto& [rank, given] : given_) all[static_cast<size_t>(rank)] = std::move(given);
  given_.clear();
  slices_.clear();
  ++number_;
  answers_[1] = std::move(answers_[0]);
  answers_held_[1] = std::move(answers_held_[0]);
  answers_[0] = std::make_shared<const Gathered>(std::move(all));
  answers_held_[0] = std::exchange(held_, {});
  for (ReplyPtr& reply : std::exchange(replies_, {})) reply->answer(answers_[0]->beginning());
}

size_t Gathering::num_waiting() const {
  size_t waiting = replies_.size();
  for (const auto& [rank, slices] : slices_) waiting += slices.replies.size();
  return waiting;
}

void Gathering::forget_unwanted() {
  std::erase_if(replies_, is_unwanted);
  for (auto& [rank, slices] : slices_) std::erase_if(slices.replies, is_unwanted);
}

void Gathering::release_replies(std::vector<ReplyPtr>& out) {
  for (ReplyPtr& reply : std::exchange(replies_, {})) out.push_back(std::move(reply));
  for (auto& [rank, slices] : slices_) {
    for (ReplyPtr& reply : std::exchange(slices.replies, {})) out.push_back(std::move(reply));
  }
}

// gathering := number:u64 last:text before:text given:u32 (rank:u32 text)[given]
// Slices without an answer are not saved, since they are sent again.
void Gathering::save(std::string& out) const {
  put(out, number_);
  for (const auto& answer : answers_) put_text(out, answer != nullptr ? encode_gathered(answer->all()) : "");
  put(out, static_cast<uint32_t>(given_.size()));
  for (const auto& [rank, given] : given_) {
    put(out, static_cast<uint32_t>(rank));
    put_text(out, given);
  }
}

// Loads what save has written.  The memory of the answers counts for the whole run, and not for the ranks
// that gave the bytes.
void Gathering::load(ByteReader& in, HeldMemory& held) {
  restart(in.get<uint64_t>());
  for (size_t i = 0; i < answers_.size(); ++i) {
    const std::string_view text = read_text(in);
    if (text.empty()) continue;
    answers_held_[i].push_back(held.take(kWholeRun, HeldKind::kGatherings, memory_of_given(text.size())));
    answers_[i] = std::make_shared<const Gathered>(decode_gathered(bytes_of(text)));
  }
  for (uint32_t left = in.get<uint32_t>(); left > 0 && in.ok(); --left) {
    const uint32_t rank = in.get<uint32_t>();
    const std::string_view text = read_text(in);
    give(static_cast<int>(rank), std::string(text),
         held.take(rank, HeldKind::kGatherings, memory_of_given(text.size())));
  }
}

bool Gathering::is_of(size_t num_trainers) const {
  return given_.empty() ||
         (given_.begin()->first >= 0 && static_cast<size_t>(given_.rbegin()->first) < num_trainers);
}

}  // namespace ps
