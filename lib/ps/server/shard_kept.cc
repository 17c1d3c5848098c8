// What trainers have of their own, in a shard's checkpoints.
#include <utility>

#include "base/error.h"
#include "checkpoint/checkpoint_reader.h"
#include "ps/server/shard.h"
#include "ps/server/shard_state.h"

namespace ps {

namespace {

constexpr std::string_view kPrefix = "kept/";  // on disk

// kept/RANK/SHARD/PIECE
std::optional<uint64_t> rank_of(std::string_view state) {
  if (!state.starts_with(kPrefix)) return std::nullopt;
  state.remove_prefix(kPrefix.size());
  const std::optional<int64_t> rank = parse_int(state.substr(0, state.find('/')));
  return rank && *rank >= 0 ? std::optional(static_cast<uint64_t>(*rank)) : std::nullopt;
}

}  // namespace

// What it pushes makes those that it has told before others, unless it tells.
void Shard::take_kept(Trainer& trainer, Push& push) {
  bool told = false;
  TrainerStateChunks kept;
  for (auto& [number, piece] : push.pieces) {
    if (!piece.kept) continue;
    told = true;
    if (!piece.kept->empty()) kept.push_back(std::make_shared<std::string>(std::move(*piece.kept)));
    piece.kept.reset();
  }
  if (!told && push.ended) return;
  const bool had_some = !trainer.kept.empty();
  trainer.kept = std::move(kept);
  if (had_some) set_aside_kept(0);
  trainer.kept_batches = told ? std::optional(trainer.batches) : std::nullopt;
}

// It comes beside what waits for other trainers, and stays until the trainer's next step; when it is more
// than there is for these, it takes of what tables may use.
void Shard::check_room_for_kept(uint64_t bytes) {
  if (!set_aside_kept(bytes)) refuse_to_hold(bytes);
}

bool Shard::set_aside_kept(uint64_t more) {
  const uint64_t bytes = kept_bytes() + more;
  return memory_.set_aside(held_.fits(held_.bytes_in_use() + bytes) ? 0 : bytes);
}

// Of all trainers.
uint64_t Shard::kept_bytes() const {
  uint64_t bytes = 0;
  for (const Trainer& trainer : trainers_) {
    for (const auto& piece : trainer.kept) bytes += piece->size();
    for (const auto& [step, push] : trainer.pushes) {
      for (const auto& [number, piece] : push.pieces) bytes += piece.kept ? piece.kept->size() : 0;
    }
  }
  return bytes;
}

SharedStates Shard::kept_states() const {
  SharedStates states;
  const std::string place = place_name(tables_.place());
  for (const Trainer& trainer : trainers_) {
    if (!trainer.knows_kept()) continue;
    for (size_t piece = 0; piece < trainer.kept.size(); ++piece) {
      states[cat(kPrefix, trainer.rank, "/", place, "/", piece)] = trainer.kept[piece];
    }
  }
  return states;
}

Payload Shard::kept_piece(int rank, uint32_t number) {
  const Trainer& asking = trainer(rank);
  KeptPiece kept{.known = asking.knows_kept(), .batches = asking.batches};
  if (!kept.known) return Payload(encode_kept_piece(kept));
  kept.num_pieces = static_cast<uint32_t>(asking.kept.size());
  Payload payload(encode_kept_piece(kept));
  if (number < kept.num_pieces) {
    const std::shared_ptr<const std::string>& piece = asking.kept[number];
    payload.parts.push_back({piece->data(), piece->size()});
    payload.keep = std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(
        std::move(payload.keep), piece);
  }
  return payload;
}

// Dealt over the shards that there are now, since those who had told them ask all.
void Shard::restore_kept(const CheckpointReader& reader) {
  const ShardPlace& place = tables_.place();
  const bool by_dense = place.num_dense >= place.num_sparse;
  const int own = by_dense ? place.dense : place.sparse,
            shards = by_dense ? place.num_dense : place.num_sparse;
  restored_kept_.assign(restored_states_.size(), {});
  int next = 0;
  for (const std::string& name : reader.states()) {
    const std::optional<uint64_t> rank = rank_of(name);
    if (!rank || *rank >= restored_kept_.size() || next++ % shards != own) continue;
    restored_kept_[*rank].push_back(std::make_shared<const std::string>(reader.state(name)));
  }
}

// Trainers of another number have no more than this in common with those that there were.
void Shard::give_to_all() {
  for (const TrainerStateChunks& pieces : restored_kept_) {
    for (const auto& piece : pieces) {
      if (!is_for_all(*piece)) continue;
      for (Trainer& trainer : trainers_) trainer.kept.push_back(piece);
    }
  }
}

}  // namespace ps
