#include "checkpoint/merged_cursor.h"

#include <algorithm>
#include <cstring>

#include "base/radix_sort.h"
#include "checkpoint/row_chunks.h"

namespace ps {

namespace {

// Merges in rounds.  Each cursor has read one block; up to the lowest of the blocks' last keys, the blocks
// contain all rows.  A round sorts references to those rows by key, and copies the rows in that order.  It
// prefetches them, since keys of different partitions alternate at random, so that each row is in another
// block.  (A heap of cursors, from which rows were taken one at a time, took 8 times as long.)
class MergedPartitions final : public RowCursor {
 public:
  MergedPartitions(const TableLayout& layout, std::vector<std::unique_ptr<RowCursor>> cursors, KeepRow keep)
      : layout_(layout), keep_(std::move(keep)), cursors_(std::move(cursors)) {
    for (const auto& cursor : cursors_) sources_.push_back({cursor.get(), cursor->next(), 0});
    drop_ended();
  }

  // Fills a block from as many rounds as it takes; what is left of a round begins the next block.
  const RowBlock* next() override {
    const size_t block_rows = rows_of_a_block(layout_);
    out_.clear();
    while (out_.size() < block_rows && (next_ < round_.size() || begin_round())) {
      const size_t count = std::min(block_rows - out_.size(), round_.size() - next_);
      append(std::span(round_).subspan(next_, count));
      next_ += count;
    }
    return out_.size() > 0 ? &out_ : nullptr;
  }

 private:
  struct Source {
    RowCursor* cursor;
    const RowBlock* block;
    size_t index;  // index of its first row that no round has used
  };

  struct RowRef {
    uint64_t key;
    const RowBlock* block;
    size_t index;
  };

  void drop_ended() {
    std::erase_if(sources_, [](const Source& source) { return source.block == nullptr; });
  }

  // Begins a round.  Returns false when there are no more rows.
  bool begin_round() {
    for (Source& source : sources_) {
      if (source.index < source.block->size()) continue;
      source.block = source.cursor->next();
      source.index = 0;
    }
    drop_ended();
    round_.clear();
    next_ = 0;
    // No later block has a key up to `last`, the least of the last keys of all blocks.
    uint64_t last = UINT64_MAX;
    for (const Source& source : sources_) last = std::min(last, source.block->keys.back());
    for (Source& source : sources_) {
      const std::vector<uint64_t>& keys = source.block->keys;
      for (; source.index < keys.size() && keys[source.index] <= last; ++source.index) {
        round_.push_back({keys[source.index], source.block, source.index});
      }
    }
    radix_sort(round_, [](const RowRef& ref) { return ref.key; });
    if (keep_) std::erase_if(round_, [this](const RowRef& ref) { return !keep_(*ref.block, ref.index); });
    return !sources_.empty();
  }

  void append(std::span<const RowRef> refs) {
    for (const RowRef& ref : refs) out_.keys.push_back(ref.key);
    gather(refs, static_cast<size_t>(layout_.values()), &RowBlock::values);
    gather(refs, layout_.stamped ? 1 : 0, &RowBlock::stamps);
    gather(refs, layout_.statistics.size(), &RowBlock::statistics);
  }

  // Appends one array of the rows, `width` numbers a row, in the order of `refs`.
  template <class T>
  void gather(std::span<const RowRef> refs, size_t width, std::vector<T> RowBlock::*array) {
    constexpr size_t kAhead = 16;  // rows are prefetched so far ahead
    if (width == 0) return;
    std::vector<T>& out = out_.*array;
    const size_t before = out.size();
    out.resize(before + refs.size() * width);
    auto row = [&](size_t i) { return (refs[i].block->*array).data() + refs[i].index * width; };
    for (size_t i = 0; i < refs.size(); ++i) {
      if (i + kAhead < refs.size()) __builtin_prefetch(row(i + kAhead));
      std::memcpy(out.data() + before + i * width, row(i), width * sizeof(T));
    }
  }

  const TableLayout layout_;
  const KeepRow keep_;
  const std::vector<std::unique_ptr<RowCursor>> cursors_;
  std::vector<Source> sources_;
  std::vector<RowRef> round_;
  size_t next_ = 0;  // the first element of round_ that is not in out_ yet
  RowBlock out_;
};

}  // namespace

std::unique_ptr<RowCursor> merged_partitions(const TableLayout& layout,
                                             std::vector<std::unique_ptr<RowCursor>> cursors, KeepRow keep) {
  return std::make_unique<MergedPartitions>(layout, std::move(cursors), std::move(keep));
}

}  // namespace ps
