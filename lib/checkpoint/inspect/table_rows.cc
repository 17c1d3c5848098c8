#include "checkpoint/inspect/table_rows.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "checkpoint/model/numbers.h"

namespace ps {

namespace {

std::vector<std::string> table_names(const ModelSource& source) {
  std::vector<std::string> names;
  for (const ModelTable& table : source.tables()) names.push_back(table.name);
  return names;
}

// Reads the whole table even after the row was found, since only this checks the table for damage.
std::optional<FoundRow> read_row(ModelSource& source, size_t table, uint64_t wanted) {
  const ModelTable& shape = source.tables()[table];
  const size_t values = static_cast<size_t>(shape.values());
  std::optional<FoundRow> found;
  each_row_of_blocks(source, table, [&](const RowBlock& rows, size_t i) {
    if (rows.keys[i] != wanted) return;
    const float* begin = rows.values.data() + i * values;
    found.emplace(FoundRow{table, wanted, {begin, begin + values}, {}});
    if (shape.counted) found->counts = counts_of(rows, i);
  });
  return found;
}

[[noreturn]] void fail_no_row(const ModelSource& source, const RowNames& names, const std::string& row) {
  const std::string tables = join(table_names(source), ", ");
  if (parse_uint(row)) {
    fail(Code::kUsage, "no row ", row, " in ", tables, ": it is beyond their keys, or was never trained");
  }
  if (!names.empty()) fail(Code::kUsage, "no row is named ", quote(row), " in ", tables);
  fail(Code::kUsage, "no row is named ", quote(row), ", since the rows of ", tables,
       " have no names here: give a key, or the words with --vocabulary");
}

bool is_number(const std::string& cell) {
  return !cell.empty() && (parse_double(cell).has_value() || cell == "-");
}

}  // namespace

// A number is a key, even if some row has it as its name; any other text is a name, whose key may differ
// from table to table.
std::vector<FoundRow> find_rows(ModelSource& source, const RowNames& names, const std::string& row) {
  std::vector<FoundRow> found;
  for (size_t t = 0; t < source.tables().size(); ++t) {
    std::optional<uint64_t> key = parse_uint(row);
    if (!key) key = names.key(source.tables()[t].name, row);
    if (!key) continue;
    if (auto row_of_table = read_row(source, t, *key)) found.push_back(std::move(*row_of_table));
  }
  if (found.empty()) fail_no_row(source, names, row);
  return found;
}

Json key_json(const RowNames& names, const std::string& table, uint64_t key) {
  Json out = {{"key", key}};
  const std::string_view name = names.name(table, key);
  if (!name.empty()) out["name"] = name;
  return out;
}

std::string key_text(const Json& row) {
  const std::string key = std::to_string(row["key"].get<uint64_t>());
  return row.contains("name") ? cat(key, " (", row["name"].get<std::string>(), ")") : key;
}

// Returns the lines as text in columns, two blanks apart: numbers stand at the right of their column, words
// at the left.
std::string aligned(const std::vector<std::vector<std::string>>& lines) {
  std::vector<size_t> widths;
  for (const std::vector<std::string>& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], line[c].size());
  }
  std::string out;
  for (const std::vector<std::string>& line : lines) {
    std::string text;
    for (size_t c = 0; c < line.size(); ++c) {
      const std::string blanks(widths[c] - line[c].size(), ' ');
      text += cat(c > 0 ? "  " : "", is_number(line[c]) ? blanks + line[c] : line[c] + blanks);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  }
  return out;
}

}  // namespace ps
