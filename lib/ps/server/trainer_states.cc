#include "ps/server/trainer_states.h"

#include <utility>

#include "base/error.h"
#include "ps/wire/protocol.h"

namespace ps {

namespace {

constexpr std::string_view kChunkPrefix = "kept/";  // on disk: kept/RANK/SHARD/CHUNK

std::string state_name(size_t rank) {  // on disk
  return cat("trainer-", rank);
}

// The rank in the name of a state chunk; nothing when it is the name of another state.
std::optional<uint64_t> rank_of_chunk(std::string_view name) {
  if (!name.starts_with(kChunkPrefix)) return std::nullopt;
  name.remove_prefix(kChunkPrefix.size());
  const std::optional<int64_t> rank = parse_int(name.substr(0, name.find('/')));
  return rank && *rank >= 0 ? std::optional(static_cast<uint64_t>(*rank)) : std::nullopt;
}

struct ToldChunks {
  bool told = false;
  TrainerStateChunks chunks;
};

ToldChunks take_chunks(PendingPush& push) {
  ToldChunks taken;
  for (auto& [number, slice] : push.slices) {
    if (!slice.kept) continue;
    taken.told = true;
    if (!slice.kept->empty()) taken.chunks.push_back(std::make_shared<std::string>(std::move(*slice.kept)));
    slice.kept.reset();
  }
  return taken;
}

}  // namespace

bool TrainerStates::take(PendingPush& push, uint64_t batches) {
  StoredTrainerState& trainer = of(push.rank);
  std::string& state = push.slices.rbegin()->second.state;
  if (!state.empty()) {
    trainer.state = std::exchange(state, "");
    trainer.state_batches = batches;
    trainer.state_held = std::move(push.state_held);
  }
  ToldChunks taken = take_chunks(push);
  if (!taken.told && push.ended) return false;
  const bool had_some = !trainer.chunks.empty();
  trainer.chunks = std::move(taken.chunks);
  trainer.knows_chunks = taken.told;
  return had_some;
}

uint64_t TrainerStates::chunk_bytes() const {
  uint64_t bytes = 0;
  for (const StoredTrainerState& trainer : trainers_) {
    for (const auto& chunk : trainer.chunks) bytes += chunk->size();
  }
  return bytes;
}

void TrainerStates::add_state(int rank, uint64_t batches, std::map<std::string, std::string>& states) const {
  const StoredTrainerState& trainer = of(rank);
  if (trainer.state.empty() || trainer.state_batches != batches) return;
  states[state_name(static_cast<size_t>(rank))] = trainer.state;
}

SharedStates TrainerStates::chunk_states(const ShardPlace& place) const {
  SharedStates states;
  const std::string shard = place_name(place);
  for (size_t rank = 0; rank < trainers_.size(); ++rank) {
    const StoredTrainerState& trainer = trainers_[rank];
    if (!trainer.knows_chunks) continue;
    for (size_t i = 0; i < trainer.chunks.size(); ++i) {
      states[cat(kChunkPrefix, rank, "/", shard, "/", i)] = trainer.chunks[i];
    }
  }
  return states;
}

Payload TrainerStates::former_states(int rank) const {
  return Payload(encode_gathered(of(rank).former_states));
}

Payload TrainerStates::chunk(int rank, uint64_t batches, uint32_t number) const {
  const StoredTrainerState& trainer = of(rank);
  KeptPiece answer{.known = trainer.knows_chunks, .batches = batches};
  if (!answer.known) return Payload(encode_kept_piece(answer));
  answer.num_pieces = static_cast<uint32_t>(trainer.chunks.size());
  Payload payload(encode_kept_piece(answer));
  if (number < answer.num_pieces) {
    const std::shared_ptr<const std::string>& chunk = trainer.chunks[number];
    payload.parts.push_back({chunk->data(), chunk->size()});
    payload.keep = std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(
        std::move(payload.keep), chunk);
  }
  return payload;
}

void TrainerStates::restore(const CheckpointReader& reader, size_t num_trainers, const ShardPlace& place) {
  restored_states_.assign(num_trainers, "");
  for (size_t rank = 0; rank < num_trainers; ++rank) {
    if (reader.has_state(state_name(rank))) restored_states_[rank] = reader.state(state_name(rank));
  }
  restore_chunks(reader, place);
}

// The chunks are dealt over the shards that there are now: their trainers ask all of these.
void TrainerStates::restore_chunks(const CheckpointReader& reader, const ShardPlace& place) {
  const bool by_dense = place.num_dense >= place.num_sparse;
  const int own = by_dense ? place.dense : place.sparse,
            shards = by_dense ? place.num_dense : place.num_sparse;
  restored_chunks_.assign(restored_states_.size(), {});
  int next = 0;
  for (const std::string& name : reader.states()) {
    const std::optional<uint64_t> rank = rank_of_chunk(name);
    if (!rank || *rank >= restored_chunks_.size() || next++ % shards != own) continue;
    restored_chunks_[*rank].push_back(std::make_shared<const std::string>(reader.state(name)));
  }
}

void TrainerStates::resume(const RunState& run) {
  const bool same = restored_states_.size() == trainers_.size();
  if (!same) give_to_all();
  for (size_t rank = 0; rank < restored_states_.size(); ++rank) {
    StoredTrainerState& trainer = trainers_[rank % trainers_.size()];
    if (same) trainer.chunks = std::move(restored_chunks_[rank]);
    if (restored_states_[rank].empty()) continue;
    if (same) trainer.state = restored_states_[rank], trainer.state_batches = run.trainers[rank].batches;
    trainer.former_states.push_back(std::move(restored_states_[rank]));
  }
  forget_restored();
}

// Trainers of another number have no more than this in common with those that there were.
void TrainerStates::give_to_all() {
  for (const TrainerStateChunks& chunks : restored_chunks_) {
    for (const auto& chunk : chunks) {
      if (!is_for_all(*chunk)) continue;
      for (StoredTrainerState& trainer : trainers_) trainer.chunks.push_back(chunk);
    }
  }
}

void TrainerStates::forget_restored() {
  restored_states_.clear();
  restored_chunks_.clear();
}

}  // namespace ps
