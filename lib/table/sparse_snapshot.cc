#include "table/sparse_snapshot.h"

#include <algorithm>

#include "base/error.h"

namespace ps {

namespace {

constexpr size_t kRun = 2 << 10;     // keys sorted at a time: some 0.1 ms
constexpr size_t kBlock = 256;       // rows given, or kept, at a time
constexpr uint64_t kPieceWork = 64;  // in rows: what one call of RowStore::scan costs at least
constexpr uint32_t kBuckets = 64;    // of the segments of what is kept: small ones, there are many indexes
constexpr uint64_t kSlabBytes = 4 << 10;

// The number of a key that is not part of the snapshot: it had no row, or one that was not changed.
constexpr uint32_t kUnwanted = KeyIndex::kNone - 1;

}  // namespace

// The rows of one partition that were written before it was their turn.
struct SparseSnapshot::Kept {
  explicit Kept(const RowLayout& layout) : index(arena, kBuckets), rows(layout, kSlabBytes, arena) {}

  uint64_t memory_bytes() const { return index.memory_bytes() + rows.memory_bytes(); }

  // Ordinary pages: a huge one takes a writer who is the first in it up to 5 ms.
  HugeArena arena{HugeArena::kFirstRegion};
  KeyIndex index;
  RowSlabs rows;
};

SparseSnapshot::SparseSnapshot(const RowLayout& layout, RowStore& rows, const SnapshotOptions& options,
                               SnapshotSink sink)
    : layout_(layout), rows_(rows), options_(options), sink_(std::move(sink)), total_rows_(rows.size()) {}

SparseSnapshot::~SparseSnapshot() = default;

// ---- keeping

bool SparseSnapshot::is_swept(uint32_t partition, uint64_t key) const {
  return partition < partition_ || (partition == partition_ && given_any_ && key <= last_given_);
}

bool SparseSnapshot::is_kept(uint32_t partition, uint64_t key) const {
  return kept_[partition] != nullptr && kept_[partition]->index.find(key) != KeyIndex::kNone;
}

void SparseSnapshot::keep(std::span<const uint64_t> keys) {
  for (size_t begin = 0; begin < keys.size() && partition_ < kPartitions; begin += kBlock) {
    find_unswept(keys.subspan(begin, std::min(kBlock, keys.size() - begin)));
    if (unswept_.empty()) continue;
    make_room(unswept_.size());
    keep_unswept();
  }
}

void SparseSnapshot::leave_out(std::span<const uint64_t> keys) {
  make_room(keys.size());
  for (uint64_t key : keys) {
    if (!is_swept(key_partition(key), key)) keep_row(key, nullptr);
  }
}

void SparseSnapshot::find_unswept(std::span<const uint64_t> keys) {
  unswept_.clear();
  for (uint64_t key : keys) {
    const Kept* kept = kept_[key_partition(key)].get();
    if (kept != nullptr) __builtin_prefetch(&kept->index.bucket(key));
  }
  for (uint64_t key : keys) {
    const uint32_t partition = key_partition(key);
    if (!is_swept(partition, key) && !is_kept(partition, key)) unswept_.push_back(key);
  }
}

// From half of the memory on, sweeps as many rows for each that is kept as there are left for each that there
// is room for: so the sweep ends before the memory does, and no one writer waits for all of it.
void SparseSnapshot::make_room(uint64_t rows) {
  const uint64_t row_bytes =
      static_cast<uint64_t>(layout_.stride()) * sizeof(float) + sizeof(KeyIndex::Bucket) / 2;
  auto room = [&] {
    return options_.max_bytes > kept_bytes_ ? (options_.max_bytes - kept_bytes_) / row_bytes : 0;
  };
  if (kept_bytes_ < options_.max_bytes / 2) return;
  const uint64_t left = total_rows_ > given_rows_ ? total_rows_ - given_rows_ : 0;
  sweep(rows * left / std::max<uint64_t>(room(), 1));
  while (room() < rows && sweep(kBlock)) continue;
}

// Keeps what is still not swept.
void SparseSnapshot::keep_unswept() {
  std::erase_if(unswept_, [&](uint64_t key) { return is_swept(key_partition(key), key); });
  found_.resize(unswept_.size());
  missing_.resize(unswept_.size());
  rows_.find_to_read(unswept_, found_.data(), missing_.data(), copies_);
  for (size_t i = 0; i < unswept_.size(); ++i) {
    const bool is_wanted = !options_.only_changed || rows_.is_marked(unswept_[i]);
    keep_row(unswept_[i], is_wanted ? found_[i] : nullptr);
  }
}

// Null: the snapshot has no row of this key.
void SparseSnapshot::keep_row(uint64_t key, const float* row) {
  const uint32_t partition = key_partition(key);
  if (is_kept(partition, key)) return;
  if (!kept_[partition]) {
    kept_[partition] = std::make_unique<Kept>(layout_);
    kept_bytes_ += kept_[partition]->memory_bytes();
  }
  Kept& kept = *kept_[partition];
  kept_bytes_ -= kept.memory_bytes();
  uint32_t number = kUnwanted;
  if (row != nullptr) {
    number = kept.rows.add();
    std::copy_n(row, layout_.floats(), kept.rows.row(number));
  }
  kept.index.insert(key, number);
  kept_bytes_ += kept.memory_bytes();
}

// ---- sweeping

bool SparseSnapshot::sweep(uint64_t rows) {
  for (uint64_t done = 0; done < rows && partition_ < kPartitions;) done += step();
  return partition_ < kPartitions;
}

// Returns how many rows' work it was.
uint64_t SparseSnapshot::step() {
  switch (phase_) {
    case Phase::kStored:
      return collect_stored();
    case Phase::kKept:
      return collect_kept();
    case Phase::kGive:
      return give();
  }
  return 0;
}

// Keys that are kept aside are left to collect_kept.
uint64_t SparseSnapshot::collect_stored() {
  piece_.clear();
  if (!rows_.scan(partition_, cursor_, piece_)) {
    phase_ = Phase::kKept;
    cursor_ = 0;
    return 0;
  }
  const uint64_t work = kPieceWork + piece_.size() / 2;
  if (kept_[partition_]) std::erase_if(piece_, [&](uint64_t key) { return is_kept(partition_, key); });
  if (options_.only_changed) std::erase_if(piece_, [&](uint64_t key) { return !rows_.is_marked(key); });
  collect_piece();
  return work;
}

uint64_t SparseSnapshot::collect_kept() {
  const Kept* kept = kept_[partition_].get();
  piece_.clear();
  if (kept == nullptr || !kept->index.scan(cursor_, piece_)) {
    begin_giving();
    return kPieceWork;
  }
  std::erase_if(piece_, [&](uint64_t key) { return kept->index.find(key) == kUnwanted; });
  collect_piece();
  return kPieceWork + piece_.size() / 2;
}

void SparseSnapshot::collect_piece() {
  keys_.insert(keys_.end(), piece_.begin(), piece_.end());
  if (keys_.size() - (runs_.empty() ? 0 : runs_.back().end) >= kRun) end_run();
}

void SparseSnapshot::end_run() {
  const size_t begin = runs_.empty() ? 0 : runs_.back().end;
  std::sort(keys_.begin() + static_cast<ptrdiff_t>(begin), keys_.end());
  if (begin < keys_.size()) runs_.push_back({begin, keys_.size()});
}

void SparseSnapshot::begin_giving() {
  end_run();
  std::make_heap(runs_.begin(), runs_.end(),
                 [this](const Run& a, const Run& b) { return keys_[a.next] > keys_[b.next]; });
  phase_ = Phase::kGive;
}

// The smallest of the keys that the runs have left.
uint64_t SparseSnapshot::take_smallest() {
  auto later = [this](const Run& a, const Run& b) { return keys_[a.next] > keys_[b.next]; };
  std::pop_heap(runs_.begin(), runs_.end(), later);
  Run& run = runs_.back();
  const uint64_t key = keys_[run.next++];
  if (run.next == run.end) {
    runs_.pop_back();
  } else {
    std::push_heap(runs_.begin(), runs_.end(), later);
  }
  return key;
}

// A key may have been collected twice: from a segment that split, or stored and then kept.
uint64_t SparseSnapshot::give() {
  piece_.clear();
  while (!runs_.empty() && piece_.size() < kBlock) {
    const uint64_t key = take_smallest();
    if (given_any_ && key == last_given_) continue;
    given_any_ = true;
    last_given_ = key;
    piece_.push_back(key);
  }
  if (!piece_.empty()) {
    copy_rows();
    given_rows_ += piece_.size();
    sink_(partition_, block_);
  }
  if (runs_.empty()) end_partition();
  return std::max<uint64_t>(piece_.size(), 1);
}

// block_ <- the rows of the keys of piece_.
void SparseSnapshot::copy_rows() {
  const Kept* kept = kept_[partition_].get();
  block_.clear();
  found_.resize(piece_.size());
  missing_.resize(piece_.size());
  rows_.find_to_read(piece_, found_.data(), missing_.data(), copies_);
  for (size_t i = 0; i < piece_.size(); ++i) {
    const uint32_t number = kept == nullptr ? KeyIndex::kNone : kept->index.find(piece_[i]);
    float* row = number == KeyIndex::kNone ? found_[i] : kept->rows.row(number);
    PS_CHECK(row != nullptr && number != kUnwanted);
    found_[i] = row;
  }
  append_rows(layout_, piece_, found_.data(), block_);
}

void SparseSnapshot::end_partition() {
  if (kept_[partition_]) kept_bytes_ -= kept_[partition_]->memory_bytes();
  kept_[partition_].reset();
  std::vector<uint64_t>().swap(keys_);
  ++partition_;
  phase_ = Phase::kStored;
  cursor_ = 0;
  given_any_ = false;
}

}  // namespace ps
