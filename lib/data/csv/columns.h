// The part that each field of a table's records has, by its header.  Used by the parser of tables.
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
  kWeight,
  kGroup,
  kNumber,
  kNumberAndBin,  // whose bin is in the slot after it
  kBins,
  kWord,
  kWords,
  kWholeText
};

struct FieldUse {
  FieldKind kind = FieldKind::kIgnored;
  size_t column = 0;  // in CsvOptions::columns
  size_t slot = 0;    // of the batch
};

// True for a number that has a second slot, with its bin: the end of its scale says so.
bool has_bins_beside(const CsvColumn& column);
inline constexpr std::string_view kBinsBeside = "+bins";

// The name of that slot.
std::string bin_slot(const CsvColumn& column);

// The names in a header.
std::vector<std::string> header_names(std::string_view header, const CsvDialect& dialect);

// The schema of data whose columns were learnt.  Throws kUsage when they were not.
DataSchema learnt_table_schema(const DataOptions& data);

CsvDialect csv_dialect(const DataOptions& data);

// The place of a column among those of a header.  Throws kData when it is not there.
size_t need_name(const std::vector<std::string>& names, const std::string& name);

// The use of each field of a file with these columns.  A label is needed unless the options say otherwise.  Throws kData
// when a column is not there.
std::vector<FieldUse> field_uses(const DataOptions& data, const std::vector<std::string>& names);

}  // namespace ps

#endif  // PS_DATA_CSV_COLUMNS_H_
