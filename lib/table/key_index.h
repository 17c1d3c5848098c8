// KeyIndex: maps the keys of one partition to the numbers of their rows.  Used by TablePartition.
//
// Extendible hashing (Fagin et al., ACM TODS 1979): bits of a key's hash choose an entry of the directory,
// which names a segment; further bits choose a bucket of it, one cache line.  A full segment splits in two,
// and growing does nothing else: a split moves some 500 keys in 3 µs, and there is never a second copy of the
// whole index.
//
// Hashes are spread evenly, so all segments of one index fill up and split at about the same time.  An index
// takes 12.8 / fill bytes a key, and `fill` varies between half of the maximum and the maximum.  Partitions
// have segments of different sizes, so their indexes split at different times, and the memory of all together
// varies little.
#ifndef PS_TABLE_KEY_INDEX_H_
#define PS_TABLE_KEY_INDEX_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/hash.h"
#include "base/huge_pages.h"

namespace ps {

// One thread at a time; the arena must outlive it.
class KeyIndex {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct alignas(64) Bucket {
    static constexpr uint32_t kSlots = 5;
    uint64_t keys[kSlots];
    uint32_t numbers[kSlots];
    uint16_t used;
    uint16_t overflowed;  // the marks of all keys that found it full and are in a later bucket
  };

  // Segments have `num_buckets` each.
  static constexpr uint32_t kMaxBuckets = 128;
  explicit KeyIndex(HugeArena& arena, uint32_t num_buckets = kMaxBuckets);

  // A look-up in two steps, so that a caller with many keys can fetch their cache lines at the same time:
  // `bucket` returns the bucket of a key, to be prefetched; `find` then returns the key's number, or kNone.
  // If keys were inserted between the two steps, find may miss a key, but never returns a wrong number.
  const Bucket& bucket(uint64_t key) const { return home(hash_key(key)); }
  uint32_t find(uint64_t key, const Bucket& bucket) const {
    uint32_t slot = slot_of(bucket, key);
    if (slot < bucket.used) return bucket.numbers[slot];
    return bucket.overflowed == 0 ? kNone : find_overflowed(key);
  }
  uint32_t find(uint64_t key) const { return find(key, bucket(key)); }

  // The first step of find, which searches one bucket alone.  Returns kNone also for a key in a later bucket,
  // usually the next, which is possible only if the bucket has overflowed.
  static uint32_t find_here(uint64_t key, const Bucket& bucket) {
    const uint32_t slot = slot_of(bucket, key);
    return slot < bucket.used ? bucket.numbers[slot] : kNone;
  }

  // Adds a key that is not there.  Throws kExhausted.
  void insert(uint64_t key, uint32_t number);

  // Makes room for so many keys in an empty index, which is faster than growing key by key.
  void reserve(uint64_t keys);

  // Removes a key, and returns its number, or kNone.
  uint32_t erase(uint64_t key);

  // Appends the keys of one more segment in an arbitrary order, and advances the cursor, which begins at 0.
  // Returns false at the end.  Keys may be inserted and erased between two calls: a key that is present all
  // the time is given once, or twice if its segment was split after it was given.
  bool scan(uint64_t& cursor, std::vector<uint64_t>& keys) const;

  uint64_t memory_bytes() const;

 private:
  // The hash's low bits choose the bucket, the next ones the directory's entry, four the mark; its high bits
  // are the partition.
  static constexpr uint32_t kBucketBits = 16, kMaxDepth = 22, kMaxReservedDepth = 16,
                            kMarkShift = kBucketBits + kMaxDepth;

  struct Segment {
    Bucket* buckets;
    uint32_t keys;
    uint32_t depth;  // number of hash bits that all its keys share
    uint32_t stale;  // erased keys whose marks are still in buckets before theirs
  };

  struct Found {
    Bucket* bucket;  // null: the key is not there
    uint32_t slot;
    bool is_home;
  };

  size_t entry(uint64_t hash) const { return (hash >> kBucketBits) & (directory_.size() - 1); }
  const Bucket& home(uint64_t hash) const {
    return segments_[directory_[entry(hash)]].buckets[home_index(hash)];
  }

  // Returns the slot that holds this key, used or not; kSlots when there is none.  The loop has no early
  // exit, and so no unpredictable branch.
  static uint32_t slot_of(const Bucket& bucket, uint64_t key) {
    uint32_t slot = Bucket::kSlots;
    for (uint32_t i = Bucket::kSlots; i-- > 0;) slot = bucket.keys[i] == key ? i : slot;
    return slot;
  }

  // Returns a mask with one of 16 bits.  A missing key seldom has the same mark as a key that overflowed, so
  // its search mostly ends at the first bucket.
  static uint16_t mark(uint64_t hash) { return static_cast<uint16_t>(1u << (hash >> kMarkShift & 15)); }

  uint32_t home_index(uint64_t hash) const {
    return static_cast<uint32_t>((hash & ((1u << kBucketBits) - 1)) * num_buckets_ >> kBucketBits);
  }
  uint32_t after(uint32_t index) const { return index + 1 == num_buckets_ ? 0 : index + 1; }

  Segment& segment_of(uint64_t hash) { return segments_[directory_[entry(hash)]]; }
  uint32_t find_overflowed(uint64_t key) const;
  Found locate(const Segment& segment, uint64_t key, uint64_t hash) const;
  void insert_into(Segment& segment, uint64_t key, uint64_t hash, uint32_t number) const;
  void add_segment(uint32_t depth);
  void split(uint64_t hash);
  void clear_marks(Segment& segment) const;
  void redistribute(Segment& low, Segment& high) const;
  std::span<Bucket> move_buckets_out(Segment& segment, Bucket (&old)[kMaxBuckets]) const;

  HugeArena* arena_;
  uint32_t num_buckets_;             // buckets of a segment
  uint32_t max_keys_;                // keys of a segment at which it splits
  std::vector<uint32_t> directory_;  // segment numbers; its size is a power of two
  std::vector<Segment> segments_;
};

}  // namespace ps

#endif  // PS_TABLE_KEY_INDEX_H_
