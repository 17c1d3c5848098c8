#include "ps/server/shard_snapshot.h"

#include <algorithm>

#include "base/error.h"
#include "ps/server/shard.h"
#include "ps/server/shard_state.h"

namespace ps {

namespace {

std::string encode_again(std::span<const RowSlice> parts) {
  std::string out;
  for (const RowSlice& part : parts) {
    if (!part.by_keys) {
      encode_range_part(part.parameter, part.first, part.count, part.exact, out);
    } else if (part.counts.empty()) {
      encode_key_part(part.parameter, part.keys, out);
    } else {
      encode_counted_part(part.parameter, part.keys, part.counts, out);
    }
  }
  return out;
}

uint32_t count_of(std::span<const RowSlice> parts) {
  return static_cast<uint32_t>(parts.size());
}

std::string_view text_of(const Payload& payload) {
  return {payload.head.data(), payload.head.size()};
}

constexpr uint8_t kEnded = 1, kGivenUp = 2, kWasGivenUp = 4, kMarked = 8,
                  kKnowsKept = 16;  // on disk: never renumber

}  // namespace

std::string encode_again(const PullRequest& request) {
  return encode_pull(request, count_of(request.parts), encode_again(std::span(request.parts)));
}

std::string encode_again(const PushRequest& request, Widths widths) {
  PS_CHECK(request.type == RowType::kF32);
  PushHeader header = request;
  header.pulled = 0;
  std::string out = encode_push(header, count_of(request.parts), encode_again(std::span(request.parts)));
  for (const RowSlice& part : request.parts) {
    const size_t floats = part.rows() * static_cast<size_t>(widths[part.parameter]);
    put_array(out, std::span(request.floats(part), floats));
    out.resize(padded(out.size()), '\0');
  }
  return out;
}

void put_text(std::string& out, std::string_view text) {
  put(out, static_cast<uint64_t>(text.size()));
  out += text;
}

std::string_view take_text(ByteReader& in) {
  const uint64_t size = in.get<uint64_t>();
  if (!in.has(size)) fail(Code::kCorrupt, "the image of a shard is cut short");
  return in.get_bytes(size);
}

Buffer to_buffer(BufferPool& pool, std::string_view bytes) {
  Buffer buffer = pool.take(bytes.size());
  std::copy(bytes.begin(), bytes.end(), buffer.data());
  return buffer;
}

// image := run:u64 clock:u64 pass:u64 cut_at:u64 steps:u64 going:u8 marks:u8 rule
//          gathered:u64 last:text given:u32 (rank:u32 text)[given]
//          trainers:u32 trainer[trainers] waiting:u32 (rank:u32 pull:text)[waiting]
std::string Shard::save_snapshot() const {
  std::string out;
  for (uint64_t number : {run_, clock_, pass_, cut_at_, counters_.steps}) put(out, number);
  for (bool flag : {going_, marks_}) put(out, static_cast<uint8_t>(flag));
  rule_.save(out);
  put(out, gathering_->number);
  for (const std::string& answer : gathering_->answers) put_text(out, answer);
  put(out, static_cast<uint32_t>(gathering_->given.size()));
  for (const auto& [rank, given] : gathering_->given) {
    put(out, static_cast<uint32_t>(rank));
    put_text(out, given);
  }
  put(out, static_cast<uint32_t>(trainers_.size()));
  for (const Trainer& trainer : trainers_) save_trainer(trainer, out);
  // Their answers may have to be given again: see former_answer.
  put(out, static_cast<uint32_t>(keeps_pulls_ ? waiting_pulls_.size() : 0));
  for (const WaitingPull& pull : waiting_pulls_) {
    if (!keeps_pulls_) break;
    put(out, static_cast<uint32_t>(pull.rank));
    put_text(out, encode_again(pull.request));
  }
  return out;
}

// trainer := generation:u64 next_step:u64 batches:u64 pass_batches:u64 pulled_at:u64 mark_at:u64
//            state_batches:u64 flags:u8 state:text former:u32 text[former]
//            done:u32 text[done] pieces:u32 push:text[pieces] pulls:u32 answered[pulls]
//            kept:u32 text[kept], if a flag says so
// answered := former:u8 pull:text rows:text
//
// Of the pulls, those whose answer may have to be given again.
void Shard::save_trainer(const Trainer& trainer, std::string& out) const {
  for (uint64_t number : {trainer.generation, trainer.next_step, trainer.batches, trainer.pass_batches,
                          trainer.pulled_at, trainer.mark_at, trainer.state_batches}) {
    put(out, number);
  }
  put(out, static_cast<uint8_t>((trainer.ended ? kEnded : 0) | (trainer.given_up ? kGivenUp : 0) |
                                (trainer.was_given_up ? kWasGivenUp : 0) | (trainer.marked ? kMarked : 0) |
                                (trainer.knows_kept() ? kKnowsKept : 0)));
  put_text(out, trainer.state);
  put(out, static_cast<uint32_t>(trainer.former_states.size()));
  for (const std::string& state : trainer.former_states) put_text(out, state);
  put(out, static_cast<uint32_t>(trainer.done.size()));
  for (const Done& done : trainer.done) put_text(out, encode_done(done));
  std::vector<std::string> texts;
  for (const auto& [step, push] : trainer.pushes) {
    for (const auto& [piece, request] : push.pieces) texts.push_back(encode_again(request, widths()));
  }
  put(out, static_cast<uint32_t>(texts.size()));
  for (const std::string& text : texts) put_text(out, text);
  uint32_t count = 0;
  std::string pulls;
  auto add = [&](const AnsweredPull& pull, bool former) {
    if (!pull.rows) return;
    ++count;
    put(pulls, static_cast<uint8_t>(former));
    put_text(pulls, encode_again(*pull.request));
    put_text(pulls, text_of(*pull.rows));
  };
  for (const auto& [number, pull] : trainer.pulls) add(pull, false);
  for (const AnsweredPull& pull : trainer.former_pulls) add(pull, true);
  put(out, count);
  out += pulls;
  if (!trainer.knows_kept()) return;
  put(out, static_cast<uint32_t>(trainer.kept.size()));
  for (const auto& piece : trainer.kept) put_text(out, *piece);
}

// What follows at once is held, as an event is.
void Shard::load_snapshot(std::string_view image) {
  ByteReader in(image);
  for (uint64_t* number : {&run_, &clock_, &pass_, &cut_at_, &counters_.steps}) *number = in.get<uint64_t>();
  for (bool* flag : {&going_, &marks_}) *flag = in.get<uint8_t>() != 0;
  rule_.load(in);
  *gathering_ = {};
  gathering_->number = in.get<uint64_t>();
  for (std::string& answer : gathering_->answers) answer = take_text(in);
  for (uint32_t left = in.get<uint32_t>(); left > 0 && in.ok(); --left) {
    const int rank = static_cast<int>(in.get<uint32_t>());
    gathering_->given[rank] = take_text(in);
  }
  trainers_.clear();
  const uint32_t num_trainers = in.get<uint32_t>();
  if (!in.has(num_trainers)) fail(Code::kCorrupt, "the image of a shard is cut short");
  trainers_.resize(num_trainers);
  for (size_t rank = 0; rank < trainers_.size(); ++rank) {
    trainers_[rank].rank = static_cast<int>(rank);
    load_trainer(in, trainers_[rank]);
  }
  for (uint32_t left = in.get<uint32_t>(); left > 0 && in.ok(); --left) {
    const int rank = static_cast<int>(in.get<uint32_t>());
    make_again(ShardEvent::kPull, rank, take_text(in), Time());
  }
  if (!in.ok() || in.remaining() > 0) fail(Code::kCorrupt, "the image of a shard has another length");
  restored_.reset();
  restored_states_.clear();
  restored_kept_.clear();
  held_event_ = std::make_unique<HeldEvent>(HeldEvent{ShardEvent::kCut, 0, "", {}});
}

void Shard::load_trainer(ByteReader& in, Trainer& trainer) {
  for (uint64_t* number : {&trainer.generation, &trainer.next_step, &trainer.batches, &trainer.pass_batches,
                           &trainer.pulled_at, &trainer.mark_at, &trainer.state_batches}) {
    *number = in.get<uint64_t>();
  }
  const uint8_t flags = in.get<uint8_t>();
  trainer.ended = (flags & kEnded) != 0;
  trainer.given_up = (flags & kGivenUp) != 0;
  trainer.was_given_up = (flags & kWasGivenUp) != 0;
  trainer.marked = (flags & kMarked) != 0;
  trainer.state = take_text(in);
  for (uint32_t left = in.get<uint32_t>(); left > 0 && in.ok(); --left) {
    trainer.former_states.emplace_back(take_text(in));
  }
  for (uint32_t left = in.get<uint32_t>(); left > 0 && in.ok(); --left) {
    const std::string_view done = take_text(in);
    trainer.done.push_back(decode_done({done.data(), done.size()}));
  }
  for (uint32_t left = in.get<uint32_t>(); left > 0 && in.ok(); --left) {
    PushRequest request = decode_push(to_buffer(held_, take_text(in)), widths());
    tables_.check_gradients(request.parts);
    Push& push = pending_push(trainer, request);
    push.pieces.try_emplace(request.piece, std::move(request));
  }
  for (uint32_t left = in.get<uint32_t>(); left > 0 && in.ok(); --left) {
    const bool former = in.get<uint8_t>() != 0;
    const std::string_view request = take_text(in);
    auto decoded = std::make_shared<const PullRequest>(decode_pull({request.data(), request.size()}));
    AnsweredPull pull{std::move(decoded), nullptr};
    pull.rows = std::make_shared<const Payload>(to_buffer(answers_, take_text(in)));
    if (former) {
      trainer.former_pulls.push_back(std::move(pull));
    } else {
      trainer.remember(std::move(pull));
    }
  }
  trainer.kept_batches.reset();
  if ((flags & kKnowsKept) == 0) return;
  trainer.kept_batches = trainer.batches;
  for (uint32_t left = in.get<uint32_t>(); left > 0 && in.ok(); --left) {
    trainer.kept.push_back(std::make_shared<const std::string>(take_text(in)));
  }
}

}  // namespace ps
