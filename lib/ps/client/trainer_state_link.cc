#include "ps/client/trainer_state_link.h"

#include <algorithm>

#include "base/error.h"

namespace ps {

namespace {

// Chunks that are on their way to shards, of about 8 MiB each: enough to keep a network busy.
constexpr size_t kMostOnTheirWay = 4;

constexpr uint32_t kNoChunk = UINT32_MAX;  // asks how many there are

bool is_of(const KeptPiece& kept, uint64_t batches) {
  return kept.known && kept.batches == batches;
}

}  // namespace

size_t ToldState::num_chunks() const {
  size_t count = 0;
  for (const auto& source : sources) count += source->size();
  return count;
}

std::string ToldState::encode(size_t chunk) const {
  auto source = sources.begin();
  for (; chunk >= (*source)->size(); ++source) chunk -= (*source)->size();
  return (*source)->encode(chunk);
}

// Chunk n goes to shard (rank + n) % num_shards: every num_shards-th is the shard's, from `first` on.
size_t ToldState::num_messages(size_t shard) const {
  const size_t first = (shard + num_shards_ - rank_ % num_shards_) % num_shards_;
  const size_t chunks = sources.empty() ? 0 : (num_chunks() + num_shards_ - 1 - first) / num_shards_ + 1;
  return chunks + (text && shard == 0 ? 1 : 0);
}

TrainerStateLink::TrainerStateLink(ShardLinks& links, Residuals& residuals, TrainerState* own,
                                   const RowTypes& types, int rank)
    : links_(links),
      residuals_(residuals),
      own_(own),
      chunk_bytes_(types.kept_piece_bytes),
      rank_(static_cast<size_t>(rank)) {}

ToldState TrainerStateLink::next(bool cut, bool ended) {
  ToldState told(rank_, links_.size());
  if (!run_status().checkpointed) return told;
  const bool was_told = ended && told_;
  told_ = cut || ended;
  if (!told_ || was_told) return told;
  told.text = save_text_ != nullptr;
  if (residuals_.used()) told.sources.push_back(residuals_.chunks());
  if (own_ != nullptr) told.sources.push_back(own_->pieces(chunk_bytes_));
  return told;
}

// Chunks are made when there is room for them on the way; the last message, which is answered with the step, is
// small.  A text that is too long is left out.
void TrainerStateLink::tell(const ToldState& told, std::span<PushHeader> headers, const Send& send) {
  for (PushHeader& header : headers) header.type = RowType::kF32;
  for (size_t n = 0; n < told.num_chunks(); ++n) {
    links_.wait([this] { return on_their_way_ < kMostOnTheirWay; });
    ++on_their_way_;
    const size_t shard = told.shard_of(n);
    send_chunk(shard, headers[shard], told.encode(n), send, [this] { --on_their_way_; });
  }
  for (size_t s = 0; s < headers.size() && !told.sources.empty(); ++s) {
    send_chunk(s, headers[s], "", send, [] {});
  }
  if (!told.text) return;
  save_text_(headers[0].state);
  if (headers[0].state.size() > kMaxMessageBytes / 2) headers[0].state.clear();
  send(0, headers[0], [] {});
}

// An empty chunk says that a shard has been told all.
void TrainerStateLink::send_chunk(size_t shard, PushHeader& header, std::string chunk, const Send& send,
                                  std::function<void()> on_answer) {
  header.kept = std::move(chunk);
  send(shard, header, std::move(on_answer));
  header.kept.reset();
  ++header.piece;
}

// Chunks are lost when the process before has pushed more since it told them.
void TrainerStateLink::take_up(uint64_t batches, bool given_up, const Consistency& consistency) {
  if ((!residuals_.used() && own_ == nullptr) || !run_status().checkpointed) return;
  Frame frame;
  bool known = true;
  for (size_t s = 0; s < links_.size() && known; ++s) known = is_of(ask(s, kNoChunk, frame), batches);
  if (!known) return check_not_missed(given_up, consistency);
  for (size_t s = 0; s < links_.size(); ++s) take_of(s, batches);
  if (own_ != nullptr) own_->end_taking(batches);
}

void TrainerStateLink::check_not_missed(bool given_up, const Consistency& consistency) const {
  if (given_up) return;
  if (residuals_.used() && !consistency.async && consistency.staleness == 0) {
    throw StateLost(run_status().run, /*checkpointed=*/true,
                    "what rounding had taken from gradients was lost with the process before this one");
  }
  if (own_ != nullptr && own_->matters()) {
    throw StateLost(run_status().run, /*checkpointed=*/true,
                    "the state of the optimizer was lost with the process before this one");
  }
}

// The chunk stays in the frame.
KeptPiece TrainerStateLink::ask(size_t shard, uint32_t number, Frame& frame) {
  frame = links_.call(shard, Message::kKeptPiece, Payload(encode_kept_request(number)));
  return decode_kept_piece(frame.body.bytes());
}

void TrainerStateLink::take_of(size_t shard, uint64_t batches) {
  Frame frame;
  const uint32_t num_chunks = ask(shard, kNoChunk, frame).num_pieces;
  for (uint32_t number = 0; number < num_chunks; ++number) {
    const KeptPiece kept = ask(shard, number, frame);
    if (!is_of(kept, batches) || kept.piece.empty())
      fail(Code::kData, "a server has lost what it had told of");
    take(kept.piece);
  }
}

// Chunks that a job of another kind had told are of no use.
void TrainerStateLink::take(std::string_view chunk) {
  if (static_cast<StateChunkKind>(chunk[0]) != StateChunkKind::kErrors) {
    if (own_ != nullptr) own_->take(chunk);
  } else if (residuals_.used()) {
    residuals_.take(chunk);
  }
}

}  // namespace ps
