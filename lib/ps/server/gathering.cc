#include "ps/server/gathering.h"

#include <utility>

#include "base/error.h"
#include "ps/server/snapshot_fields.h"
#include "ps/wire/run_messages.h"

namespace ps {

namespace {

// An answer that is not copied for each of those who get it.
Payload payload_of(const std::shared_ptr<const std::string>& answer) {
  Payload payload;
  payload.parts.push_back({answer->data(), answer->size()});
  payload.keep = answer;
  return payload;
}

}  // namespace

void Gathering::restart(uint64_t number) {
  *this = {};
  number_ = number;
}

bool Gathering::answer_former(uint64_t number, ReplyPtr& reply) const {
  if (number == number_) return false;
  const uint64_t behind = number_ - number;
  if ((behind != 1 && behind != 2) || answers_[behind - 1] == nullptr) {
    fail(Code::kData, "gather: number ", number, ", expected ", number_);
  }
  reply->answer(payload_of(answers_[behind - 1]));
  reply.reset();
  return true;
}

bool Gathering::has_given_end(int rank) const {
  auto found = given_.find(rank);
  return found != given_.end() && found->second.starts_with(kGatheredAtEnd);
}

void Gathering::finish(size_t num_trainers) {
  std::vector<std::string> all(num_trainers);
  for (auto& [rank, given] : given_) all[static_cast<size_t>(rank)] = std::move(given);
  given_.clear();
  ++number_;
  answers_[1] = std::move(answers_[0]);
  answers_held_[1] = std::move(answers_held_[0]);
  answers_[0] = std::make_shared<const std::string>(encode_gathered(all));
  answers_held_[0] = std::exchange(held_, {});
  for (ReplyPtr& reply : std::exchange(replies_, {})) reply->answer(payload_of(answers_[0]));
}

void Gathering::take_replies(std::vector<ReplyPtr>& out) {
  for (ReplyPtr& reply : std::exchange(replies_, {})) out.push_back(std::move(reply));
}

// gathering := number:u64 last:text before:text given:u32 (rank:u32 text)[given]
void Gathering::save(std::string& out) const {
  put(out, number_);
  for (const auto& answer : answers_) put_text(out, answer != nullptr ? *answer : "");
  put(out, static_cast<uint32_t>(given_.size()));
  for (const auto& [rank, given] : given_) {
    put(out, static_cast<uint32_t>(rank));
    put_text(out, given);
  }
}

void Gathering::load(ByteReader& in, HeldMemory& held) {
  restart(in.get<uint64_t>());
  for (size_t i = 0; i < answers_.size(); ++i) {
    const std::string_view text = take_text(in);
    if (text.empty()) continue;
    answers_held_[i].push_back(held.take(kWholeRun, HeldKind::kGatherings, memory_of_given(text)));
    answers_[i] = std::make_shared<const std::string>(text);
  }
  for (uint32_t left = in.get<uint32_t>(); left > 0 && in.ok(); --left) {
    const uint32_t rank = in.get<uint32_t>();
    const std::string_view text = take_text(in);
    give(static_cast<int>(rank), std::string(text),
         held.take(rank, HeldKind::kGatherings, memory_of_given(text)));
  }
}

bool Gathering::is_of(size_t num_trainers) const {
  return given_.empty() ||
         (given_.begin()->first >= 0 && static_cast<size_t>(given_.rbegin()->first) < num_trainers);
}

// gather := number:u64 bytes[...]      (ps-wire(5))
std::string encode_gather(uint64_t number, std::string_view bytes) {
  std::string body;
  put(body, number);
  body += bytes;
  return body;
}

GatherRequest decode_gather(std::string_view body) {
  ByteReader in(body);
  GatherRequest request{.number = in.get<uint64_t>(), .bytes = {}};
  if (!in.ok()) fail(Code::kData, "gather: the body is cut short");
  request.bytes = in.get_bytes(in.remaining());
  return request;
}

}  // namespace ps
