// KeyIndex: from the keys of one partition to the numbers of their rows.
//
// Extendible hashing (Fagin et al., ACM TODS 1979): bits of a key's hash choose an entry of the directory,
// which names a segment; further bits choose a bucket of it, one cache line.  A segment that is full splits
// in two, and that is all that growing does: some 500 keys move, 3 µs, and nothing is ever held twice.
//
// Hashes are spread evenly, so all segments of one index are full, and split, at about the same time: with
// segments of s buckets, memory is 12.8 / fill bytes a key, and fill swings between 1/2 and 1 times the most.
// Indexes whose segments differ in size swing at different times; their mean swings little.
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
    uint16_t overflowed;  // for each key that found it full and is in a later bucket, that key's mark
  };

  // Segments have `num_buckets` each.
  static constexpr uint32_t kMaxBuckets = 128;
  explicit KeyIndex(HugeArena& arena, uint32_t num_buckets = kMaxBuckets);

  // A look-up in two steps, so that a caller with many keys can have their cache lines come at once: the
  // bucket of a key, to be prefetched, then the key's number, or kNone.  A bucket that was asked for before
  // an insertion may miss its key, but never gives a wrong number.
  const Bucket& bucket(uint64_t key) const { return home(hash_key(key)); }
  uint32_t find(uint64_t key, const Bucket& bucket) const {
    uint32_t slot = slot_of(bucket, key);
    if (slot < bucket.used) return bucket.numbers[slot];
    return bucket.overflowed == 0 ? kNone : find_overflowed(key);
  }
  uint32_t find(uint64_t key) const { return find(key, bucket(key)); }

  // The first look of find, at one bucket alone.  kNone also for a key that is in a later one, which is never
  // so unless the bucket has overflowed; most often it is the next.
  static uint32_t find_here(uint64_t key, const Bucket& bucket) {
    const uint32_t slot = slot_of(bucket, key);
    return slot < bucket.used ? bucket.numbers[slot] : kNone;
  }

  // Adds a key that is not there.  Throws kExhausted.
  void insert(uint64_t key, uint32_t number);

  // Makes room for so many keys, where there are none yet: less work than to grow as they come.
  void reserve(uint64_t keys);

  // Removes a key, and returns its number, or kNone.
  uint32_t erase(uint64_t key);

  // Appends the keys of one more segment, from cursor 0 on, in no order that means anything; false when there
  // are no more.  Between two calls keys may come and go: one that is there all the time is given once, or,
  // when its segment was split after it was given, twice.
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
    uint32_t depth;  // how many bits its keys share
    uint32_t stale;  // erased keys whose marks are still in buckets before theirs
  };

  struct Place {
    Bucket* bucket;  // null: the key is not there
    uint32_t slot;
    bool is_home;
  };

  size_t entry(uint64_t hash) const { return (hash >> kBucketBits) & (directory_.size() - 1); }
  const Bucket& home(uint64_t hash) const {
    return segments_[directory_[entry(hash)]].buckets[home_index(hash)];
  }

  // The slot whose key is this one, used or not; kSlots when there is none.  No early end, so no branch to
  // guess.
  static uint32_t slot_of(const Bucket& bucket, uint64_t key) {
    uint32_t slot = Bucket::kSlots;
    for (uint32_t i = Bucket::kSlots; i-- > 0;) slot = bucket.keys[i] == key ? i : slot;
    return slot;
  }

  // One of 16 bits: a key that is not there seldom has the mark of one that overflowed, and ends its search.
  static uint16_t mark(uint64_t hash) { return static_cast<uint16_t>(1u << (hash >> kMarkShift & 15)); }

  uint32_t home_index(uint64_t hash) const {
    return static_cast<uint32_t>((hash & ((1u << kBucketBits) - 1)) * num_buckets_ >> kBucketBits);
  }
  uint32_t after(uint32_t index) const { return index + 1 == num_buckets_ ? 0 : index + 1; }

  Segment& segment_of(uint64_t hash) { return segments_[directory_[entry(hash)]]; }
  uint32_t find_overflowed(uint64_t key) const;
  Place locate(const Segment& segment, uint64_t key, uint64_t hash) const;
  void place(Segment& segment, uint64_t key, uint64_t hash, uint32_t number) const;
  void add_segment(uint32_t depth);
  void split(uint64_t hash);
  void clear_marks(Segment& segment) const;
  void redistribute(Segment& low, Segment& high) const;
  std::span<Bucket> take_buckets(Segment& segment, Bucket (&old)[kMaxBuckets]) const;

  HugeArena* arena_;
  uint32_t num_buckets_;             // of a segment
  uint32_t max_keys_;                // of a segment
  std::vector<uint32_t> directory_;  // a power of two: number of the segment
  std::vector<Segment> segments_;
};

}  // namespace ps

#endif  // PS_TABLE_KEY_INDEX_H_
