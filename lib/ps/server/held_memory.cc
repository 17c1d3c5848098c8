#include "ps/server/held_memory.h"

#include "base/error.h"
#include "ps/server/shard_tables.h"

namespace ps {

HeldBytes::~HeldBytes() {
  if (ledger_ != nullptr) ledger_->give_back(peer_, kind_, bytes_);
}

// Returns true if `bytes` more may be used.  Subtracting cannot overflow, while a sum of sizes that peers
// name could.
static bool fits(uint64_t bytes, uint64_t used, uint64_t most) {
  return used <= most && bytes <= most - used;
}

bool HeldMemory::has_room(HeldPeer peer, uint64_t bytes) const {
  if (unlimited_) return true;
  if (peer >= kFirstReader && !fits(bytes, readers_, max_bytes_ / 4)) return false;
  return fits(bytes, bytes_in_use(), max_bytes_);
}

HeldBytes HeldMemory::take(HeldPeer peer, HeldKind kind, uint64_t bytes) {
  if (!has_room(peer, bytes)) refuse(bytes);
  return add(peer, kind, bytes);
}

HeldBytes HeldMemory::add(HeldPeer peer, HeldKind kind, uint64_t bytes) {
  if (bytes > 0) peers_[peer] += bytes;
  kinds_[static_cast<size_t>(kind)] += bytes;
  taken_ += bytes;
  if (peer >= kFirstReader) readers_ += bytes;
  return {*this, peer, kind, bytes};
}

static constexpr uint64_t kTrainerBytes = 2 << 10;

void HeldMemory::check_trainers(size_t num_trainers) {
  if (!unlimited_ && !fits(num_trainers * kTrainerBytes, 0, max_bytes_)) refuse(num_trainers * kTrainerBytes);
}

HeldBytes HeldMemory::take_trainers(size_t num_trainers) {
  return add(kWholeRun, HeldKind::kTrainers, num_trainers * kTrainerBytes);
}

void HeldMemory::move(HeldBytes& held, HeldKind kind) {
  if (held.ledger_ == nullptr) return;
  kinds_[static_cast<size_t>(held.kind_)] -= held.bytes_;
  kinds_[static_cast<size_t>(kind)] += held.bytes_;
  held.kind_ = kind;
}

void HeldMemory::give_back(HeldPeer peer, HeldKind kind, uint64_t bytes) {
  if (bytes == 0) return;
  const auto account = peers_.find(peer);
  account->second -= bytes;
  if (account->second == 0) peers_.erase(account);
  kinds_[static_cast<size_t>(kind)] -= bytes;
  taken_ -= bytes;
  if (peer >= kFirstReader) readers_ -= bytes;
}

uint64_t HeldMemory::bytes_of(HeldPeer peer) const {
  const auto account = peers_.find(peer);
  return account == peers_.end() ? 0 : account->second;
}

void HeldMemory::describe(std::vector<HeldStatus>& kinds) const {
  constexpr std::array<const char*, kNumHeldKinds> kNames = {
      "waiting pulls",      "pushes", "remembered pulls", "gatherings", "trainers", "deferred requests",
      "checkpoint requests"};
  for (size_t kind = 0; kind < kNumHeldKinds; ++kind) kinds.push_back({kNames[kind], kinds_[kind]});
  kinds.push_back({"pushed rows", pool_.bytes_in_use()});
  kinds.push_back({"state chunks", chunk_bytes_});
}

void HeldMemory::refuse(uint64_t bytes, uint64_t chunk_bytes) {
  ++counters_.refused_for_memory;
  fail(Code::kExhausted, "what waits for other trainers takes ", human_bytes(bytes_in_use() + chunk_bytes),
       " already, and has no room for ", human_bytes(bytes),
       " more; give ps-serve more with --max-memory, or the job more servers");
}

uint64_t memory_of(std::span<const RowSlice> slices) {
  uint64_t bytes = 0;
  for (const RowSlice& slice : slices) {
    bytes += sizeof(RowSlice) + slice.keys.size() * sizeof(uint64_t) + slice.counts.size() * sizeof(KeyCount);
  }
  return bytes;
}

uint64_t memory_of_pull(const PullRequest& request) {
  constexpr uint64_t kListed = 512;
  uint64_t rows = 0;
  for (const RowSlice& slice : request.row_slices) rows += slice.keys.size();
  return kListed + memory_of(request.row_slices) + rows * sizeof(float*) +
         request.row_slices.size() * sizeof(RowPointers);
}

uint64_t memory_of_push(const PushRequest& request) {
  constexpr uint64_t kListed = 512;
  const uint64_t keys = request.pulled == 0 ? memory_of(request.row_slices) : 0;
  return kListed + request.rows_at.size() * sizeof(size_t) + keys;
}

}  // namespace ps
