#include "ps/server/trainer_states.h"

#include <utility>

#include "base/error.h"
#include "ps/wire/run_messages.h"

namespace ps {

namespace {

constexpr std::string_view kChunkPrefix = "chunk/";  // on disk: chunk/RANK/SHARD/NUMBER

// Returns the rank in the name of a state chunk; nothing if it is the name of another state.
std::optional<uint64_t> rank_of_chunk(std::string_view name) {
  if (!name.starts_with(kChunkPrefix)) return std::nullopt;
  name.remove_prefix(kChunkPrefix.size());
  const std::optional<int64_t> rank = parse_int(name.substr(0, name.find('/')));
  return rank && *rank >= 0 ? std::optional(static_cast<uint64_t>(*rank)) : std::nullopt;
}

struct PushedChunks {
  bool any = false;  // the push has chunks; the last of them is empty
  TrainerStateChunks chunks;
};

// Moves the chunks out of the slices of a push, in the order of slices.
PushedChunks extract_chunks(PendingPush& push) {
  PushedChunks pushed;
  for (auto& [number, slice] : push.slices) {
    if (!slice.chunk) continue;
    pushed.any = true;
    if (!slice.chunk->empty())
      pushed.chunks.push_back(std::make_shared<std::string>(std::move(*slice.chunk)));
    slice.chunk.reset();
  }
  return pushed;
}

}  // namespace

// A push without any chunk makes the state unknown, unless it only says that the data have ended: then no
// batch was done, and the earlier chunks still hold.
bool TrainerStates::store(PendingPush& push) {
  StoredTrainerState& trainer = of(push.rank);
  if (push.checkpoint || push.ended) trainer.has_rows = false;
  PushedChunks pushed = extract_chunks(push);
  if (!pushed.any && push.ended) return false;
  const bool had_some = !trainer.chunks.empty();
  trainer.chunks = std::move(pushed.chunks);
  trainer.knows_chunks = pushed.any;
  trainer.sender = push.generation;
  return had_some;
}

uint64_t TrainerStates::chunk_bytes() const {
  uint64_t bytes = 0;
  for (const StoredTrainerState& trainer : trainers_) {
    for (const auto& chunk : trainer.chunks) bytes += chunk->size();
  }
  return bytes;
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

// The chunk is not copied: the payload points to it, and keeps it as long as its own head.
Payload TrainerStates::chunk(int rank, uint64_t batches, uint32_t number) const {
  const StoredTrainerState& trainer = of(rank);
  StateChunkAnswer answer{.known = trainer.knows_chunks, .batches = batches, .sender = trainer.sender};
  if (!answer.known) return Payload(encode_chunk_answer(answer));
  answer.num_chunks = static_cast<uint32_t>(trainer.chunks.size());
  Payload payload(encode_chunk_answer(answer));
  if (number < answer.num_chunks) {
    const std::shared_ptr<const std::string>& chunk = trainer.chunks[number];
    payload.parts.push_back({chunk->data(), chunk->size()});
    payload.keep = std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(
        std::move(payload.keep), chunk);
  }
  return payload;
}

// Divides the chunks among the shards that there are now, all of which their trainers ask.
void TrainerStates::restore(const CheckpointReader& reader, size_t num_trainers, const ShardPlace& place) {
  const bool by_dense = place.num_dense >= place.num_sparse;
  const int own = by_dense ? place.dense : place.sparse,
            shards = by_dense ? place.num_dense : place.num_sparse;
  restored_.assign(num_trainers, {});
  int next = 0;
  for (const std::string& name : reader.states()) {
    const std::optional<uint64_t> rank = rank_of_chunk(name);
    if (!rank || *rank >= num_trainers || next++ % shards != own) continue;
    restored_[*rank].push_back(std::make_shared<const std::string>(reader.state(name)));
  }
}

void TrainerStates::resume() {
  const bool same = restored_.size() == trainers_.size();
  for (size_t rank = 0; rank < restored_.size(); ++rank) {
    if (same) {
      trainers_[rank].chunks = std::move(restored_[rank]);
      continue;
    }
    for (const auto& chunk : restored_[rank]) deal(rank, chunk);
  }
  forget_restored();
}

// Deals a chunk when the number of trainers has changed.  Only two kinds of chunks are then of use: each
// trainer gets all schedules, and the figures of the ranks whose place it takes.
void TrainerStates::deal(size_t former_rank, const std::shared_ptr<const std::string>& chunk) {
  if (is_of_kind(*chunk, StateChunkKind::kSchedule)) {
    for (StoredTrainerState& trainer : trainers_) trainer.chunks.push_back(chunk);
  } else if (is_of_kind(*chunk, StateChunkKind::kFigures)) {
    trainers_[former_rank % trainers_.size()].chunks.push_back(chunk);
  }
}

}  // namespace ps
