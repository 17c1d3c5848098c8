// The "csv" section of a job's data: how a table is written, and how its columns become labels and slots.  Values that
// were learnt from the training data are keys of it too, so that a job that was filled in reads any other table in the same way.
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
  std::string scale = "auto";    // of numbers: auto | none | standard | min_max | log | bins
  int bins = 32;                 // most bins
  std::string separator = "|";   // between the words of categories
  int64_t dictionary = 0;        // most words that get an id of their own; 0: words are hashed
  std::string missing = "auto";  // auto | indicator | none
  std::string
      ids_of;  // a name; columns of the same one give equal words equal ids; empty: that of the column

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
  // Ids of its own: bins or words, one more for other words, and one for missing values; 0: its ids are hashes.
  int64_t num_ids() const;
};

struct CsvOptions {
  std::string separator;           // one byte; empty: a comma, of tsv a tab
  std::string quote = "\"";        // one byte, or empty: nothing is quoted
  std::string escape;              // one byte, or empty: a quote is doubled to stand for itself
  std::vector<std::string> names;  // of the columns of files without a header
  std::vector<std::string> missing_values = {"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?"};
  std::string label;                  // column; empty: found
  std::string label_separator = "|";  // one byte, between the labels of an example with data.multi_label
  std::vector<std::string>
      classes;                // words that labels are, in the order of the classes; empty: labels are numbers
  std::string weight, group;  // columns; empty: none
  std::vector<CsvColumn> columns;
  bool learnt = false;  // columns, classes and label are known

  static const ObjectSpec<CsvOptions>& spec();

  char separator_of(const std::string& format) const;

  // A slot for each column: dense with the number, and 1 where it is missing; or sparse with ids.
  DataSchema schema() const;
};

}  // namespace ps

#endif  // PS_DATA_CSV_OPTIONS_H_
