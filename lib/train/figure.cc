#include "train/figure.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "config/json.h"

namespace ps {

namespace {

constexpr std::array<std::string_view, 9> kLargerIsBetter = {
    "accuracy", "auc", "pr_auc", "precision", "recall", "F1", "gauc", "mrr", "map"};
constexpr std::array<std::string_view, 2> kLargerWithNumber = {"ndcg_at_", "recall_at_"};  // "ndcg_at_10"
constexpr std::array<std::string_view, 7> kSmallerIsBetter = {
    "cost", "classification_error", "log_loss", "brier_score", "calibration_error", "rmse", "mae"};

}  // namespace

bool larger_is_better(const std::string& figure, std::string_view source) {
  if (std::ranges::find(kLargerIsBetter, figure) != kLargerIsBetter.end()) return true;
  const auto begins = [&](std::string_view beginning) { return figure.starts_with(beginning); };
  if (std::ranges::any_of(kLargerWithNumber, begins)) return true;
  if (std::ranges::find(kSmallerIsBetter, figure) != kSmallerIsBetter.end()) return false;
  std::vector<std::string> names(kLargerIsBetter.begin(), kLargerIsBetter.end());
  names.insert(names.end(), kSmallerIsBetter.begin(), kSmallerIsBetter.end());
  fail(Code::kUsage, source, ": ", quote(figure), " tells no better from worse", did_you_mean(figure, names),
       "; expected one of ", join(names, ", "));
}

std::optional<double> figure_of(const Json& tested, const std::string& figure, std::string_view source) {
  const Json& values = figure == "cost" ? tested : tested.at("evaluators");
  if (!values.contains(figure)) {
    fail(Code::kUsage, source, ": ", quote(figure), " is no measure of this job: add it to model.evaluators");
  }
  if (values[figure].is_null()) return std::nullopt;
  return values[figure].get<double>();
}

}  // namespace ps
