// TableColumns: the columns of a table in the records seen so far, and the options that follow from them.  Used
// by learn_table.
#ifndef PS_DATA_CSV_TABLE_COLUMNS_H_
#define PS_DATA_CSV_TABLE_COLUMNS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "data/csv/column_statistics.h"
#include "data/csv/options.h"

namespace ps {

// One owner thread.  Errors name the key of data.csv with which the user can solve the problem.
class TableColumns {
 public:
  // The column `apart`, if it is not empty, is no slot; it decides which examples are kept for validation.
  TableColumns(const CsvOptions& csv, const std::string& apart, bool multi_label)
      : csv_(csv), apart_(apart), multi_label_(multi_label) {}

  bool empty() const { return names_.empty(); }

  // For tables whose header names all columns.  If no name is a usual one of a label, the last column is the
  // label.  Throws kData for invalid names, and kUsage if the options name columns that do not exist.
  void set_header(const std::vector<std::string>& names);

  // Returns the statistics of a column, or null if it has none: weights, groups, the column `apart`, and names
  // that are not in the header.
  ColumnStatistics* find(std::string_view name);

  // Does the same, and adds statistics for a new name.  Throws kData if there are too many.
  ColumnStatistics* find_or_add(std::string_view name);

  // Returns true for columns of type ignore.
  bool ignores(std::string_view name) const;

  // Returns the options with all learnt values.  A column has a missing value in each of the `records` in which
  // it did not occur.
  CsvOptions finish(int64_t records);

 private:
  const CsvColumn* given(std::string_view name) const;
  bool is_column_pattern(const CsvColumn& column) const;
  bool is_feature(std::string_view name) const;
  bool is_label_column(std::string_view name) const;
  bool may_be_label(const std::string& name) const;
  void add(const std::string& name);
  WordUse word_use(const std::string& name, const CsvColumn* column) const;
  void leave_out_bins_of_taken_name(CsvColumn& column) const;
  void check_given() const;
  void find_label();
  void find_label_columns();
  void fill_in_classes();
  std::vector<std::string> label_columns() const;
  void fill_in_label_columns();
  void add_classes_of(const std::string& label);

  CsvOptions csv_;
  const std::string apart_;
  const bool multi_label_;          // fields of the label's column have any number of labels
  std::vector<std::string> names_;  // column names in the order of the table
  std::map<std::string, ColumnStatistics, std::less<>> statistics_;
};

}  // namespace ps

#endif  // PS_DATA_CSV_TABLE_COLUMNS_H_
