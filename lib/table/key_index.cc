#include "table/key_index.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace ps {

static_assert(sizeof(KeyIndex::Bucket) == 64);

KeyIndex::KeyIndex(HugeArena& arena) : arena_(&arena), directory_(1, 0) {
  add_segment(0);
}

void KeyIndex::add_segment(uint32_t depth) {
  segments_.push_back({static_cast<Bucket*>(arena_->allocate(kBuckets * sizeof(Bucket))), 0, depth, 0});
}

uint32_t KeyIndex::find_overflowed(uint64_t key, const Bucket& full) const {
  const uint64_t hash = hash_key(key);
  if ((full.overflowed & mark(hash)) == 0) return kNone;
  const Segment& segment = segments_[directory_[entry(hash)]];
  for (uint64_t b = hash; b < hash + kBuckets; ++b) {
    const Bucket& bucket = segment.buckets[b & (kBuckets - 1)];
    uint32_t slot = slot_of(bucket, key);
    if (slot < bucket.used) return bucket.numbers[slot];
    if ((bucket.overflowed & mark(hash)) == 0) return kNone;
  }
  return kNone;  // every bucket has a mark like this key's
}

void KeyIndex::insert(uint64_t key, uint32_t number) {
  const uint64_t hash = hash_key(key);
  while (segments_[directory_[entry(hash)]].keys >= kMaxKeys) split(hash);
  place(segments_[directory_[entry(hash)]], key, hash, number);
}

void KeyIndex::place(Segment& segment, uint64_t key, uint64_t hash, uint32_t number) {
  uint64_t b = hash & (kBuckets - 1);
  for (; segment.buckets[b].used == Bucket::kSlots; b = (b + 1) & (kBuckets - 1)) {
    segment.buckets[b].overflowed |= mark(hash);
  }
  Bucket& bucket = segment.buckets[b];
  bucket.keys[bucket.used] = key;
  bucket.numbers[bucket.used] = number;
  ++bucket.used;
  ++segment.keys;
}

uint32_t KeyIndex::erase(uint64_t key) {
  const uint64_t hash = hash_key(key);
  Segment& segment = segments_[directory_[entry(hash)]];
  for (uint64_t b = hash; b < hash + kBuckets; ++b) {
    Bucket& bucket = segment.buckets[b & (kBuckets - 1)];
    const uint32_t slot = slot_of(bucket, key);
    if (slot < bucket.used) {
      const uint32_t number = bucket.numbers[slot];
      --bucket.used;
      bucket.keys[slot] = bucket.keys[bucket.used];
      bucket.numbers[slot] = bucket.numbers[bucket.used];
      --segment.keys;
      if (b != hash && ++segment.stale == kMaxStale) clear_marks(segment);
      return number;
    }
    if ((bucket.overflowed & mark(hash)) == 0) return kNone;
  }
  return kNone;
}

// Puts the keys where they would be had those that are gone never been there.
void KeyIndex::clear_marks(Segment& segment) {
  Bucket old[kBuckets];
  std::copy_n(segment.buckets, kBuckets, old);
  std::fill_n(segment.buckets, kBuckets, Bucket{});
  segment.keys = segment.stale = 0;
  for (const Bucket& bucket : old) {
    for (uint32_t slot = 0; slot < bucket.used; ++slot) {
      place(segment, bucket.keys[slot], hash_key(bucket.keys[slot]), bucket.numbers[slot]);
    }
  }
}

bool KeyIndex::scan(uint64_t& cursor, std::vector<uint64_t>& keys) const {
  if (cursor >= segments_.size()) return false;
  const Segment& segment = segments_[cursor++];
  for (uint32_t b = 0; b < kBuckets; ++b) {
    const Bucket& bucket = segment.buckets[b];
    keys.insert(keys.end(), bucket.keys, bucket.keys + bucket.used);
  }
  return true;
}

// Splits the segment of `hash`: the keys whose next bit is set go to a new one, and so do the directory's
// entries that have it set.
void KeyIndex::split(uint64_t hash) {
  constexpr uint32_t kMaxDepth = 22;  // of evenly spread keys, more than memory holds
  const uint32_t index = directory_[entry(hash)], depth = segments_[index].depth;
  if (depth == kMaxDepth) fail(Code::kExhausted, "table partition: too many keys whose hashes are alike");
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

// Takes the keys out of `low`, and puts each where its bit of the new depth says.
void KeyIndex::redistribute(Segment& low, Segment& high) {
  Bucket old[kBuckets];
  std::copy_n(low.buckets, kBuckets, old);
  std::fill_n(low.buckets, kBuckets, Bucket{});
  low.keys = low.stale = 0;
  low.depth = high.depth;
  for (const Bucket& bucket : old) {
    for (uint32_t slot = 0; slot < bucket.used; ++slot) {
      uint64_t hash = hash_key(bucket.keys[slot]);
      bool is_high = hash >> (kBucketBits + low.depth - 1) & 1;
      place(is_high ? high : low, bucket.keys[slot], hash, bucket.numbers[slot]);
    }
  }
}

uint64_t KeyIndex::memory_bytes() const {
  return segments_.size() * (kBuckets * sizeof(Bucket)) + directory_.capacity() * sizeof directory_[0] +
         segments_.capacity() * sizeof segments_[0];
}

}  // namespace ps
