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

std::optional<double> EarlyStopping::figure(const Json& validation) const {
  return figure_of(validation, measure_, kSource);
}

bool EarlyStopping::add(int pass, std::optional<double> figure) {
  pass_ = pass;
  const bool better = figure && (best_pass_ < 0 || (larger_is_better_ ? *figure > best_ : *figure < best_));
  if (!better) return false;
  best_ = *figure;
  best_pass_ = pass;
  return true;
}

}  // namespace ps
