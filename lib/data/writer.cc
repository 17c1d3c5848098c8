#include "data/writer.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"

namespace ps {

extern const WriterEntry kPaddleSparseBinaryWriter;
extern const WriterEntry kPaddleSparseFloatWriter;
extern const WriterEntry kLibsvmWriter;
extern const WriterEntry kMultislotWriter;
extern const WriterEntry kCriteoWriter;
extern const WriterEntry kTextWriter;
extern const WriterEntry kRecordsWriter;

std::span<const WriterEntry* const> writer_catalog() {
  static constexpr const WriterEntry* kEntries[] = {
      &kPaddleSparseBinaryWriter,
      &kPaddleSparseFloatWriter,
      &kLibsvmWriter,
      &kMultislotWriter,
      &kCriteoWriter,
      &kTextWriter,
      &kRecordsWriter,
  };
  return kEntries;
}

const WriterEntry& find_writer(std::string_view format) {
  std::vector<std::string> names;
  for (const WriterEntry* entry : writer_catalog()) {
    if (entry->name == format) return *entry;
    names.emplace_back(entry->name);
  }
  fail(Code::kUsage, "unknown format ", quote(format), did_you_mean(format, names), "; expected one of ",
       join(names, ", "));
}

std::unique_ptr<Writer> make_writer(const WriterEntry& entry, const DataTraits& traits) {
  if (traits.content == DataTraits::kSentences && entry.name != "text") {
    fail(Code::kUsage, "format ", entry.name, " cannot hold sentences; use text");
  }
  entry.check(traits);
  return entry.make(traits.schema);
}

void expect_sparse_features(const DataTraits& traits, std::string_view format) {
  for (const SlotSchema& slot : traits.schema.slots) {
    if (slot.dense) fail(Code::kUsage, "format ", format, " cannot hold the dense slot ", quote(slot.name));
  }
}

namespace {

// Sorts the ids of rows.  Scratch of one thread.
class RowSorter {
 public:
  void sort(SlotData& slot, size_t begin, size_t end) {
    std::span<Key> keys(slot.keys.data() + begin, end - begin);
    if (slot.valued()) {
      sort_valued(keys, std::span(slot.values.data() + begin, end - begin));
    } else if (keys.size() < kMinBuckets / 2 || keys.size() > kMaxBuckets / 2 || !sort_spread(keys)) {
      std::sort(keys.begin(), keys.end());
    }
  }

 private:
  static constexpr size_t kMinBuckets = 32, kMaxBuckets = 4096, kMaxInBucket = 12;

  void sort_valued(std::span<Key> keys, std::span<float> values) {
    pairs_.clear();
    for (size_t k = 0; k < keys.size(); ++k) pairs_.emplace_back(keys[k], values[k]);
    std::sort(pairs_.begin(), pairs_.end());
    for (size_t k = 0; k < keys.size(); ++k) std::tie(keys[k], values[k]) = pairs_[k];
  }

  // Sorts ids that are spread evenly, as those of a generator or a hash are, twice as fast as std::sort: by
  // their leading bits into more buckets than there are ids, and these by insertion.  False when many share a
  // bucket.
  bool sort_spread(std::span<Key> keys) {
    size_t num_buckets = std::bit_ceil(2 * keys.size());
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
      size_t place = i;
      for (; place > 0 && keys[place - 1] > sorted_[i]; --place) keys[place] = keys[place - 1];
      keys[place] = sorted_[i];
    }
    return true;
  }

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
