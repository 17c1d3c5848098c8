// Ways through the rows of a table, and lines of text.  Used by the reports of this folder.
#ifndef PS_CHECKPOINT_INSPECT_TABLE_ROWS_H_
#define PS_CHECKPOINT_INSPECT_TABLE_ROWS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/model/model_format.h"
#include "checkpoint/model/model_source.h"
#include "checkpoint/model/row_names.h"
#include "config/json.h"

namespace ps {

// Calls body(rows, i) with each row of a table: row number i of a block.
template <class Body>
void each_row_of_blocks(ModelSource& source, size_t table, Body&& body) {
  auto cursor = source.rows(table);
  while (const RowBlock* rows = cursor->next()) {
    for (size_t i = 0; i < rows->size(); ++i) body(*rows, i);
  }
}

// Calls body(key, values) with each row of a table: its weights, then its state arrays.
template <class Body>
void each_row(ModelSource& source, size_t table, Body&& body) {
  const size_t values = static_cast<size_t>(source.tables()[table].values());
  each_row_of_blocks(source, table, [&](const RowBlock& rows, size_t i) {
    body(rows.keys[i], std::span(rows.values.data() + i * values, values));
  });
}

// Calls body with each row of weights, without state.  Throws kData if a weight is not finite.
template <class Body>
void each_finite_row(ModelSource& source, size_t table, Body&& body) {
  const ModelTable& shape = source.tables()[table];
  each_row(source, table, [&](uint64_t key, std::span<const float> values) {
    const std::span<const float> weights = values.first(static_cast<size_t>(shape.width));
    check_finite_row(shape.name, key, weights);
    body(key, weights);
  });
}

// A row that was asked for.
struct FoundRow {
  size_t table;  // index in source.tables()
  uint64_t key;
  std::vector<float> values;              // its weights, then its state arrays
  std::optional<RowHistory> counts = {};  // in a table that counts
};

// The row `row`, a key or a name, of each table that has it.  A number is a key.  Throws kUsage when no table has it.
std::vector<FoundRow> find_rows(ModelSource& source, const RowNames& names, const std::string& row);

// {"key", "name"?}
Json key_json(const RowNames& names, const std::string& table, uint64_t key);

// "key", or "key (name)" of such an object.
std::string key_text(const Json& row);

// Lines of columns with two blanks between, each as wide as its longest cell; numbers are aligned to the right.
std::string aligned(const std::vector<std::vector<std::string>>& lines);

}  // namespace ps

#endif  // PS_CHECKPOINT_INSPECT_TABLE_ROWS_H_
