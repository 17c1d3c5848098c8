// The columns of a table that data.csv.labels names.  With data.multi_label each tells of one or more classes if an
// example has them; without it each is a label of its own, for a cost that names it.
// Used by the encoder of records, and by the code that learns the classes.
#ifndef PS_DATA_CSV_LABEL_COLUMNS_H_
#define PS_DATA_CSV_LABEL_COLUMNS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/batch.h"
#include "data/csv/word_numbers.h"

namespace ps {

// Returns true for 1, true and yes; false for 0, -1, false and no, in small or capital letters; nullopt for all
// else.
std::optional<bool> truth_of(std::string_view word);

// Returns the name of the class of the examples that have this word in a column: "colour=red".
std::string class_of_word(std::string_view column, std::string_view word);

// Constant after construction: many threads share one.
//
// A column that holds truths is a class of its own, which is called as the column.  In any other column each
// word is a class.
class LabelColumn {
 public:
  // Finds the column's classes among the names of all, and numbers them among all, or if `own` among those of the
  // column.  A column that is a label of its own may have none: it holds numbers then.  Throws kUsage for any other
  // without classes.
  LabelColumn(const std::string& name, const std::vector<std::string>& classes, bool own);

  const std::string& name() const { return name_; }

  // Appends the class that a word of the column tells of, if the example has it.  Words that are no classes
  // throw kData, unless `lenient`.
  void put(std::string_view word, bool lenient, std::vector<Key>& classes) const;

  // Returns the label that a word of the column is: 1 or 0 of a truth, the number of a class, or the number itself.  Words
  // that are none throw kData, unless `lenient`.
  std::optional<float> value(std::string_view word, bool lenient) const;

 private:
  [[noreturn]] void fail_no_truth(std::string_view word) const;
  [[noreturn]] void fail_no_class(std::string_view word) const;

  const std::string name_;
  std::optional<Key> truth_;  // the class of a column that holds truths
  WordNumbers words_;         // else the class of each word
};

}  // namespace ps

#endif  // PS_DATA_CSV_LABEL_COLUMNS_H_
