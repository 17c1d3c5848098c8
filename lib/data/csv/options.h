// The "csv" section of a job's data: the syntax of a table, and how its columns become labels and slots.
// Values that were learnt from the training data are keys of it too, so that a job with these values reads any
// other table in the same way.
#ifndef PS_DATA_CSV_OPTIONS_H_
#define PS_DATA_CSV_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/fwd.h"
#include "data/batch.h"
#include "data/text_features.h"

namespace ps {

// One column that becomes a slot.
struct CsvColumn : TextFeatureOptions {
  std::string name;
  std::string type = "auto";     // auto | number | category | categories | text | ignore
  std::string scale = "auto";    // for numbers: auto | none | standard | min_max | log | bins
  int bins = 32;                 // largest number of bins
  std::string separator = "|";   // separates the words of categories
  int64_t dictionary = 0;        // largest number of words with ids of their own; 0: words are hashed
  bool own_ids = false;          // ids of the dictionary count from 0, apart from those of other columns
  std::string missing = "auto";  // auto | indicator | none
  // A name.  Columns with the same one give equal words equal ids; empty: that of the column.
  std::string ids_of;

  // Learnt: a number x becomes (x - offset) / divisor, after the logarithm if the scale is log.
  double offset = 0, divisor = 1;
  std::vector<double> edges;       // of bins: a number is in the bin of as many edges as are not above it
  std::vector<std::string> words;  // of the dictionary
  std::vector<std::string> hashed_words;  // all that were seen, where they are few and are hashed

  static const ObjectSpec<CsvColumn>& spec();

  // The seed of hashes of words.
  uint64_t seed() const;

  bool is_number() const { return type == "number" && scale != "bins"; }
  bool is_binned() const { return type == "number" && scale == "bins"; }
  bool indicates_missing() const { return missing == "indicator"; }
  // Returns the number of the column's own ids: its bins or words, one more for other words, and one for
  // missing values; 0: its ids are hashes.
  int64_t num_ids() const;
  // The same of a column whose ids go on behind those of the columns before it; else 0.
  int64_t num_shared_ids() const { return own_ids ? 0 : num_ids(); }
};

// Returns true for a number that has a second slot with its bin, which the end of its scale tells.
bool has_bins_beside(const CsvColumn& column);
inline constexpr std::string_view kBinsBeside = "+bins";

// Returns the name of that slot.
std::string bin_slot(const CsvColumn& column);

struct CsvOptions {
  std::string separator;           // one byte; empty: a comma, or a tab for tsv
  std::string quote = "\"";        // one byte, or empty: nothing is quoted
  std::string escape;              // one byte, or empty: a quote is doubled to stand for itself
  std::vector<std::string> names;  // column names of files without a header
  std::vector<std::string> missing_values = {"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?"};
  std::string label;  // name of the label's column; empty: it is searched
  // Columns that are labels: classes of one cost with data.multi_label, else labels of several costs.  Empty: there
  // is the column `label` alone.
  std::vector<std::string> labels;
  // one byte that separates the labels of an example with data.multi_label
  std::string label_separator = "|";
  // Words of the labels, in the order of the classes; empty: labels are numbers.
  std::vector<std::string> classes;
  std::string weight, group;  // names of columns; empty: none
  std::vector<CsvColumn> columns;
  bool learnt = false;  // columns, classes and label are known

  static const ObjectSpec<CsvOptions>& spec();

  char separator_of(const std::string& format) const;

  // Returns a slot for each column: dense with the number, and 1 if it is missing; or sparse with ids.
  DataSchema schema() const;
};

}  // namespace ps

#endif  // PS_DATA_CSV_OPTIONS_H_
