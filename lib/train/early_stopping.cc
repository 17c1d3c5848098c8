#include "train/early_stopping.h"

#include "train/figure.h"

namespace ps {

namespace {

constexpr const char* kSource = "train.best_by";

}  // namespace

EarlyStopping::EarlyStopping(const TrainOptions& options)
    : patience_(options.patience),
      measure_(options.best_by),
      larger_is_better_(larger_is_better(options.best_by, kSource)) {}

bool EarlyStopping::add(int pass, const Json& validation) {
  pass_ = pass;
  const std::optional<double> now = figure_of(validation, measure_, kSource);
  const bool better = now && (best_pass_ < 0 || (larger_is_better_ ? *now > best_ : *now < best_));
  if (!better) return false;
  best_ = *now;
  best_pass_ = pass;
  return true;
}

}  // namespace ps
