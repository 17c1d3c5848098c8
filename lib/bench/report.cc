#include "bench/report.h"

#include <algorithm>

#include "base/error.h"
#include "config/json.h"

namespace ps {

namespace {

constexpr size_t kThreadsWidth = 7, kRateWidth = 16, kShareWidth = 8, kGap = 2;

std::string peer_text(const Result& result) {
  if (result.peers.empty()) return "-";
  return cat(times_text(result.peers[0].second), " ", last_part(result.peers[0].first));
}

std::string figures_text(const Result& result) {
  std::string out;
  for (const Figure& figure : result.figures) {
    out += cat(out.empty() ? "" : ", ", figure.name, " ", significant(figure.value, 4));
  }
  return out;
}

}  // namespace

std::string rate_text(double rate, const std::string& unit) {
  static constexpr struct {
    double factor;
    const char* prefix;
  } kPrefixes[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (const auto& [factor, prefix] : kPrefixes) {
    if (rate < factor) continue;
    return cat(significant(rate / factor, 3), " ", prefix, unit == "B" ? "" : " ", unit, "/s");
  }
  return cat(significant(rate, 3), " ", unit, "/s");
}

std::string share_text(const std::optional<double>& share) {
  return share ? cat(significant(*share * 100, 3), " %") : "-";
}

std::string times_text(double ratio) {
  return cat(significant(ratio, 3), " x");
}

std::string last_part(const std::string& name) {
  return name.substr(name.rfind('/') + 1);
}

std::string machine_text(const Machine& machine, double scale, int runs) {
  return cat("processor   ", machine.processor, ", ", machine.cores, " cores, ", machine.cpu_level,
             " kernels\n",                                                                             //
             "memory      ", human_bytes(machine.memory), ", huge pages: ", machine.huge_pages, "\n",  //
             "kernel      ", machine.kernel, "\n",                                                     //
             "compiler    ", machine.compiler, "\n",                                                   //
             "pskit       ", machine.program, "\n",                                                    //
             machine.device.empty() ? "" : cat("device      ", machine.device, "\n"),                  //
             "runs        ", runs, " of each, size ", significant(scale, 3), "\n");
}

// The column of peers is as wide as the longest of their names and a ratio, "12.3 x ".  Numbers keep fixed
// widths, so that a row may be printed before the later ones are known.
ReportTable::ReportTable(std::span<const Task> tasks, bool has_baseline) : has_baseline_(has_baseline) {
  size_t name = 0, peer = 4;
  for (const Task& task : tasks) {
    name = std::max(name, task.benchmark->name.size());
    for (const std::string& other : task.benchmark->peers) peer = std::max(peer, last_part(other).size() + 7);
  }
  for (size_t width : {name, kThreadsWidth, kRateWidth, kRateWidth, kShareWidth, peer}) {
    widths_.push_back(width);
  }
  if (has_baseline) widths_.push_back(kShareWidth);
}

// Aligns the first cell to the left and the others to the right; `rest` follows without alignment.
std::string ReportTable::line(std::span<const std::string> cells, const std::string& rest) const {
  std::string out;
  for (size_t i = 0; i < cells.size(); ++i) {
    std::string padding(widths_[i] - std::min(widths_[i], cells[i].size()), ' ');
    if (i > 0) out.append(kGap, ' ');
    out += i == 0 ? cells[i] + padding : padding + cells[i];
  }
  if (!rest.empty()) out += cat("  ", rest);
  out.erase(out.find_last_not_of(' ') + 1);
  return out + '\n';
}

std::string ReportTable::header(const Machine& machine, double scale, int runs) const {
  std::vector<std::string> cells = {"benchmark", "threads", "median", "best", "of limit", "peer"};
  if (has_baseline_) cells.push_back("baseline");
  return cat(machine_text(machine, scale, runs), "\n", line(cells, ""));
}

std::string ReportTable::row(const Result& result) const {
  std::vector<std::string> cells = {result.name, std::to_string(result.threads)};
  if (!result.skipped.empty()) return line(cells, cat("skipped: ", result.skipped));
  cells.push_back(rate_text(result.median_rate(), result.unit));
  cells.push_back(rate_text(result.best_rate(), result.unit));
  cells.push_back(share_text(result.of_limit));
  cells.push_back(peer_text(result));
  if (has_baseline_) cells.push_back(result.of_baseline ? times_text(*result.of_baseline) : "-");
  return line(cells, figures_text(result));
}

// Leaves out what a result does not have, so that a script can tell a missing comparison from a ratio of 0.
Json result_json(const Result& result) {
  Json out = {{"name", result.name}, {"threads", result.threads}};
  if (!result.skipped.empty()) {
    out["skipped"] = result.skipped;
    return out;
  }
  out["unit"] = result.unit;
  out["bytes"] = result.work.bytes;
  out["items"] = result.work.items;
  out["seconds"] = result.seconds;
  out["median_rate"] = result.median_rate();
  out["best_rate"] = result.best_rate();
  if (result.of_limit) out["limit"] = {{"name", result.limit}, {"share", *result.of_limit}};
  if (!result.peers.empty()) out["peers"] = Json::object();
  for (const auto& [name, ratio] : result.peers) out["peers"][name] = ratio;
  if (result.of_baseline) out["of_baseline"] = *result.of_baseline;
  if (!result.figures.empty()) out["figures"] = Json::object();
  for (const Figure& figure : result.figures) out["figures"][figure.name] = figure.value;
  return out;
}

Json document(const Machine& machine, double scale, int runs, std::span<const Result> results) {
  Json out = {{"machine", machine.json()}, {"size", scale}, {"runs", runs}, {"results", Json::array()}};
  for (const Result& result : results) out["results"].push_back(result_json(result));
  return out;
}

Baseline::Baseline(const Json& document, const std::string& name) {
  try {
    for (const Json& result : document.at("results")) {
      if (result.contains("skipped")) continue;
      entries_.push_back({result.at("name").get<std::string>(), result.at("threads").get<int>(),
                          result.at("median_rate").get<double>()});
    }
  } catch (const Json::exception&) {
    fail(Code::kUsage, name, ": not what ps-bench --json prints");
  }
}

void Baseline::compare(Result& result) const {
  if (!result.skipped.empty()) return;
  for (const Entry& entry : entries_) {
    bool same = entry.name == result.name && entry.threads == result.threads && entry.rate > 0;
    if (same) result.of_baseline = result.median_rate() / entry.rate;
  }
}

// `compared` makes a baseline of other benchmarks an error: otherwise the comparison would pass without
// having looked at anything.
std::vector<std::string> below_bar(std::span<const Result> results, double bar) {
  std::vector<std::string> out;
  bool compared = false;
  for (const Result& result : results) {
    if (!result.of_baseline) continue;
    compared = true;
    if (*result.of_baseline >= bar) continue;
    out.push_back(cat(result.name, ", threads ", result.threads, ": ",
                      rate_text(result.median_rate(), result.unit), ", ", significant(*result.of_baseline, 3),
                      " times the baseline, expected ", bar, " or more"));
  }
  if (!compared) fail(Code::kUsage, "the baseline has none of the benchmarks that ran");
  return out;
}

}  // namespace ps
