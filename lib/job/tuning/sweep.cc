#include "job/tuning/sweep.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "checkpoint/inspect/table_rows.h"
#include "train/figure.h"

namespace ps {

namespace {

constexpr const char* kSource = "train.best_by";
constexpr size_t kMostRuns = 10000;

// Splits at commas outside of brackets, braces and quotes.
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

// Parses "log:1e-4..1e-1".  Returns nullopt if `text` is not a range; throws kUsage for an invalid one.
std::optional<SweptRange> parse_range(const std::string& text) {
  static const std::vector<std::pair<std::string_view, SweptRange::Scale>> kRangeScales = {
      {"linear:", SweptRange::Scale::kLinear},
      {"log:", SweptRange::Scale::kLog},
      {"int:", SweptRange::Scale::kInteger}};
  const size_t dots = text.find("..");
  for (const auto& [prefix, scale] : kRangeScales) {
    if (!text.starts_with(prefix) || dots == std::string::npos) continue;
    const auto low = parse_double(std::string_view(text).substr(prefix.size(), dots - prefix.size())),
               high = parse_double(std::string_view(text).substr(dots + 2));
    if (!low || !high || *low > *high)
      fail(Code::kUsage, "--sweep: ", quote(text), ", expected ", prefix, "LOW..HIGH");
    if (scale == SweptRange::Scale::kLog && *low <= 0)
      fail(Code::kUsage, "--sweep: ", quote(text), ": ", *low, " has no logarithm");
    constexpr double kMostInteger = 0x1p53;
    const bool whole = *low == std::trunc(*low) && *high == std::trunc(*high) && *low >= -kMostInteger &&
                       *high <= kMostInteger;
    if (scale == SweptRange::Scale::kInteger && !whole)
      fail(Code::kUsage, "--sweep: ", quote(text), ": the ends are no whole numbers");
    return SweptRange{scale, *low, *high};
  }
  return std::nullopt;
}

// Returns a number in [0, 1) that depends on seed, key and index alone.
double drawn_share(uint64_t seed, const std::string& key, int64_t index) {
  return static_cast<double>(hash_key(hash_bytes(key, seed) + static_cast<uint64_t>(index)) >> 11) * 0x1p-53;
}

// Returns the value of a key at `share` in [0, 1): a point of its range, or one of its values, all equally
// likely.
std::string drawn_value(const SweptKey& key, double share) {
  if (key.range) return key.range->at(share);
  return key.values[static_cast<size_t>(share * static_cast<double>(key.values.size()))];
}

void check_keys(std::span<const SweptKey> keys) {
  std::set<std::string> seen;
  for (const SweptKey& key : keys) {
    if (!seen.insert(key.key).second) fail(Code::kUsage, "--sweep: ", quote(key.key), " comes twice");
  }
}

// Returns each run `folds` times, its folds one after the other.
std::vector<SweepRun> with_folds(const std::vector<SweepRun>& runs, int folds) {
  std::vector<SweepRun> all;
  for (const SweepRun& run : runs) {
    for (int fold = 0; fold < folds; ++fold) {
      all.push_back(run);
      all.back().fold = fold;
    }
  }
  return all;
}

// Returns the number of this name in figures; NaN if it is undefined.
double number_in(const Json& figures, const std::string& name) {
  const Json& values = name == "cost" ? figures : figures["evaluators"];
  const bool there = values.is_object() && values.contains(name) && values[name].is_number();
  return there ? values[name].get<double>() : std::nan("");
}

// Returns the names of all measures that the figures have, the cost first.
std::vector<std::string> names_in(const Json& figures) {
  std::vector<std::string> names = {"cost"};
  if (!figures.contains("evaluators")) return names;
  for (const auto& [name, value] : figures["evaluators"].items()) names.push_back(name);
  return names;
}

// The mean over folds, and the deviation of a sample, which divides by count - 1; 0 for one fold.
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

// Returns the object of a row: its values, its models, and for each measure the mean over its folds, with
// the deviation beside it if there are several.  Numbers that are undefined are null.
Json row_json(const SweepRow& row) {
  Json out = {{"set", Json::object()}, {"models", row.models}};
  for (const auto& [key, value] : row.values) out["set"][key] = value;
  if (row.passes > 0) out["set"]["train.passes"] = std::to_string(row.passes);
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
  SweptKey key{text.substr(0, equals), split_values(text.substr(equals + 1)), {}};
  if (key.values.size() == 1) key.range = parse_range(key.values[0]);
  if (key.range) key.values.clear();
  return key;
}

// An integer range has high - low + 1 values, each with the same share; `min` takes care of rounding at its
// upper end.
std::string SweptRange::at(double share) const {
  if (scale == Scale::kInteger)
    return cat(static_cast<int64_t>(std::min(high, low + std::floor(share * (high - low + 1)))));
  const double value = scale == Scale::kLog ? low * std::pow(high / low, share) : low + share * (high - low);
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::vector<SweepRun> sampled_runs(std::span<const SweptKey> keys, int64_t combinations, uint64_t seed,
                                   int folds) {
  check_keys(keys);
  std::vector<SweepRun> runs(static_cast<size_t>(combinations));
  for (int64_t i = 0; i < combinations; ++i) {
    for (const SweptKey& key : keys)
      runs[static_cast<size_t>(i)].values.emplace_back(key.key,
                                                       drawn_value(key, drawn_share(seed, key.key, i)));
  }
  return with_folds(runs, folds);
}

// First the numbers of combinations are halved from the first round on, then the passes from the last round
// backwards.
std::vector<HalvingRound> halving_rounds(size_t combinations, int64_t passes) {
  std::vector<HalvingRound> rounds;
  int64_t rest = passes;
  for (size_t kept = combinations; kept > 1 && rest > 1; kept = (kept + 1) / 2, rest /= 2)
    rounds.push_back({kept, 0});
  rounds.push_back({rounds.empty() ? combinations : (rounds.back().combinations + 1) / 2, 0});
  if (rounds.size() == 1) {
    fail(Code::kUsage, "--sweep-halving: nothing to halve: it takes two or more combinations, found ",
         combinations, ", and two or more passes, found ", passes);
  }
  for (size_t r = rounds.size(); r-- > 0; passes = std::max<int64_t>(1, passes / 2))
    rounds[r].passes = passes;
  return rounds;
}

// Multiplies the combinations of the keys before by the values of each key; so the last key changes
// fastest.
std::vector<SweepRun> sweep_runs(std::span<const SweptKey> keys, int folds) {
  std::vector<SweepRun> runs(1);
  check_keys(keys);
  for (const SweptKey& key : keys) {
    if (key.range)
      fail(Code::kUsage, "--sweep: ", quote(key.key),
           " has a range: --sweep-samples says how many values are drawn");
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
  return with_folds(runs, folds);
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

SweepFigures undefined_figures(const SweepFigures& defined) {
  Json figures = {{"cost", Json()}, {"evaluators", Json::object()}};
  for (const std::string& name : names_in(defined.figures)) {
    if (name != "cost") figures["evaluators"][name] = Json();
  }
  return {defined.data, std::move(figures)};
}

// Sorts by the mean over folds, with the sign such that larger is better.
std::vector<size_t> rank_rows(std::span<const SweepRow> rows, const std::string& by) {
  const bool larger = larger_is_better(by, kSource);
  std::vector<double> worth;  // larger is better; undefined values are the worst
  for (const SweepRow& row : rows) {
    figure_of(row.folds.front().figures, by, kSource);  // throws if the measure is missing
    const double mean = spread_of(row.folds, by).mean;
    worth.push_back(!std::isfinite(mean) ? -HUGE_VAL : larger ? mean : -mean);
  }
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return worth[a] > worth[b]; });
  return order;
}

// Chooses as best the first row of the ranking that had most passes.  Rows of earlier rounds of halving had
// fewer, so their figures do not compare with it.
Json sweep_result(std::span<const SweepRow> rows, const std::string& by) {
  Json out = {{"by", by}, {"data", rows.front().folds.front().data}, {"runs", Json::array()}};
  int64_t most_passes = 0;
  for (const SweepRow& row : rows) {
    out["runs"].push_back(row_json(row));
    most_passes = std::max(most_passes, row.passes);
  }
  for (size_t r : rank_rows(rows, by)) {
    if (rows[r].passes < most_passes || out["runs"][r][by].is_null()) continue;
    out["best"] = r;
    break;
  }
  return out;
}

// All rows have the same keys and figures, so those of the first give the head.
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
