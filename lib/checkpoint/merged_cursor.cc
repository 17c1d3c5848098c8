#include "checkpoint/merged_cursor.h"

#include <algorithm>

#include "checkpoint/row_chunks.h"

namespace ps {

namespace {

// A heap of cursors, that with the lowest key on top.
class MergedPartitions final : public RowCursor {
 public:
  MergedPartitions(const TableLayout& layout, std::vector<std::unique_ptr<RowCursor>> cursors, KeepRow keep)
      : layout_(layout), keep_(std::move(keep)), cursors_(std::move(cursors)) {
    for (const auto& cursor : cursors_) {
      RowStepper stepper(cursor.get());
      if (stepper.valid()) heap_.push_back(stepper);
    }
    std::make_heap(heap_.begin(), heap_.end(), kLater);
  }

  const RowBlock* next() override {
    const size_t block_rows = rows_of_a_block(layout_);
    out_.clear();
    while (out_.size() < block_rows && !heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), kLater);
      take_run(heap_.back(), block_rows);
      if (heap_.back().valid()) {
        std::push_heap(heap_.begin(), heap_.end(), kLater);
      } else {
        heap_.pop_back();
      }
    }
    return out_.size() > 0 ? &out_ : nullptr;
  }

 private:
  static constexpr auto kLater = [](const RowStepper& a, const RowStepper& b) { return a.key() > b.key(); };

  // Takes rows of one cursor as long as its keys are the lowest: all of them, when there is no other.
  void take_run(RowStepper& from, size_t block_rows) {
    const bool alone = heap_.size() == 1;
    const uint64_t limit = alone ? UINT64_MAX : heap_.front().key();
    do {
      if (!keep_ || keep_(from.block(), from.index())) append_row(layout_, from.block(), from.index(), out_);
      from.advance();
    } while (from.valid() && (alone || from.key() < limit) && out_.size() < block_rows);
  }

  const TableLayout layout_;
  const KeepRow keep_;
  const std::vector<std::unique_ptr<RowCursor>> cursors_;
  std::vector<RowStepper> heap_;
  RowBlock out_;
};

}  // namespace

std::unique_ptr<RowCursor> merged_partitions(const TableLayout& layout,
                                             std::vector<std::unique_ptr<RowCursor>> cursors, KeepRow keep) {
  return std::make_unique<MergedPartitions>(layout, std::move(cursors), std::move(keep));
}

}  // namespace ps
