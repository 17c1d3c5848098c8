#include "data/csv/columns.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "data/format.h"

namespace ps {

namespace {

FieldKind kind_of(const CsvColumn& column) {
  if (column.type == "ignore") return FieldKind::kIgnored;
  if (column.is_binned()) return FieldKind::kBins;
  if (has_bins_beside(column)) return FieldKind::kNumberAndBin;
  if (column.is_number()) return FieldKind::kNumber;
  if (column.type == "text") return FieldKind::kWholeText;
  return column.type == "category" ? FieldKind::kWord : FieldKind::kWords;
}

std::optional<size_t> find_name(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<size_t>(found - names.begin());
}

}  // namespace

size_t need_name(const std::vector<std::string>& names, const std::string& name) {
  if (const auto found = find_name(names, name)) return *found;
  fail(Code::kData, "there is no column ", quote(name), did_you_mean(name, names), " in the header");
}

DataSchema learnt_table_schema(const DataOptions& data) {
  if (data.csv.learnt) return data.with_labels(data.csv.schema(), data.csv.classes.size(), data.csv.labels);
  fail(Code::kUsage,
       "data.csv: nothing is known of the columns: ps-train learns it from the data that it trains on, and "
       "--model DIR has it");
}

CsvDialect csv_dialect(const DataOptions& data) {
  auto byte = [](const std::string& text) { return text.empty() ? '\0' : text[0]; };
  return {data.csv.separator_of(data.format), byte(data.csv.quote), byte(data.csv.escape)};
}

std::vector<std::string> header_names(std::string_view header, const CsvDialect& dialect) {
  const std::string padded = std::string(header) + std::string(Block::kPadding, '\0');
  CsvFields fields(dialect);
  fields.cut(padded.data(), padded.data() + header.size());
  std::vector<std::string> names;
  for (size_t i = 0; i < fields.size(); ++i) names.emplace_back(fields[i]);
  return names;
}

// Slots are numbered in the order of the options' columns, whatever the order of the file, so that all
// files give the same schema; labels have the slots behind them.  A label that the task does not need may
// be missing, but is used if it is there.  Columns that nothing names keep the use kIgnored.
std::vector<FieldUse> field_uses(const DataOptions& data, const std::vector<std::string>& names) {
  const CsvOptions& csv = data.csv;
  std::vector<FieldUse> uses(names.size());
  size_t slots = 0;
  for (size_t c = 0; c < csv.columns.size(); ++c) {
    const FieldKind kind = kind_of(csv.columns[c]);
    if (kind == FieldKind::kIgnored) continue;
    uses[need_name(names, csv.columns[c].name)] = {kind, c, slots};
    slots += kind == FieldKind::kNumberAndBin ? 2 : 1;
  }
  const bool needs_label = data.labelled() && data.label_use != LabelUse::kIgnored;
  const bool one_column = csv.labels.empty();
  const std::optional<size_t> label =
      needs_label && one_column ? need_name(names, csv.label) : find_name(names, csv.label);
  const FieldUse one_label{FieldKind::kLabel}, labels{FieldKind::kLabels, 0, slots};
  if (label && data.labelled()) uses[*label] = data.multi_label ? labels : one_label;
  for (size_t i = 0; i < csv.labels.size() && data.labelled(); ++i) {
    const auto found = needs_label ? need_name(names, csv.labels[i]) : find_name(names, csv.labels[i]);
    if (found) uses[*found] = {FieldKind::kLabelColumn, i, data.multi_label ? slots : slots + i};
  }
  if (!csv.weight.empty()) uses[need_name(names, csv.weight)] = {FieldKind::kWeight};
  if (!csv.group.empty()) uses[need_name(names, csv.group)] = {FieldKind::kGroup};
  return uses;
}

}  // namespace ps
