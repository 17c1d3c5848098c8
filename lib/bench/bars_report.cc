#include "bench/bars_report.h"

#include <algorithm>

#include "base/text.h"
#include "bench/bars.h"
#include "bench/report.h"
#include "config/json.h"

namespace ps {

namespace {

using Cells = std::vector<std::string>;

// Calls body(benchmark, bar, result) for each bar of the tasks; `result` is null if the benchmark has none.
template <class Body>
void for_bars(std::span<const Task> tasks, std::span<const Result> results, Body&& body) {
  for (const Task& task : tasks) {
    auto same = [&](const Result& result) {
      return result.name == task.benchmark->name && result.threads == task.threads;
    };
    auto found = std::find_if(results.begin(), results.end(), same);
    const Result* result = found == results.end() ? nullptr : &*found;
    for (const Bar& bar : task.benchmark->bars) {
      if (bar.threads == task.threads) body(*task.benchmark, bar, result);
    }
  }
}

std::optional<double> measured_or_none(const Bar& bar, const Result* result,
                                       std::span<const Result> results) {
  return result == nullptr ? std::nullopt : measured(bar, *result, results);
}

// Writes four digits, so that a bound of 1.005 shows.
std::string value_text(const Bar& bar, double value, const std::string& rate_unit) {
  if (bar.quantity == Quantity::kRate) return rate_text(value, rate_unit);
  if (bar.quantity == Quantity::kLimitShare) return share_text(value);
  return cat(significant(value, 4), " ", bar.unit);
}

std::string bound_text(const Bar& bar, const std::optional<double>& bound, const std::string& rate_unit) {
  if (!bound) return "-";
  return cat(bar.at_least ? ">= " : "<= ", value_text(bar, *bound, rate_unit));
}

// Returns the result of a peer in the same run, in the bar's quantity; nullopt for quantities that compare
// programs.
std::optional<double> of_peer(const Bar& bar, const Result& peer, std::span<const Result> results) {
  Bar plain = bar;
  if (bar.quantity == Quantity::kThreadGain || bar.quantity == Quantity::kLimitShare) return std::nullopt;
  if (bar.quantity == Quantity::kPeerRate) plain.quantity = Quantity::kRate;
  if (bar.quantity == Quantity::kPeerTime) plain.quantity = Quantity::kSeconds;
  if (bar.quantity == Quantity::kPeerFigure) plain.quantity = Quantity::kFigure;
  return measured(plain, peer, results);
}

std::string peer_text(const Bar& bar, const Result& peer, double value) {
  switch (bar.quantity) {
    case Quantity::kPeerRate:
      return rate_text(value, peer.unit);
    case Quantity::kPeerTime:
      return cat(significant(value, 3), " s");
    case Quantity::kPeerFigure:
      return significant(value, 4);
    default:
      return value_text(bar, value, peer.unit);
  }
}

// Returns the column "beside": "liblinear 24.3 s, Vowpal Wabbit 9.11: 1.2 s (stated)".
std::string beside_text(const Bar& bar, const Result* result, std::span<const Result> results) {
  Cells parts;
  bool stated_ran = false;
  for (const auto& [name, ratio] : result == nullptr ? Result().peers : result->peers) {
    const Result* peer = find_result(results, name, result->threads);
    std::optional<double> value = peer == nullptr ? std::nullopt : of_peer(bar, *peer, results);
    if (!value) continue;
    parts.push_back(cat(last_part(name), " ", peer_text(bar, *peer, *value)));
    stated_ran |= name == bar.stated.peer;
  }
  if (!bar.stated.text.empty() && !stated_ran) parts.push_back(cat(bar.stated.text, " (stated)"));
  return parts.empty() ? "-" : join(parts, ", ");
}

// Returns the line of a bar.  There is no verdict at other sizes than 1, since caches and fixed costs
// change ratios.
Cells bar_cells(const Benchmark& benchmark, const Bar& bar, const Result* result,
                std::span<const Result> results, double scale) {
  std::optional<double> value = measured_or_none(bar, result, results);
  return {bar.what,
          std::to_string(bar.threads),
          value ? value_text(bar, *value, benchmark.unit) : "-",
          bound_text(bar, bar.must, benchmark.unit),
          bound_text(bar, bar.want, benchmark.unit),
          scale == 1 ? verdict(bar, value) : "-",
          result == nullptr ? "-" : share_text(result->of_limit),
          beside_text(bar, result, results)};
}

std::vector<Cells> limit_rows(std::span<const Result> results) {
  std::vector<Cells> rows = {{"limit", "threads", "median"}};
  for (const Result& result : results) {
    if (!result.name.starts_with("limits/") || !result.skipped.empty()) continue;
    rows.push_back(
        {result.name, std::to_string(result.threads), rate_text(result.median_rate(), result.unit)});
  }
  return rows;
}

// Aligns the columns; the first row is the heading.  All columns are aligned to the left, since the column
// "beside" is text too.
std::string aligned(const std::vector<Cells>& rows) {
  std::vector<size_t> widths(rows[0].size());
  for (const Cells& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const Cells& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) out += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  return out;
}

std::string markdown_table(const std::vector<Cells>& rows) {
  std::string out;
  for (size_t i = 0; i < rows.size(); ++i) {
    out += cat("| ", join(rows[i], " | "), " |\n");
    if (i > 0) continue;
    for (size_t column = 0; column < rows[0].size(); ++column) out += "|---";
    out += "|\n";
  }
  return out;
}

// Indents each line, since Markdown joins lines that are not indented.
std::string indented(const std::string& text) {
  std::string out;
  for (std::string_view line : split(text, '\n')) {
    if (!line.empty()) out += cat("    ", line, "\n");
  }
  return out;
}

}  // namespace

// The tables have a line for each bar, in the order of the tasks, and one for each limit that ran.
std::string bars_report(const Machine& machine, double scale, int runs, std::span<const Task> tasks,
                        std::span<const Result> results, bool markdown) {
  std::vector<Cells> bars = {
      {"what", "threads", "measured", "must", "want", "verdict", "of limit", "beside"}};
  for_bars(tasks, results, [&](const Benchmark& benchmark, const Bar& bar, const Result* result) {
    bars.push_back(bar_cells(benchmark, bar, result, results, scale));
  });
  std::string where = machine_text(machine, scale, runs);
  if (scale != 1) where += "bars        hold at size 1 alone: no verdicts\n";
  auto table = markdown ? markdown_table : aligned;
  std::string out = cat(markdown ? indented(where) : where, "\n", table(bars));
  std::vector<Cells> limits = limit_rows(results);
  if (limits.size() > 1) out += cat("\n", table(limits));
  return out;
}

Json bars_json(std::span<const Task> tasks, std::span<const Result> results, double scale) {
  Json out = Json::array();
  for_bars(tasks, results, [&](const Benchmark& benchmark, const Bar& bar, const Result* result) {
    std::optional<double> value = measured_or_none(bar, result, results);
    Json line = {{"what", bar.what}, {"benchmark", benchmark.name}, {"threads", bar.threads}};
    if (value) line["measured"] = *value;
    if (bar.must) line["must"] = *bar.must;
    if (bar.want) line["want"] = *bar.want;
    if (value && scale == 1) line["verdict"] = verdict(bar, value);
    out.push_back(std::move(line));
  });
  return out;
}

}  // namespace ps
