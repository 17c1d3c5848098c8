// The use of each field of a table's records, which its header gives.  Used by the parser of tables.
#ifndef PS_DATA_CSV_COLUMNS_H_
#define PS_DATA_CSV_COLUMNS_H_

#include <string>
#include <string_view>
#include <vector>

#include "data/csv/fields.h"
#include "data/options.h"

namespace ps {

enum class FieldKind {
  kIgnored,
  kLabel,
  kLabels,
  kLabelColumn,  // one of data.csv.labels
  kWeight,
  kGroup,
  kNumber,
  kNumberAndBin,  // a number, whose bin is in the slot after it
  kBins,
  kWord,
  kWords,
  kWholeText
};

struct FieldUse {
  FieldKind kind = FieldKind::kIgnored;
  size_t column = 0;  // index in CsvOptions::columns; of a label column, in CsvOptions::labels
  size_t slot = 0;    // index of its slot in the batch
};

// Returns the names in a header.
std::vector<std::string> header_names(std::string_view header, const CsvDialect& dialect);

// Returns the schema of data whose columns were learnt.  Throws kUsage if they were not.
DataSchema learnt_table_schema(const DataOptions& data);

CsvDialect csv_dialect(const DataOptions& data);

// Returns the position of a column among the names of a header.  Throws kData if it is missing.
size_t need_name(const std::vector<std::string>& names, const std::string& name);

// Returns the use of each field of a file with these columns.  A label is needed unless the options say
// otherwise.  Throws kData if a column is missing.
std::vector<FieldUse> field_uses(const DataOptions& data, const std::vector<std::string>& names);

}  // namespace ps

#endif  // PS_DATA_CSV_COLUMNS_H_
