// Cells in columns and numbers in units, as plans and runs over links print them.  Used by bench/plan and
// bench/link.
#ifndef PS_BENCH_PLAN_COLUMNS_H_
#define PS_BENCH_PLAN_COLUMNS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ps {

using Cells = std::vector<std::string>;

// Rows of cells, the headings first, under a title: aligned columns, the first to the left, or a table of
// Markdown.
std::string titled_table(const std::string& title, const std::vector<Cells>& rows, bool markdown);

// "12.3 ms": in the largest unit that leaves a digit before the point.
std::string seconds_text(double seconds);

// "2.5 Gbit/s" of 2.5e9 and "bit/s".
std::string quantity_text(double value, const std::string& unit);

// "10G" of bits or operations a second, in thousands: from 1 to 10^15.  Nothing for other texts.
std::optional<double> parse_decimal_rate(std::string_view text);

// The same the other way round: "10G" of 1e10.
std::string decimal_rate_text(double rate);

}  // namespace ps

#endif  // PS_BENCH_PLAN_COLUMNS_H_
