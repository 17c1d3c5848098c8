#include "checkpoint/row_cursor.h"

#include <cstring>

#include "checkpoint/row_chunks.h"

namespace ps {

namespace {

template <class T>
bool same_numbers(const std::vector<T>& a, size_t i, const std::vector<T>& b, size_t j, size_t count) {
  return count == 0 || std::memcmp(a.data() + i * count, b.data() + j * count, count * sizeof(T)) == 0;
}

template <class T>
void append_numbers(const std::vector<T>& from, size_t i, std::vector<T>& to, size_t count) {
  to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(i * count),
            from.begin() + static_cast<std::ptrdiff_t>((i + 1) * count));
}

// Walks through the gone keys in order.
class GoneKeys {
 public:
  explicit GoneKeys(std::unique_ptr<KeyCursor> cursor) : cursor_(std::move(cursor)) { refill(); }

  // Returns true if the key is gone.  Calls must be in ascending order of keys.
  bool contains(uint64_t key) {
    while (keys_ != nullptr && (*keys_)[index_] < key) {
      if (++index_ == keys_->size()) refill();
    }
    return keys_ != nullptr && (*keys_)[index_] == key;
  }

 private:
  void refill() {
    keys_ = cursor_->next();
    index_ = 0;
  }

  const std::unique_ptr<KeyCursor> cursor_;
  const std::vector<uint64_t>* keys_ = nullptr;
  size_t index_ = 0;
};

class MergedRows final : public RowCursor {
 public:
  MergedRows(const TableLayout& layout, std::unique_ptr<RowCursor> base, std::unique_ptr<RowCursor> changes,
             std::unique_ptr<KeyCursor> gone)
      : layout_(layout),
        block_rows_(rows_of_a_block(layout) / 8 + 1),
        base_cursor_(std::move(base)),
        changes_cursor_(std::move(changes)),
        base_(base_cursor_.get()),
        changes_(changes_cursor_.get()),
        gone_(std::move(gone)) {}

  // Merges two ascending streams.  A changed row comes before a row of the base with the same key, and
  // replaces it; rows of the base whose keys are gone are left out.
  const RowBlock* next() override {
    out_.clear();
    while (out_.size() < block_rows_ && (base_.valid() || changes_.valid())) {
      const bool changed = changes_.valid() && (!base_.valid() || changes_.key() <= base_.key());
      if (changed) {
        if (base_.valid() && base_.key() == changes_.key()) base_.advance();
        append_row(layout_, changes_.block(), changes_.index(), out_);
        changes_.advance();
      } else {
        if (!gone_.contains(base_.key())) append_row(layout_, base_.block(), base_.index(), out_);
        base_.advance();
      }
    }
    return out_.size() > 0 ? &out_ : nullptr;
  }

 private:
  const TableLayout layout_;
  const size_t block_rows_;
  const std::unique_ptr<RowCursor> base_cursor_, changes_cursor_;
  RowStepper base_, changes_;
  GoneKeys gone_;
  RowBlock out_;
};

}  // namespace

// Bits are compared, not numbers: a NaN equals itself, and -0 differs from 0.
bool same_row(const TableLayout& layout, const RowBlock& a, size_t i, const RowBlock& b, size_t j) {
  return same_numbers(a.values, i, b.values, j, static_cast<size_t>(layout.values())) &&
         same_numbers(a.stamps, i, b.stamps, j, layout.stamped ? 1 : 0) &&
         same_numbers(a.statistics, i, b.statistics, j, layout.statistics.size());
}

void append_row(const TableLayout& layout, const RowBlock& from, size_t i, RowBlock& to) {
  to.keys.push_back(from.keys[i]);
  append_numbers(from.values, i, to.values, static_cast<size_t>(layout.values()));
  append_numbers(from.stamps, i, to.stamps, layout.stamped ? 1 : 0);
  append_numbers(from.statistics, i, to.statistics, layout.statistics.size());
}

std::unique_ptr<RowCursor> merged_rows(const TableLayout& layout, std::unique_ptr<RowCursor> base,
                                       std::unique_ptr<RowCursor> changes, std::unique_ptr<KeyCursor> gone) {
  return std::make_unique<MergedRows>(layout, std::move(base), std::move(changes), std::move(gone));
}

}  // namespace ps
