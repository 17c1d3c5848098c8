#include "bench/plan/columns.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/text.h"

namespace ps {

namespace {

// Returns the rows with each column as wide as its widest cell: the first to the left, numbers to the
// right.
std::string aligned(const std::vector<Cells>& rows) {
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const Cells& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const Cells& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      append(out, i == 0 ? row[i] + space : cat("  ", space, row[i]));
    }
    append(out, "\n");
  }
  return out;
}

// Returns a table of Markdown; the line of dashes behind the headings aligns all columns but the first to
// the right.
std::string in_markdown(const std::vector<Cells>& rows) {
  std::string out;
  for (size_t i = 0; i < rows.size(); ++i) {
    append(out, "|");
    for (const std::string& cell : rows[i]) append(out, cat(" ", cell, " |"));
    append(out, "\n");
    for (size_t j = 0; i == 0 && j < rows[i].size(); ++j) append(out, j == 0 ? "|---|" : "---:|");
    if (i == 0) append(out, "\n");
  }
  return out;
}

// A unit, and its size in the basic unit.
struct NamedUnit {
  double size;
  const char* name;
};

// Returns the largest unit in which the value is at least 1, or the last unit if there is none.
const NamedUnit& unit_for(double value, std::span<const NamedUnit> units) {
  const auto fits = [&](const NamedUnit& unit) { return std::fabs(value) >= unit.size; };
  const auto found = std::ranges::find_if(units, fits);
  return found == units.end() ? units.back() : *found;
}

constexpr NamedUnit kThousands[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}};

}  // namespace

std::string titled_table(const std::string& title, const std::vector<Cells>& rows, bool markdown) {
  return markdown ? cat("\n**", title, "**\n\n", in_markdown(rows)) : cat("\n", title, "\n", aligned(rows));
}

std::string seconds_text(double seconds) {
  static constexpr NamedUnit kUnits[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}};
  if (seconds == 0) return "0";
  const NamedUnit& unit = unit_for(seconds, kUnits);
  return cat(significant(seconds / unit.size, 3), " ", unit.name);
}

std::string quantity_text(double value, const std::string& unit) {
  const NamedUnit& thousands = unit_for(value, kThousands);
  const std::string number = significant(value / thousands.size, 3), name = thousands.name + unit;
  return name.empty() ? number : cat(number, " ", name);
}

// The unit is the last character, if it is one of kThousands, or K, which people write for k.  The
// comparisons are such that they refuse NaN.
std::optional<double> parse_decimal_rate(std::string_view text) {
  constexpr double kMostRate = 1e15;
  double unit = 1;
  if (text.ends_with('K')) unit = 1e3;
  for (const NamedUnit& each : kThousands) {
    if (each.size > 1 && text.ends_with(each.name)) unit = each.size;
  }
  if (unit > 1) text.remove_suffix(1);
  const std::optional<double> number = parse_double(text);
  if (!number || !(*number * unit >= 1) || !(*number * unit <= kMostRate)) return std::nullopt;
  return *number * unit;
}

std::string decimal_rate_text(double rate) {
  const NamedUnit& thousands = unit_for(rate, kThousands);
  return significant(rate / thousands.size, 6) + thousands.name;
}

}  // namespace ps
