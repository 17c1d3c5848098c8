// FieldRows: the fields of some records of a table, which are encoded column by column.  Used by the parser of tables.
#ifndef PS_DATA_CSV_FIELD_ROWS_H_
#define PS_DATA_CSV_FIELD_ROWS_H_

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace ps {

// One field of each of some records: a column of FieldRows.
struct FieldColumn {
  const std::string_view* first = nullptr;
  size_t stride = 0;  // fields from one record to the next
  size_t size = 0;    // records

  std::string_view operator[](size_t i) const { return first[i * stride]; }
};

// Records with the same number of fields, which are views into text that stays where it is.  One owner thread.
class FieldRows {
 public:
  // It takes `columns` fields a record, and as many records as fit the nearest cache with their text.
  explicit FieldRows(size_t columns)
      : columns_(columns), most_(std::max<size_t>(1, kMostFields / std::max<size_t>(1, columns))) {
    fields_.reserve(most_ * columns_);
  }

  // The fields are those of one record.
  void append(std::span<const std::string_view> fields) {
    fields_.insert(fields_.end(), fields.begin(), fields.end());
    ++size_;
  }
  void clear() {
    fields_.clear();
    size_ = 0;
  }

  size_t size() const { return size_; }
  bool full() const { return size_ == most_; }
  FieldColumn column(size_t index) const { return {fields_.data() + index, columns_, size_}; }

 private:
  static constexpr size_t kMostFields = 1024;

  const size_t columns_, most_;
  std::vector<std::string_view> fields_;
  size_t size_ = 0;
};

}  // namespace ps

#endif  // PS_DATA_CSV_FIELD_ROWS_H_
