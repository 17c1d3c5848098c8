#include "train/early_stopping.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"

namespace ps {

namespace {

constexpr std::array<std::string_view, 6> kLargerIsBetter = {"accuracy",  "auc",    "pr_auc",
                                                             "precision", "recall", "F1"};
constexpr std::array<std::string_view, 7> kSmallerIsBetter = {
    "cost", "classification_error", "log_loss", "brier_score", "calibration_error", "rmse", "mae"};

bool larger_is_better(const std::string& measure) {
  if (std::ranges::find(kLargerIsBetter, measure) != kLargerIsBetter.end()) return true;
  if (std::ranges::find(kSmallerIsBetter, measure) != kSmallerIsBetter.end()) return false;
  std::vector<std::string> names(kLargerIsBetter.begin(), kLargerIsBetter.end());
  names.insert(names.end(), kSmallerIsBetter.begin(), kSmallerIsBetter.end());
  fail(Code::kUsage, "train.best_by: ", quote(measure), " tells no better from worse",
       did_you_mean(measure, names), "; expected one of ", join(names, ", "));
}

}  // namespace

EarlyStopping::EarlyStopping(const TrainOptions& options)
    : patience_(options.patience),
      measure_(options.best_by),
      larger_is_better_(larger_is_better(options.best_by)) {}

std::optional<double> EarlyStopping::value(const Json& validation) const {
  const bool cost = measure_ == "cost";
  const Json& values = cost ? validation : validation.at("evaluators");
  if (!values.contains(measure_)) {
    fail(Code::kUsage, "train.best_by: ", quote(measure_),
         " is no measure of this job: add it to model.evaluators");
  }
  if (values[measure_].is_null()) return std::nullopt;
  return values[measure_].get<double>();
}

bool EarlyStopping::add(int pass, const Json& validation) {
  pass_ = pass;
  const std::optional<double> now = value(validation);
  const bool better = now && (best_pass_ < 0 || (larger_is_better_ ? *now > best_ : *now < best_));
  if (!better) return false;
  best_ = *now;
  best_pass_ = pass;
  return true;
}

}  // namespace ps
