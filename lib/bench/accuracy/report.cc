#include "bench/accuracy/report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "bench/accuracy/accuracy_rows.h"
#include "bench/plan/columns.h"

namespace ps {

namespace {

// The figures of a strategy over all seeds.
struct Summary {
  std::string strategy;
  double sum = 0, lowest = 0, highest = 0;
  uint64_t bytes_sent = 0;  // bytes of the training that sent the most
  std::map<int64_t, double> of_seeds = {};

  int64_t num_seeds() const { return std::ssize(of_seeds); }
  double mean() const { return sum / static_cast<double>(num_seeds()); }
};

// Returns the mean difference over the seeds that both have.  Rows are compared by seed, since one seed is
// often better than another for all strategies.
double difference(const Summary& summary, const Summary& dense) {
  double sum = 0;
  int64_t count = 0;
  for (const auto& [seed, value] : summary.of_seeds) {
    const auto found = dense.of_seeds.find(seed);
    if (found == dense.of_seeds.end()) continue;
    sum += value - found->second;
    ++count;
  }
  return count > 0 ? sum / static_cast<double>(count) : summary.mean() - dense.mean();
}

// Returns a summary for each strategy.  `rows` are those of one table.
std::vector<Summary> summarize(const std::vector<Json>& rows) {
  std::vector<Summary> summaries;
  for (const Json& row : rows) {
    const std::string strategy = row.at("strategy");
    const double value = row.at("value");
    if (summaries.empty() || summaries.back().strategy != strategy) {
      summaries.push_back({.strategy = strategy, .lowest = value, .highest = value});
    }
    Summary& last = summaries.back();
    last.sum += value;
    last.lowest = std::min(last.lowest, value);
    last.highest = std::max(last.highest, value);
    last.bytes_sent = std::max(last.bytes_sent, row.at("bytes_sent").get<uint64_t>());
    last.of_seeds[row.at("seed").get<int64_t>()] = value;
  }
  return summaries;
}

std::string signed_text(double value) {
  return cat(value < 0 ? "-" : "+", significant(std::abs(value), 2));
}

double fewer_bytes(const Summary& dense, const Summary& other) {
  return static_cast<double>(dense.bytes_sent) / static_cast<double>(std::max<uint64_t>(other.bytes_sent, 1));
}

std::string seeds_text(int64_t count) {
  return cat(count, count == 1 ? " seed" : " seeds");
}

// Writes the table of one job.  The first strategy is the dense one, in the order of tables, and others are
// compared with it; a strategy that lacks some seeds says how many it has.
std::string table_text(const AccuracyTable& table, bool markdown) {
  const Json& first = table.rows.front();
  const std::vector<Summary> summaries = summarize(table.rows);
  const Summary& dense = summaries.front();
  std::vector<Cells> cells = {
      {"strategy", "mean", "lowest", "highest", cat("from ", dense.strategy), "MB sent", "fewer bytes"}};
  for (const Summary& summary : summaries) {
    const bool whole = summary.num_seeds() == dense.num_seeds();
    cells.push_back({whole ? summary.strategy : cat(summary.strategy, ", ", seeds_text(summary.num_seeds())),
                     significant(summary.mean(), 4), significant(summary.lowest, 4),
                     significant(summary.highest, 4), signed_text(difference(summary, dense)),
                     significant(static_cast<double>(summary.bytes_sent) / 1e6, 4),
                     cat(significant(fewer_bytes(dense, summary), 3), " x")});
  }
  const std::string title = cat(first.at("measure").get<std::string>(), " of the test data over ",
                                seeds_text(dense.num_seeds()), ", and bytes that trainer 0 sends");
  return cat(first.at("job").get<std::string>(), ": ", first.at("ranks").get<int>(), " trainers, ",
             first.at("steps").get<int64_t>(), " steps\n", titled_table(title, cells, markdown));
}

}  // namespace

std::string accuracy_report(const Machine& machine, const std::vector<Json>& rows, bool markdown) {
  std::string text = cat(machine.processor, ", ", machine.program, "\n");
  for (const AccuracyTable& table : accuracy_tables(rows)) text += table_text(table, markdown);
  return text;
}

// Collects rows and summaries table by table, so that both are in the same order.
Json accuracy_document(const Machine& machine, const std::vector<Json>& rows) {
  Json ordered = Json::array(), out = Json::array();
  for (const AccuracyTable& table : accuracy_tables(rows)) {
    for (const Json& row : table.rows) ordered.push_back(row);
    const std::vector<Summary> summaries = summarize(table.rows);
    for (const Summary& summary : summaries) {
      out.push_back({{"job", table.rows.front().at("job")},
                     {"strategy", summary.strategy},
                     {"mean", summary.mean()},
                     {"lowest", summary.lowest},
                     {"highest", summary.highest},
                     {"difference", difference(summary, summaries.front())},
                     {"fewer_bytes", fewer_bytes(summaries.front(), summary)}});
    }
  }
  return {{"machine", machine.json()}, {"rows", ordered}, {"summary", out}};
}

}  // namespace ps
