#include "bench/bars.h"

#include <algorithm>

#include "bench/bar_table.h"

namespace ps {

namespace {

// Returns the bar's figure divided by the least value of the same figure among the peers that ran.  A
// paired benchmark has the ratio from its own rounds (of_peers), which is preferred; else the medians of
// both results are divided.
std::optional<double> of_best_peer(const Bar& bar, const Result& result, std::span<const Result> results) {
  if (std::optional<double> ratio = figure_of(result.of_peers, bar.of)) return ratio;
  std::optional<double> own = figure_of(result.figures, bar.of), best;
  for (const auto& [name, ratio] : result.peers) {
    const Result* peer = find_result(results, name, result.threads);
    std::optional<double> theirs = peer == nullptr ? std::nullopt : figure_of(peer->figures, bar.of);
    if (theirs && (!best || *theirs < *best)) best = theirs;
  }
  if (!own || !best) return std::nullopt;
  return *own / *best;
}

std::optional<double> rate_of_peer(const Bar& bar, const Result& result) {
  for (const auto& [name, ratio] : result.peers) {
    if (name == bar.of) return ratio;
  }
  return std::nullopt;
}

bool meets(const Bar& bar, double value, double bound) {
  return bar.at_least ? value >= bound : value <= bound;
}

}  // namespace

std::vector<Bar> bars_of(std::string_view benchmark) {
  std::vector<Bar> bars;
  for (const BarRow& row : bar_table()) {
    if (row.benchmark == benchmark) bars.push_back(row.bar());
  }
  return bars;
}

// Returns the quantity that the bar bounds, or nullopt if it, or the peer that it refers to, was not
// measured.
std::optional<double> measured(const Bar& bar, const Result& result, std::span<const Result> results) {
  if (!result.skipped.empty()) return std::nullopt;
  switch (bar.quantity) {
    case Quantity::kRate:
      return result.median_rate();
    case Quantity::kSeconds:
      return result.median_seconds();
    case Quantity::kFigure:
      return figure_of(result.figures, bar.of);
    case Quantity::kLimitShare:
      return result.of_limit;
    case Quantity::kPeerRate:
      return rate_of_peer(bar, result);
    case Quantity::kPeerTime: {
      std::optional<double> ratio = rate_of_peer(bar, result);
      return ratio ? std::optional(1 / *ratio) : std::nullopt;
    }
    case Quantity::kPeerFigure:
      return of_best_peer(bar, result, results);
    case Quantity::kThreadGain: {
      const Result* alone = find_result(results, result.name, 1);
      if (alone == nullptr || alone->threads == result.threads) return std::nullopt;
      return result.median_rate() / alone->median_rate();
    }
  }
  return std::nullopt;
}

// A bar has a `must`, a `want`, or both: "wanted" meets `want`; "met" meets `must` alone; a bar without
// `must` that does not meet `want` is missed.
std::string verdict(const Bar& bar, std::optional<double> value) {
  if (!value) return "-";
  if (bar.want && meets(bar, *value, *bar.want)) return "wanted";
  if (bar.must && !meets(bar, *value, *bar.must)) return "missed";
  return bar.must ? "met" : "missed";
}

}  // namespace ps
