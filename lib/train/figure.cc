#include "train/figure.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "config/json.h"

namespace ps {

namespace {

constexpr std::array<std::string_view, 13> kLargerIsBetter = {
    "accuracy", "auc", "pr_auc", "precision", "recall",          "F1",          "f1",
    "gauc",     "mrr", "map",    "micro_f1",  "micro_precision", "micro_recall"};
// Beginnings of names that end in a number: "ndcg_at_10".
constexpr std::array<std::string_view, 3> kLargerWithNumber = {"ndcg_at_", "recall_at_", "precision_at_"};
constexpr std::array<std::string_view, 7> kSmallerIsBetter = {
    "cost", "classification_error", "log_loss", "brier_score", "calibration_error", "rmse", "mae"};

bool is_number_after(std::string_view beginning, const std::string& figure) {
  return figure.starts_with(beginning) && figure.size() > beginning.size() &&
         std::ranges::all_of(figure.substr(beginning.size()), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

// The name of a value may begin with the label of its cost: "click.auc".
bool larger_is_better(const std::string& named, std::string_view source) {
  const std::string figure = named.substr(named.rfind('.') + 1);
  if (std::ranges::find(kLargerIsBetter, figure) != kLargerIsBetter.end()) return true;
  if (std::ranges::any_of(kLargerWithNumber,
                          [&](std::string_view beginning) { return is_number_after(beginning, figure); })) {
    return true;
  }
  if (std::ranges::find(kSmallerIsBetter, figure) != kSmallerIsBetter.end()) return false;
  std::vector<std::string> names(kLargerIsBetter.begin(), kLargerIsBetter.end());
  for (const std::string_view beginning : kLargerWithNumber) names.push_back(cat(beginning, "K"));
  names.insert(names.end(), kSmallerIsBetter.begin(), kSmallerIsBetter.end());
  fail(Code::kUsage, source, ": ", quote(named), " tells no better from worse", did_you_mean(figure, names),
       "; expected one of ", join(names, ", "));
}

[[noreturn]] static void fail_missing(const Json& tested, const std::string& figure,
                                      std::string_view source) {
  std::vector<std::string> names = {"cost"};
  for (const auto& each : tested.at("evaluators").items()) names.push_back(each.key());
  fail(Code::kUsage, source, ": ", quote(figure), " is no measure of this job", did_you_mean(figure, names),
       ": it has ", join(names, ", "), "; others are added to model.evaluators");
}

std::optional<double> figure_of(const Json& tested, const std::string& figure, std::string_view source) {
  const Json& values = figure == "cost" ? tested : tested.at("evaluators");
  if (!values.contains(figure)) fail_missing(tested, figure, source);
  if (values[figure].is_null()) return std::nullopt;
  return values[figure].get<double>();
}

std::string figure_text(double figure) {
  return std::isfinite(figure) ? significant(figure, 6) : "undefined";
}

Json figure_json(double figure) {
  return std::isfinite(figure) ? Json(figure) : Json();
}

// Returns the figure itself, or, with several labels, those of all labels: "click.auc" and "buy.auc" for
// "auc".
std::vector<std::string> figures_named(const Json& tested, const std::string& figure,
                                       std::string_view source) {
  const Json& values = tested.at("evaluators");
  if (figure == "cost" || values.contains(figure)) return {figure};
  std::vector<std::string> names;
  for (const auto& each : values.items()) {
    if (each.key().ends_with("." + figure)) names.push_back(each.key());
  }
  if (names.empty()) fail_missing(tested, figure, source);
  return names;
}

}  // namespace ps
