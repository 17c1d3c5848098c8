#include "job/sweep.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "checkpoint/inspect/table_rows.h"
#include "train/figure.h"

namespace ps {

namespace {

constexpr const char* kSource = "train.best_by";
constexpr size_t kMostRuns = 10000;

std::vector<std::string> split_values(const std::string& text) {
  std::vector<std::string> values(1);
  int depth = 0;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '[' || c == '{')) ++depth;
    if (!quoted && (c == ']' || c == '}')) --depth;
    if (c == ',' && depth == 0 && !quoted) {
      values.emplace_back();
    } else {
      values.back() += c;
    }
  }
  return values;
}

// The number at a name in figures; NaN where it is undefined.
double number_in(const Json& figures, const std::string& name) {
  const Json& values = name == "cost" ? figures : figures["evaluators"];
  const bool there = values.is_object() && values.contains(name) && values[name].is_number();
  return there ? values[name].get<double>() : std::nan("");
}

std::vector<std::string> names_in(const Json& figures) {
  std::vector<std::string> names = {"cost"};
  if (!figures.contains("evaluators")) return names;
  for (const auto& [name, value] : figures["evaluators"].items()) names.push_back(name);
  return names;
}

struct Spread {
  double mean, deviation;
};

Spread spread_of(const std::vector<SweepFigures>& folds, const std::string& name) {
  double sum = 0, squares = 0;
  const double count = static_cast<double>(folds.size());
  for (const SweepFigures& fold : folds) sum += number_in(fold.figures, name);
  const double mean = sum / count;
  for (const SweepFigures& fold : folds) squares += std::pow(number_in(fold.figures, name) - mean, 2);
  return {mean, folds.size() > 1 ? std::sqrt(squares / (count - 1)) : 0};
}

Json number_json(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

Json row_json(const SweepRow& row) {
  Json out = {{"set", Json::object()}, {"models", row.models}};
  for (const auto& [key, value] : row.values) out["set"][key] = value;
  for (const std::string& name : names_in(row.folds.front().figures)) {
    const Spread spread = spread_of(row.folds, name);
    out[name] = number_json(spread.mean);
    if (row.folds.size() > 1) out["deviation"][name] = number_json(spread.deviation);
  }
  return out;
}

std::string cell(const Json& run, const std::string& name) {
  if (run[name].is_null()) return "undefined";
  const std::string mean = significant(run[name].get<double>(), 6);
  if (!run.contains("deviation") || run["deviation"][name].is_null()) return mean;
  return cat(mean, " +- ", significant(run["deviation"][name].get<double>(), 2));
}

}  // namespace

SweptKey parse_swept_key(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    fail(Code::kUsage, "--sweep: ", quote(text), ", expected KEY=VALUE,VALUE,...");
  return {text.substr(0, equals), split_values(text.substr(equals + 1))};
}

std::vector<SweepRun> sweep_runs(std::span<const SweptKey> keys, int folds) {
  std::vector<SweepRun> runs(1);
  std::set<std::string> seen;
  for (const SweptKey& key : keys) {
    if (!seen.insert(key.key).second) fail(Code::kUsage, "--sweep: ", quote(key.key), " comes twice");
    if (runs.size() * key.values.size() > kMostRuns)
      fail(Code::kUsage, "--sweep: more than ", kMostRuns, " combinations");
    std::vector<SweepRun> longer;
    for (const SweepRun& run : runs) {
      for (const std::string& value : key.values) {
        longer.push_back(run);
        longer.back().values.emplace_back(key.key, value);
      }
    }
    runs = std::move(longer);
  }
  std::vector<SweepRun> all;
  for (const SweepRun& run : runs) {
    for (int fold = 0; fold < folds; ++fold) {
      all.push_back(run);
      all.back().fold = fold;
    }
  }
  return all;
}

SweepFigures sweep_figures(const Json& result) {
  const Json& passes = result["passes"];
  if (passes.empty()) fail(Code::kUsage, "--sweep: nothing was trained: train.passes is 0");
  if (result.contains("best")) {
    for (const Json& pass : passes) {
      if (pass["pass"] == result["best"]["pass"]) return {"validation", pass["validation"]};
    }
  }
  if (result.contains("test")) return {"test", result["test"]};
  return {"training", {{"cost", passes.back()["avg_cost"]}, {"evaluators", passes.back()["evaluators"]}}};
}

Json sweep_result(std::span<const SweepRow> rows, const std::string& by) {
  const bool larger = larger_is_better(by, kSource);
  Json out = {{"by", by}, {"data", rows.front().folds.front().data}, {"runs", Json::array()}};
  double best = 0;
  for (size_t r = 0; r < rows.size(); ++r) {
    figure_of(rows[r].folds.front().figures, by, kSource);  // refuses one that is not there
    out["runs"].push_back(row_json(rows[r]));
    const Json& now = out["runs"].back()[by];
    if (now.is_null()) continue;
    const double value = now.get<double>();
    if (out.contains("best") && !(larger ? value > best : value < best)) continue;
    best = value;
    out["best"] = r;
  }
  return out;
}

std::string sweep_table(const Json& result) {
  const Json& runs = result["runs"];
  std::vector<std::string> head = {" "}, figures;
  for (const auto& [key, value] : runs[0]["set"].items()) head.push_back(key);
  for (const auto& [name, value] : runs[0].items()) {
    if (name != "set" && name != "models" && name != "deviation") figures.push_back(name);
  }
  head.insert(head.end(), figures.begin(), figures.end());
  std::vector<std::vector<std::string>> lines = {head};
  for (size_t r = 0; r < runs.size(); ++r) {
    const bool best = result.contains("best") && result["best"] == r;
    std::vector<std::string> line = {best ? "*" : " "};
    for (const auto& [key, value] : runs[r]["set"].items()) line.push_back(value.get<std::string>());
    for (const std::string& name : figures) line.push_back(cell(runs[r], name));
    lines.push_back(std::move(line));
  }
  return aligned(lines);
}

}  // namespace ps
