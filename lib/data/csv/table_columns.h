// TableColumns: the columns of a table as far as its records were seen, and the options that follow from them.  Used by
// learn_table.
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

// One owner thread.  Errors name the key of data.csv that is the way out.
class TableColumns {
 public:
  // The column `apart`, if that is not empty, is no slot: it says which examples are kept for validation.
  TableColumns(const CsvOptions& csv, const std::string& apart, bool multi_label)
      : csv_(csv), apart_(apart), multi_label_(multi_label) {}

  bool empty() const { return names_.empty(); }

  // For tables whose header says all columns: the label is the last one where no name is a usual one.  Throws kData for
  // names without sense, and kUsage when the options name columns that are not there.
  void set_header(const std::vector<std::string>& names);

  // The statistics of a column, or null when there are none: of weights, groups, the one that lies apart and names that are not in the header.
  ColumnStatistics* find(std::string_view name);

  // The same, which are new ones for a name that has not come before.  Throws kData when there are too many.
  ColumnStatistics* find_or_add(std::string_view name);

  // True of columns of type ignore.
  bool ignores(std::string_view name) const;

  // The options with all that was learnt.  A column has no value in those of the `records` in which it was not there.
  CsvOptions finish(int64_t records);

 private:
  const CsvColumn* given(std::string_view name) const;
  bool is_column_pattern(const CsvColumn& column) const;
  bool is_feature(std::string_view name) const;
  bool may_be_label(const std::string& name) const;
  void add(const std::string& name);
  WordUse word_use(const std::string& name, const CsvColumn* column) const;
  void leave_out_bins_of_taken_name(CsvColumn& column) const;
  void check_given() const;
  void find_label();
  void fill_in_classes();

  CsvOptions csv_;
  const std::string apart_;
  const bool multi_label_;          // the label's column has any number of them in each field
  std::vector<std::string> names_;  // in the order of the table
  std::map<std::string, ColumnStatistics, std::less<>> statistics_;
};

}  // namespace ps

#endif  // PS_DATA_CSV_TABLE_COLUMNS_H_
