#include "train/early_stopping.h"

#include "base/error.h"
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

// Only a strictly better figure counts, so that a measure that stands still ends training too.
bool EarlyStopping::add(int pass, std::optional<double> figure) {
  pass_ = pass;
  const bool better = figure && (best_pass_ < 0 || (larger_is_better_ ? *figure > best_ : *figure < best_));
  if (!better) return false;
  best_ = *figure;
  best_pass_ = pass;
  return true;
}

Json EarlyStopping::known() const {
  return {{"pass", pass_}, {"best_pass", best_pass_}, {"best", best_}};
}

// Takes over from a process that has seen later passes, and ignores one that knows less than this one.
void EarlyStopping::learn(const Json& known) {
  const auto is_whole = [&](const char* key) {
    return known.contains(key) && known[key].is_number_integer();
  };
  if (!is_whole("pass") || !is_whole("best_pass") || !known.contains("best") || !known["best"].is_number())
    fail(Code::kData, "what is known of earlier passes makes no sense: ", known.dump());
  const int pass = known["pass"].get<int>();
  if (pass <= pass_) return;
  pass_ = pass;
  best_pass_ = known["best_pass"].get<int>();
  best_ = known["best"].get<double>();
}

}  // namespace ps
