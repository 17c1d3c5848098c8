#include "table/key_index.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace ps {

static_assert(sizeof(KeyIndex::Bucket) == 64);

// The share of used slots at which a segment splits.  At 0.85 instead of 0.75, look-ups take 12 % longer,
// since more buckets overflow, and a key takes 2.9 bytes less.
static constexpr double kMaxFill = 0.82;

// The index begins with one segment, which all keys share: its depth is 0, and the directory has one entry.
KeyIndex::KeyIndex(HugeArena& arena, uint32_t num_buckets)
    : arena_(&arena),
      num_buckets_(num_buckets),
      max_keys_(static_cast<uint32_t>(kMaxFill * num_buckets * Bucket::kSlots)),
      directory_(1, 0) {
  PS_CHECK(num_buckets > 0 && num_buckets <= kMaxBuckets);
  add_segment(0);
}

void KeyIndex::add_segment(uint32_t depth) {
  segments_.push_back({static_cast<Bucket*>(arena_->allocate(num_buckets_ * sizeof(Bucket))), 0, depth, 0});
}

// Makes 2^depth segments at once, the fewest in which the keys have room if their hashes are spread evenly.
// The directory then has one entry for each segment: entry e names segment e.
void KeyIndex::reserve(uint64_t keys) {
  if (segments_.size() > 1 || segments_[0].keys > 0) return;
  uint32_t depth = 0;
  while (depth < kMaxReservedDepth && keys >> depth > max_keys_) ++depth;
  segments_.reserve(size_t{1} << depth);
  segments_[0].depth = depth;
  while (segments_.size() < size_t{1} << depth) add_segment(depth);
  directory_.resize(segments_.size());
  std::iota(directory_.begin(), directory_.end(), 0u);
}

// Searches from the key's own bucket on.  It goes to the next bucket only if a key with the same mark
// overflowed from this one; otherwise the key is missing.
KeyIndex::Found KeyIndex::locate(const Segment& segment, uint64_t key, uint64_t hash) const {
  uint32_t b = home_index(hash);
  for (uint32_t i = 0; i < num_buckets_; ++i, b = after(b)) {
    Bucket& bucket = segment.buckets[b];
    const uint32_t slot = slot_of(bucket, key);
    if (slot < bucket.used) return {&bucket, slot, i == 0};
    if ((bucket.overflowed & mark(hash)) == 0) break;
  }
  return {};
}

uint32_t KeyIndex::find_overflowed(uint64_t key) const {
  const uint64_t hash = hash_key(key);
  const Found found = locate(segments_[directory_[entry(hash)]], key, hash);
  return found.bucket == nullptr ? kNone : found.bucket->numbers[found.slot];
}

// A split may leave all keys in one of its halves, so it is repeated until there is room.
void KeyIndex::insert(uint64_t key, uint32_t number) {
  const uint64_t hash = hash_key(key);
  while (segment_of(hash).keys >= max_keys_) split(hash);
  insert_into(segment_of(hash), key, hash, number);
}

// Puts the key into the first bucket with a free slot, from its own on.  Each full bucket on the way gets
// the key's mark, by which locate knows that it must go on.  The loop ends since max_keys_ leaves slots
// free.
void KeyIndex::insert_into(Segment& segment, uint64_t key, uint64_t hash, uint32_t number) const {
  uint32_t b = home_index(hash);
  for (; segment.buckets[b].used == Bucket::kSlots; b = after(b)) {
    segment.buckets[b].overflowed |= mark(hash);
  }
  Bucket& bucket = segment.buckets[b];
  bucket.keys[bucket.used] = key;
  bucket.numbers[bucket.used] = number;
  ++bucket.used;
  ++segment.keys;
}

