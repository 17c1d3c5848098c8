#include "bench/link/report.h"

#include <map>
#include <set>
#include <span>

#include "base/text.h"
#include "bench/plan/columns.h"
#include "config/json.h"

namespace ps {

namespace {

enum class CellKind { kText, kNumber, kSeconds, kRate, kMegabytes, kTimes, kPercent, kShare };

// A column: the heading, the key of a row's value, and the way to write it.
struct LinkColumn {
  const char* heading;
  const char* key;
  CellKind kind;
};

// A table: its rows are those of a suite.
struct LinkTable {
  const char* title;
  std::vector<LinkColumn> columns;
};

std::vector<LinkTable> dgc_tables() {
  return {{"Seconds a step, and how many times faster DGC is",
           {{"link", "bandwidth_text", CellKind::kText},
            {"measured", "measured_bandwidth", CellKind::kRate},
            {"momentum", "momentum_seconds", CellKind::kSeconds},
            {"by the model", "modelled_momentum_seconds", CellKind::kSeconds},
            {"overlapped", "overlapped_seconds", CellKind::kSeconds},
            {"DGC", "dgc_seconds", CellKind::kSeconds},
            {"speed-up", "speed_up", CellKind::kTimes},
            {"over overlapped", "overlapped_speed_up", CellKind::kTimes},
            {"published: momentum", "published_momentum_seconds", CellKind::kSeconds},
            {"DGC", "published_dgc_seconds", CellKind::kSeconds},
            {"speed-up", "published_speed_up", CellKind::kTimes}}},
          {"Terms of DGC's step in seconds, and bytes that a rank sends in a step",
           {{"link", "bandwidth_text", CellKind::kText},
            {"pack", "dgc_pack_seconds", CellKind::kSeconds},
            {"exchange", "dgc_exchange_seconds", CellKind::kSeconds},
            {"add", "dgc_apply_seconds", CellKind::kSeconds},
            {"momentum, MB", "momentum_bytes", CellKind::kMegabytes},
            {"off formula", "momentum_bytes_off", CellKind::kPercent},
            {"DGC, MB", "dgc_bytes", CellKind::kMegabytes},
            {"off formula", "dgc_bytes_off", CellKind::kPercent},
            {"fewer", "fewer_bytes", CellKind::kTimes},
            {"wrong values", "wrong_values", CellKind::kNumber}}}};
}

std::vector<LinkTable> local_sgd_tables() {
  return {{"Throughput against k, the steps from one exchange to the next",
           {{"link", "bandwidth_text", CellKind::kText},
            {"measured", "measured_bandwidth", CellKind::kRate},
            {"k", "period", CellKind::kNumber},
            {"s a step", "step_seconds", CellKind::kSeconds},
            {"examples/s", "examples_per_second", CellKind::kSeconds},
            {"of the possible", "share_of_modelled", CellKind::kShare},
            {"gain", "gain", CellKind::kTimes},
            {"published: images/s", "published_images_per_second", CellKind::kSeconds},
            {"gain", "published_gain", CellKind::kTimes},
            {"wrong values", "wrong_values", CellKind::kNumber}}}};
}

std::vector<LinkTable> scaling_tables() {
  return {{"Weak scaling: every rank computes as much, however many there are",
           {{"link", "bandwidth_text", CellKind::kText},
            {"measured", "measured_bandwidth", CellKind::kRate},
            {"ranks", "ranks", CellKind::kNumber},
            {"algorithm", "algorithm", CellKind::kText},
            {"s a step", "step_seconds", CellKind::kSeconds},
            {"by the model", "modelled_step_seconds", CellKind::kSeconds},
            {"off", "off_model", CellKind::kPercent},
            {"efficiency", "efficiency", CellKind::kShare},
            {"MB sent", "bytes", CellKind::kMegabytes},
            {"off formula", "bytes_off", CellKind::kPercent},
            {"wrong values", "wrong_values", CellKind::kNumber}}}};
}

std::vector<LinkTable> tables_of(const std::string& suite) {
  if (suite == "dgc") return dgc_tables();
  return suite == "local-sgd" ? local_sgd_tables() : scaling_tables();
}

// Writes the value of a cell in the way of its column; null is a value that was not measured or not
// published.
std::string cell_text(const Json& value, CellKind kind) {
  if (value.is_null()) return "-";
  if (kind == CellKind::kText) return value.get<std::string>();
  const double number = value;
  switch (kind) {
    case CellKind::kRate:
      return quantity_text(number, "bit/s");
    case CellKind::kMegabytes:
      return significant(number / 1e6, 4);
    case CellKind::kTimes:
      return cat(significant(number, 4), " x");
    case CellKind::kPercent:
      return cat(significant(number, 2), " %");
    case CellKind::kShare:
      return cat(significant(100 * number, 3), " %");
    default:
      return significant(number, kind == CellKind::kSeconds ? 4 : 10);
  }
}

std::string table_text(const LinkTable& table, const std::vector<Json>& rows, bool markdown) {
  std::vector<Cells> cells(1);
  for (const LinkColumn& column : table.columns) cells[0].push_back(column.heading);
  for (const Json& row : rows) {
    Cells& line = cells.emplace_back();
    for (const LinkColumn& column : table.columns) line.push_back(cell_text(row.at(column.key), column.kind));
  }
  return titled_table(table.title, cells, markdown);
}

// Returns a line for each bandwidth that the machine did not carry in any row, with the most that it
// carried, since a reader would take those rows for ones of the named link.
std::string slow_links(const std::vector<Json>& rows) {
  std::map<std::string, double> fastest;
  for (const Json& row : rows) {
    const double measured = row["measured_bandwidth"];
    if (measured >= kFullLink * row["bandwidth"].get<double>()) continue;
    double& rate = fastest[row["bandwidth_text"]];
    rate = std::max(rate, measured);
  }
  std::string out;
  for (const auto& [name, rate] : fastest) {
    append(out, cat("a link of ", name, " carried ", quantity_text(rate, "bit/s"),
                    " on this machine: its rows are of such a link\n"));
  }
  return out;
}

std::string bars_text(const std::vector<Json>& rows) {
  std::string out;
  for (const LinkBar& bar : link_bars(rows)) {
    append(out, cat("bar: ", bar.what, ": ", significant(bar.value, 4), " ", bar.unit, ", must ", bar.must,
                    ", want ", bar.want, ": ", bar.verdict(), "\n"));
  }
  return out;
}

}  // namespace

// Writes the machine and the model, links that were slower than their names, the tables of the suite, then
// the bars.
std::string link_report(const Machine& machine, const std::vector<Json>& rows, bool markdown) {
  const Json& first = rows.front();
  std::set<std::string> links;
  for (const Json& row : rows) links.insert(row["link_text"]);
  std::string out =
      cat(machine.processor, ", ", machine.cores, " cores, ", machine.kernel, ", ", machine.program, "\n",
          first["model"].get<std::string>(), ": ", significant(first["dense_bytes"].get<double>() / 1e6, 4),
          " MB of gradients a step; compute is a wait of ", seconds_text(first["compute_seconds"]),
          "; links are ", join(std::vector<std::string>(links.begin(), links.end()), ", and "), "\n");
  append(out, slow_links(rows));
  for (const LinkTable& table : tables_of(first["suite"])) append(out, table_text(table, rows, markdown));
  const std::string bars = bars_text(rows);
  if (!bars.empty()) append(out, "\n" + bars);
  return out;
}

Json link_document(const Machine& machine, const std::vector<Json>& rows) {
  Json bars = Json::array();
  for (const LinkBar& bar : link_bars(rows)) {
    bars.push_back({{"what", bar.what},
                    {"value", bar.value},
                    {"unit", bar.unit},
                    {"must", bar.must},
                    {"want", bar.want},
                    {"verdict", bar.verdict()}});
  }
  return {{"machine", machine.json()}, {"rows", rows}, {"bars", bars}};
}

}  // namespace ps
