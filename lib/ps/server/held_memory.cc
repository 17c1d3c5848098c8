#include "ps/server/held_memory.h"

#include "base/error.h"

namespace ps {

HeldBytes::~HeldBytes() {
  if (ledger_ != nullptr) ledger_->give_back(kind_, bytes_);
}

bool HeldMemory::has_room(uint64_t bytes) const {
  const uint64_t used = bytes_in_use();
  return unlimited_ || (used <= max_bytes_ && bytes <= max_bytes_ - used);
}

HeldBytes HeldMemory::take(HeldKind kind, uint64_t bytes) {
  if (!has_room(bytes)) refuse(bytes);
  accounts_[static_cast<size_t>(kind)] += bytes;
  taken_ += bytes;
  return {*this, kind, bytes};
}

void HeldMemory::move(HeldBytes& held, HeldKind kind) {
  if (held.ledger_ == nullptr) return;
  accounts_[static_cast<size_t>(held.kind_)] -= held.bytes_;
  accounts_[static_cast<size_t>(kind)] += held.bytes_;
  held.kind_ = kind;
}

void HeldMemory::give_back(HeldKind kind, uint64_t bytes) {
  accounts_[static_cast<size_t>(kind)] -= bytes;
  taken_ -= bytes;
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

}  // namespace ps