// The last key of the bucket moves into the slot.  The marks that the key left in the buckets before stay,
// since other keys may have the same ones; they cost searches for missing keys some more steps.  After
// kMaxStale such keys the marks of the segment are made anew.
uint32_t KeyIndex::erase(uint64_t key) {
  constexpr uint32_t kMaxStale = 32;
  const uint64_t hash = hash_key(key);
  Segment& segment = segment_of(hash);
  const auto [bucket, slot, is_home] = locate(segment, key, hash);
  if (bucket == nullptr) return kNone;
  const uint32_t number = bucket->numbers[slot];
  --bucket->used;
  bucket->keys[slot] = bucket->keys[bucket->used];
  bucket->numbers[slot] = bucket->numbers[bucket->used];
  --segment.keys;
  if (!is_home && ++segment.stale == kMaxStale) clear_marks(segment);
  return number;
}

// Moves the buckets of a segment to `old`, and leaves the segment empty.
std::span<KeyIndex::Bucket> KeyIndex::move_buckets_out(Segment& segment, Bucket (&old)[kMaxBuckets]) const {
  std::copy_n(segment.buckets, num_buckets_, old);
  std::fill_n(segment.buckets, num_buckets_, Bucket{});
  segment.keys = segment.stale = 0;
  return {old, num_buckets_};
}

// Inserts all keys of a segment anew, so that no marks of erased keys remain.
void KeyIndex::clear_marks(Segment& segment) const {
  Bucket old[kMaxBuckets];
  for (const Bucket& bucket : move_buckets_out(segment, old)) {
    for (uint32_t slot = 0; slot < bucket.used; ++slot) {
      insert_into(segment, bucket.keys[slot], hash_key(bucket.keys[slot]), bucket.numbers[slot]);
    }
  }
}

// A segment that splits during a scan leaves its new half at the end of segments_, where the cursor comes
// by later.
bool KeyIndex::scan(uint64_t& cursor, std::vector<uint64_t>& keys) const {
  if (cursor >= segments_.size()) return false;
  const Segment& segment = segments_[cursor++];
  for (uint32_t b = 0; b < num_buckets_; ++b) {
    const Bucket& bucket = segment.buckets[b];
    keys.insert(keys.end(), bucket.keys, bucket.keys + bucket.used);
  }
  return true;
}

// Splits the segment of `hash`: keys whose next bit of the hash is set move to a new segment, and directory
// entries with that bit set point to it.  If the segment had a single entry, the directory doubles first: its
// second half is a copy of the first.
void KeyIndex::split(uint64_t hash) {
  const uint32_t index = directory_[entry(hash)], depth = segments_[index].depth;
  if (depth == kMaxDepth)  // memory is full long before if hashes are spread evenly
    fail(Code::kExhausted, "table partition: too many keys whose hashes are alike");
  const uint32_t added = static_cast<uint32_t>(segments_.size());
  add_segment(depth + 1);
  if (directory_.size() == size_t{1} << depth) {
    directory_.reserve(directory_.size() * 2);
    directory_.insert(directory_.end(), directory_.begin(), directory_.end());
  }
  const size_t bit = size_t{1} << depth;
  for (size_t e = (entry(hash) & (bit - 1)) | bit; e < directory_.size(); e += 2 * bit) directory_[e] = added;
  redistribute(segments_[index], segments_[added]);
}

// Empties `low`, and inserts each key into `low` or `high` by its bit at the new depth.
void KeyIndex::redistribute(Segment& low, Segment& high) const {
  Bucket old[kMaxBuckets];
  low.depth = high.depth;
  for (const Bucket& bucket : move_buckets_out(low, old)) {
    for (uint32_t slot = 0; slot < bucket.used; ++slot) {
      uint64_t hash = hash_key(bucket.keys[slot]);
      bool is_high = hash >> (kBucketBits + low.depth - 1) & 1;
      insert_into(is_high ? high : low, bucket.keys[slot], hash, bucket.numbers[slot]);
    }
  }
}

uint64_t KeyIndex::memory_bytes() const {
  return segments_.size() * (num_buckets_ * sizeof(Bucket)) + directory_.capacity() * sizeof directory_[0] +
         segments_.capacity() * sizeof segments_[0];
}

}  // namespace ps
