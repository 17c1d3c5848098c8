// The columns of tables whose lines are fuzzed.  Used by the harnesses of csv and of lines of JSON.
#ifndef PS_TESTS_FUZZ_TABLE_COLUMN_H_
#define PS_TESTS_FUZZ_TABLE_COLUMN_H_

#include <string>

#include "data/csv/learn.h"

namespace ps {

// Missing values are told, numbers have two edges, and two words are known.
inline CsvColumn table_column(const std::string& name, const std::string& type,
                              const std::string& scale = "standard") {
  CsvColumn column;
  column.name = name;
  column.type = type;
  column.scale = scale;
  column.missing = "indicator";
  column.edges = {1, 2.5};
  column.words = {"a", "b"};
  return column;
}

}  // namespace ps

#endif  // PS_TESTS_FUZZ_TABLE_COLUMN_H_
