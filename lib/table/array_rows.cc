#include <algorithm>
#include <utility>

#include "base/error.h"
#include "table/row_bits.h"
#include "table/row_slabs.h"
#include "table/row_storage.h"
#include "table/table_partition.h"

namespace ps {

namespace {

// Finds rows through an array of row numbers by key: numbers_[key] is the number of the key's row in rows_,
// or 0.  Owner thread, except for find, as RowStorage says.
class ArrayRows final : public RowStorage {
 public:
  // The arena gives zeros, so no key has a row at first.  Row 0 is taken here, so that no key gets it.
  ArrayRows(const RowLayout& layout, uint64_t bound)
      : layout_(layout),
        bound_(bound),
        numbers_(static_cast<uint32_t*>(arena_.allocate(bound * sizeof(uint32_t)))),
        rows_(layout, kSlabBytes, arena_) {
    PS_CHECK(bound <= kMaxBound);
    rows_.add();
  }

  size_t find(std::span<const uint64_t> keys, float** rows, uint32_t* missing) const override;
  void insert(std::span<const uint64_t> keys, float** rows, Device& device) override;
  size_t erase(std::span<const uint64_t> keys) override;
  bool scan(uint32_t partition, uint64_t& cursor, std::vector<uint64_t>& keys) const override;
  bool scans_partitions() const override { return false; }
  bool scan_all(ScanCursor& cursor, std::vector<uint64_t>& keys) const override;
  void capture(std::span<const uint64_t> keys, uint32_t first, Captured& out) override;
  void clear_captured() override { captured_.clear(); }
  std::vector<uint64_t> sorted_keys() const override;
  uint64_t size() const override { return rows_.size() - 1; }
  uint64_t memory_bytes() const override {
    return bound_ * sizeof(uint32_t) + rows_.memory_bytes() + captured_.memory_bytes();
  }

 private:
  void ask(std::span<const uint64_t> keys) const;

  // Bytes of a slab; the largest bound.
  static constexpr uint64_t kSlabBytes = 128 << 10, kMaxBound = uint64_t{1} << 32;

  const RowLayout layout_;
  const uint64_t bound_;
  HugeArena arena_;
  uint32_t* const numbers_;  // [bound], 0: no row
  RowSlabs rows_;            // row 0 belongs to no key
  RowBits captured_;         // by key
};

// Prefetches the index lines of the first group of these keys.
void ArrayRows::ask(std::span<const uint64_t> keys) const {
  for (uint64_t key : keys.first(std::min(kGroup, keys.size()))) {
    if (key < bound_) __builtin_prefetch(&numbers_[key]);
  }
}

// Works in groups of kGroup keys: while the rows of one group are looked up, the index lines of the next are
// being fetched from memory.
size_t ArrayRows::find(std::span<const uint64_t> keys, float** rows, uint32_t* missing) const {
  size_t num_missing = 0;
  ask(keys);
  for (size_t begin = 0; begin < keys.size(); begin += kGroup) {
    const size_t end = std::min(begin + kGroup, keys.size());
    ask(keys.subspan(end));
    for (size_t i = begin; i < end; ++i) {
      // Row 0, which belongs to no key, stands for a missing one, so that the prefetch needs no branch
      // either.
      const uint32_t number = keys[i] < bound_ ? numbers_[keys[i]] : 0;
      float* const row = rows_.row(number);
      layout_.prefetch(row);
      rows[i] = number == 0 ? nullptr : row;
      missing[num_missing] = static_cast<uint32_t>(i);  // without a branch, which could not be predicted
      num_missing += number == 0;
    }
  }
  return num_missing;
}

// A key that fails leaves the rows of the keys before it; the caller erases all of them.
void ArrayRows::insert(std::span<const uint64_t> keys, float** rows, Device&) {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] >= bound_) fail(Code::kData, "id ", keys[i], " is not below ", bound_);
    const uint32_t number = rows_.add();
    numbers_[keys[i]] = number;
    rows[i] = rows_.row(number);
  }
}

size_t ArrayRows::erase(std::span<const uint64_t> keys) {
  size_t erased = 0;
  for (uint64_t key : keys) {
    if (key >= bound_ || numbers_[key] == 0) continue;
    rows_.remove(std::exchange(numbers_[key], 0));
    ++erased;
  }
  return erased;
}

// First lists the keys that are not copied yet, then sets their bits and looks up their rows, while the index
// lines of the next group are being fetched.
void ArrayRows::capture(std::span<const uint64_t> keys, uint32_t first, Captured& out) {
  out.keys.clear();
  for (uint64_t key : keys) {
    if (key < bound_ && !captured_.has(key) && key_partition(key) >= first) out.keys.push_back(key);
  }
  out.rows.resize(out.keys.size());
  size_t count = 0;
  ask(out.keys);
  for (size_t i = 0; i < out.keys.size(); ++i) {
    if (i % kGroup == 0) ask(std::span(out.keys).subspan(std::min(i + kGroup, out.keys.size())));
    const uint64_t key = out.keys[i];
    const uint32_t number = numbers_[key];
    if (number == 0 || !captured_.set(key, bound_)) continue;
    out.keys[count] = key;
    out.rows[count] = rows_.row(number);
    layout_.prefetch(out.rows[count++]);
  }
  out.keys.resize(count);
  out.rows.resize(count);
}

// Each partition scans the whole array and skips the keys of other partitions, at some 1 ns an element.
bool ArrayRows::scan(uint32_t partition, uint64_t& cursor, std::vector<uint64_t>& keys) const {
  constexpr uint64_t kAtOnce = 64 << 10;
  if (cursor >= bound_) return false;
  const uint64_t end = std::min(cursor + kAtOnce, bound_);
  for (; cursor < end; ++cursor) {
    if (numbers_[cursor] != 0 && key_partition(cursor) == partition) keys.push_back(cursor);
  }
  return true;
}

// The inner loop has no branch, since which keys have rows cannot be predicted.  It fills a block on the
// stack, and appends that to `keys`: the first touch of memory is expensive, and resizing `keys` to the full
// size beforehand would touch it twice.
bool ArrayRows::scan_all(ScanCursor& cursor, std::vector<uint64_t>& keys) const {
  constexpr uint64_t kBlock = 1024;
  if (cursor.position >= bound_) return false;
  uint64_t block[kBlock];
  const uint64_t end = std::min(cursor.position + kBlock, bound_);
  size_t count = 0;
  for (uint64_t key = cursor.position; key < end; ++key) {
    block[count] = key;
    count += numbers_[key] != 0;
  }
  keys.insert(keys.end(), block, block + count);
  cursor.position = end;
  return true;
}

std::vector<uint64_t> ArrayRows::sorted_keys() const {
  std::vector<uint64_t> keys;
  keys.reserve(size());
  for (ScanCursor cursor; scan_all(cursor, keys);) continue;
  return keys;
}

}  // namespace

std::unique_ptr<RowStorage> make_array_rows(const RowLayout& layout, uint64_t bound) {
  return std::make_unique<ArrayRows>(layout, bound);
}

}  // namespace ps
