// What a trainer of a remote store alone has: told for the servers' checkpoints, and taken up from the one in
// which a run begins.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "ps/client/remote_state.h"
#include "ps/client/remote_store.h"
#include "ps/client/residual_chunks.h"

namespace ps {

namespace {

// Pieces that are on their way to shards, of about 8 MiB each: enough to keep a network busy.
constexpr size_t kMostOnTheirWay = 4;

constexpr uint32_t kNoPiece = UINT32_MAX;  // asks how many there are

}  // namespace

// With its mark, and, once, when it has no data left: then it may push nothing more before a checkpoint.
RemoteStore::Told RemoteStore::what_to_tell(bool cut, bool ended) {
  Told told{.rank = static_cast<size_t>(rank_), .num_shards = links_.size()};
  if (!run_status().checkpointed) return told;
  const bool was_told = ended && state_told_;
  state_told_ = cut || ended;
  if (!state_told_ || was_told) return told;
  told.state = save_state_ != nullptr;
  if (types_.push != RowType::kF32) told.kept.push_back(error_pieces());
  if (own_ != nullptr) told.kept.push_back(own_->pieces(types_.kept_piece_bytes));
  return told;
}

std::unique_ptr<StateChunkSource> RemoteStore::error_pieces() const {
  auto pieces = std::make_unique<ResidualChunks>(types_.kept_piece_bytes);
  for (size_t p = 0; p < specs_.size(); ++p) {
    const uint32_t parameter = static_cast<uint32_t>(p);
    if (errors_[p].by_key) pieces->add_keyed(parameter, specs_[p].cols, *errors_[p].by_key);
    pieces->add_whole(parameter, specs_[p].cols, errors_[p].whole);
  }
  return pieces;
}

// Behind the rows of the push: then it is in the checkpoint that begins after the step, or in none.  Pieces
// are made when there is room for them on the way; what is answered with the step, the last, is small.  There
// is no state when it were too long.
void RemoteStore::tell(const Told& told, std::span<PushHeader> headers) {
  for (PushHeader& header : headers) header.type = RowType::kF32;
  for (size_t n = 0; n < told.size(); ++n) {
    links_.wait([this] { return kept_on_their_way_ < kMostOnTheirWay; });
    ++kept_on_their_way_;
    const size_t shard = told.shard_of(n);
    send_kept(shard, headers[shard], told.encode(n), [this] { --kept_on_their_way_; });
  }
  for (size_t s = 0; s < headers.size(); ++s) {
    if (!told.kept.empty()) send_kept(s, headers[s], "", [] {});
    if (!told.has_state(s)) continue;
    save_state_(headers[s].state);
    if (headers[s].state.size() > kMaxMessageBytes / 2) headers[s].state.clear();
    send_piece(s, std::exchange(headers[s], {}), nullptr, {});
  }
}

// An empty one says that a shard has been told all.
void RemoteStore::send_kept(size_t shard, PushHeader& header, std::string piece,
                            std::function<void()> on_answer) {
  header.kept = std::move(piece);
  send_piece(shard, header, nullptr, {}, std::move(on_answer));
  header.kept.reset();
  ++header.piece;
}

// Those of the process before, or of the checkpoint in which the run began.  They are lost when that process
// has pushed more since: then a run that would not be the same without them goes back.
void RemoteStore::take_up_kept(bool given_up) {
  const bool has_errors = types_.push != RowType::kF32;
  if ((!has_errors && own_ == nullptr) || !run_status().checkpointed) return;
  Frame frame;
  bool known = true;
  for (size_t s = 0; s < links_.size() && known; ++s) known = is_known(ask_kept(s, kNoPiece, frame));
  if (known) {
    for (size_t s = 0; s < links_.size(); ++s) take_kept_of(s);
    if (own_ != nullptr) own_->end_taking(static_cast<uint64_t>(position_.batches));
    return;
  }
  if (given_up) return;
  if (has_errors && !consistency_.async && consistency_.staleness == 0) {
    throw StateLost(run_status().run, /*checkpointed=*/true,
                    "what rounding had taken from gradients was lost with the process before this one");
  }
  if (own_ != nullptr && own_->matters()) {
    throw StateLost(run_status().run, /*checkpointed=*/true,
                    "the state of the optimizer was lost with the process before this one");
  }
}

// Whether the shard knows them as they are at this process' first step.
bool RemoteStore::is_known(const KeptPiece& kept) const {
  return kept.known && kept.batches == static_cast<uint64_t>(position_.batches);
}

// The piece stays in the frame.
KeptPiece RemoteStore::ask_kept(size_t shard, uint32_t number, Frame& frame) {
  frame = links_.call(shard, Message::kKeptPiece, Payload(encode_kept_request(number)));
  return decode_kept_piece(frame.body.bytes());
}

void RemoteStore::take_kept_of(size_t shard) {
  Frame frame;
  const uint32_t num_pieces = ask_kept(shard, kNoPiece, frame).num_pieces;
  for (uint32_t number = 0; number < num_pieces; ++number) {
    const KeptPiece kept = ask_kept(shard, number, frame);
    if (!is_known(kept) || kept.piece.empty()) fail(Code::kData, "a server has lost what it had told of");
    take_kept(kept.piece);
  }
}

// What a job of another kind had told is of no use.
void RemoteStore::take_kept(std::string_view piece) {
  if (static_cast<StateChunkKind>(piece[0]) != StateChunkKind::kErrors) {
    if (own_ != nullptr) own_->take(piece);
  } else if (types_.push != RowType::kF32) {
    read_error_piece(piece, specs_, [this](uint32_t p, ErrorRows rows, uint64_t key, std::string_view error) {
      put_error_back(p, rows, key, error);
    });
  }
}

}  // namespace ps
