#include "table/counted_keys.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.h"

namespace ps {

namespace {

uint16_t sum(uint32_t a, uint32_t b) {
  return static_cast<uint16_t>(std::min(uint64_t{a} + b, uint64_t{CountedKeys::kMost}));
}

}  // namespace

// Returns the slot of the key, or the free slot where it would be inserted.
size_t CountedKeys::slot_of(uint64_t key) const {
  size_t slot = home(key);
  while (counts_[slot].shows != 0 && keys_[slot] != key) slot = after(slot);
  return slot;
}

// The slots double when more than 3/4 of them would be in use, and this comes before the search, which
// needs a free slot to end.
KeyCount CountedKeys::add(uint64_t key, const KeyCount& count) {
  constexpr size_t kFewest = 16;
  PS_CHECK(count.shows > 0);
  if ((size_ + 1) * 4 > keys_.size() * 3) resize(std::max(kFewest, keys_.size() * 2));
  const size_t slot = slot_of(key);
  Count& known = counts_[slot];
  size_ += known.shows == 0;
  keys_[slot] = key;
  known = {sum(known.shows, count.shows), sum(known.clicks, count.clicks)};
  return {known.shows, known.clicks};
}

// Linear probing must not have gaps: each key behind the removed one moves into the gap, unless its home slot
// lies behind the gap.  Then the slot that it left is the new gap.
void CountedKeys::remove(uint64_t key) {
  size_t gap = slot_of(key);
  PS_CHECK(counts_[gap].shows != 0);
  for (size_t slot = after(gap); counts_[slot].shows != 0; slot = after(slot)) {
    const size_t mask = keys_.size() - 1;
    if (((slot - home(keys_[slot])) & mask) < ((slot - gap) & mask)) continue;
    keys_[gap] = keys_[slot];
    counts_[gap] = counts_[slot];
    gap = slot;
  }
  counts_[gap] = {};
  --size_;
}

// Halving all counts forgets the keys that have occurred once, and keeps the order of the others.  Slots
// that became free would be gaps for linear probing, so the keys are inserted anew at the end.
void CountedKeys::halve_to(uint64_t most) {
  if (size_ <= most) return;
  while (size_ > most) {
    for (Count& count : counts_) {
      if (count.shows == 1) --size_;
      count = {static_cast<uint16_t>(count.shows / 2), static_cast<uint16_t>(count.clicks / 2)};
    }
  }
  resize(std::bit_ceil(size_ * 2 + 1));
}

// Inserts all keys into a new array of so many slots, which must be more than the keys.
void CountedKeys::resize(size_t slots) {
  const std::vector<uint64_t> keys = std::exchange(keys_, std::vector<uint64_t>(slots));
  const std::vector<Count> counts = std::exchange(counts_, std::vector<Count>(slots));
  for (size_t i = 0; i < keys.size(); ++i) {
    if (counts[i].shows == 0) continue;
    const size_t slot = slot_of(keys[i]);
    keys_[slot] = keys[i];
    counts_[slot] = counts[i];
  }
}

// size:u64 {key:u64 shows:u16 clicks:u16}[size]
void CountedKeys::save(std::string& out) const {
  std::vector<size_t> slots;
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (counts_[i].shows != 0) slots.push_back(i);
  }
  std::ranges::sort(slots, {}, [this](size_t slot) { return keys_[slot]; });
  put(out, size_);
  for (size_t slot : slots) {
    put(out, keys_[slot]);
    put(out, counts_[slot].shows);
    put(out, counts_[slot].clicks);
  }
}

void CountedKeys::load(ByteReader& in) {
  constexpr uint64_t kBytes = sizeof(uint64_t) + 2 * sizeof(uint16_t);
  const uint64_t size = in.get<uint64_t>();
  if (size > in.remaining() / kBytes) fail(Code::kCorrupt, "counts of ", size, " keys are cut short");
  for (uint64_t i = 0; i < size; ++i) {
    const uint64_t key = in.get<uint64_t>();
    const uint16_t shows = in.get<uint16_t>(), clicks = in.get<uint16_t>();
    if (shows == 0) fail(Code::kCorrupt, "key ", key, " is counted, but never occurred");
    add(key, {shows, clicks});
  }
}

}  // namespace ps
