// Sorts the ids of rows, for formats that need them in order.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "data/writer.h"

namespace ps {

namespace {

// Sorts the ids of single rows, with scratch memory.  One owner thread.
class RowSorter {
 public:
  // Sorts the ids [begin, end) of a slot, and moves their values with them.  Short rows are sorted by
  // counting; of longer rows, the ones with values as pairs, and the others by their leading bits, or by
  // std::sort if these are not spread or the row is very long.
  void sort(SlotData& slot, size_t begin, size_t end) {
    std::span<Key> keys(slot.keys.data() + begin, end - begin);
    std::span<float> values;
    if (slot.valued()) values = std::span(slot.values.data() + begin, end - begin);
    if (keys.size() < 2 || sort_by_counting(keys, values)) return;
    if (!values.empty()) {
      sort_valued(keys, values);
    } else if (keys.size() > kMaxBuckets / 2 || !sort_spread(keys)) {
      std::sort(keys.begin(), keys.end());
    }
  }

 private:
  static constexpr size_t kMaxCounted = 96, kMaxBuckets = 4096, kMaxInBucket = 12;

  // Sorts a short row of different ids below 2^31: the position of an id is the number of smaller ids.  The
  // n^2 comparisons have no branch, and compilers make four at a time; for 40 ids this takes half the time of
  // sort_spread.  Returns false and changes nothing when the row is not like that.
  bool sort_by_counting(std::span<Key> keys, std::span<float> values) {
    size_t size = keys.size();
    if (size > kMaxCounted) return false;
    Key bits = 0;
    for (size_t i = 0; i < size; ++i) {
      bits |= keys[i];
      small_[i] = static_cast<int32_t>(keys[i]);
    }
    if (bits > INT32_MAX) return false;
    count_smaller(size);
    // Equal ids would share a position; then the sum of positions differs.
    if (std::accumulate(positions_.begin(), positions_.begin() + size, size_t{0}) != size * (size - 1) / 2)
      return false;
    for (size_t i = 0; i < size; ++i) keys[static_cast<size_t>(positions_[i])] = static_cast<Key>(small_[i]);
    if (values.empty()) return true;
    std::copy(values.begin(), values.end(), moved_.begin());
    for (size_t i = 0; i < size; ++i) values[static_cast<size_t>(positions_[i])] = moved_[i];
    return true;
  }

  // positions_ [size] <- for each id of small_ [size], how many ids are smaller.
  void count_smaller(size_t size) {
    constexpr size_t kTogether = 8;
    size_t padded = (size + kTogether - 1) / kTogether * kTogether;
    std::fill(small_.begin() + size, small_.begin() + padded, INT32_MAX);
    for (size_t first = 0; first < padded; first += kTogether) {
      int32_t positions[kTogether] = {};
      const int32_t* own = &small_[first];
      for (size_t j = 0; j < size; ++j) {
        for (size_t i = 0; i < kTogether; ++i) positions[i] += small_[j] < own[i];
      }
      std::copy_n(positions, kTogether, &positions_[first]);
    }
  }

  void sort_valued(std::span<Key> keys, std::span<float> values) {
    pairs_.clear();
    for (size_t k = 0; k < keys.size(); ++k) pairs_.emplace_back(keys[k], values[k]);
    std::sort(pairs_.begin(), pairs_.end());
    for (size_t k = 0; k < keys.size(); ++k) std::tie(keys[k], values[k]) = pairs_[k];
  }

  // Sorts ids that are spread evenly, like the ids of a generator or a hash, twice as fast as std::sort:
  // distributes them by their leading bits over more buckets than there are ids, then sorts all by insertion.
  // Returns false when many ids share a bucket.
  bool sort_spread(std::span<Key> keys) {
    size_t num_buckets = std::bit_ceil(2 * keys.size());
    // Counting sort by the leading bits of each id puts the ids almost in order; the insertion sort below
    // moves each by a few positions at most.
    Key largest = *std::max_element(keys.begin(), keys.end());
    int shift = std::max(
        0, static_cast<int>(std::bit_width(largest)) - static_cast<int>(std::bit_width(num_buckets - 1)));
    ends_.assign(num_buckets, 0);
    for (Key key : keys) {
      if (++ends_[key >> shift] > kMaxInBucket) return false;
    }
    std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
    sorted_.resize(keys.size());
    for (Key key : keys) sorted_[--ends_[key >> shift]] = key;
    for (size_t i = 0; i < keys.size(); ++i) {
      size_t position = i;
      for (; position > 0 && keys[position - 1] > sorted_[i]; --position) keys[position] = keys[position - 1];
      keys[position] = sorted_[i];
    }
    return true;
  }

  std::array<int32_t, kMaxCounted> small_, positions_;
  std::array<float, kMaxCounted> moved_;
  std::vector<std::pair<Key, float>> pairs_;
  std::vector<uint16_t> ends_;
  std::vector<Key> sorted_;
};

}  // namespace

void sort_rows(const DataSchema& schema, Batch& batch) {
  RowSorter sorter;
  for (size_t s = 0; s < schema.slots.size(); ++s) {
    if (schema.slots[s].dense) continue;
    SlotData& slot = batch.slots[s];
    for (size_t b = 0; b + 1 < slot.offsets.size(); ++b)
      sorter.sort(slot, slot.offsets[b], slot.offsets[b + 1]);
  }
}

}  // namespace ps
