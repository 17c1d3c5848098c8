// Writes cells in columns, and numbers with units.  Used by the plans of bench/plan and the measurements of
// bench/link.
#ifndef PS_BENCH_PLAN_COLUMNS_H_
#define PS_BENCH_PLAN_COLUMNS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ps {

using Cells = std::vector<std::string>;

// Writes rows of cells, the headings first, under a title: as aligned columns, the first one to the left, or
// as a table of Markdown.
std::string titled_table(const std::string& title, const std::vector<Cells>& rows, bool markdown);

// Returns "12.3 ms": the value in the largest unit in which it is at least 1.
std::string seconds_text(double seconds);

// Returns "2.5 Gbit/s" for 2.5e9 and "bit/s".
std::string quantity_text(double value, const std::string& unit);

// Reads a rate of bits or operations a second such as "10G", whose units are powers of 1000: from 1 to 10^15.
// Returns nullopt for other texts.
std::optional<double> parse_decimal_rate(std::string_view text);

// Writes a rate as parse_decimal_rate reads it: "10G" for 1e10.
std::string decimal_rate_text(double rate);

}  // namespace ps

#endif  // PS_BENCH_PLAN_COLUMNS_H_
