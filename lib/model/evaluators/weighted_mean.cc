#include "model/evaluators/weighted_mean.h"

#include <cmath>

#include "base/error.h"

namespace ps {

// A term may be NaN or infinite: one of weight 0 is left out, since 0 times it would be NaN.
void WeightedMean::add(Matrix<const float> predictions, const Batch& batch) {
  for (int64_t b = 0; b < predictions.rows; ++b) {
    double weight = batch.weight(b);
    std::span<const float> prediction(predictions.row(b), static_cast<size_t>(predictions.cols));
    if (weight != 0) total_.add(weight * term(prediction, batch.labels[static_cast<size_t>(b)]));
    weight_.add(weight);
  }
}

void WeightedMean::add_terms(std::span<const float> terms, const Batch& batch) {
  for (size_t b = 0; b < terms.size(); ++b) {
    const double weight = batch.weight(static_cast<int64_t>(b));
    if (weight != 0) total_.add(weight * static_cast<double>(terms[b]));
    weight_.add(weight);
  }
}

void WeightedMean::merge(const Evaluator& other) {
  const auto* same = dynamic_cast<const WeightedMean*>(&other);
  PS_CHECK(same != nullptr && same->name_ == name_);
  total_.merge(same->total_);
  weight_.merge(same->weight_);
}

std::vector<std::pair<std::string, double>> WeightedMean::values() const {
  double weight = weight_.value();
  return {{name_, weight > 0 ? value(total_.value(), weight) : std::nan("")}};
}

void WeightedMean::save(std::string& out) const {
  save_sum(total_, out);
  save_sum(weight_, out);
}

void WeightedMean::load(ByteReader& in) {
  CompensatedSum total = load_sum(in);
  weight_ = load_weight(in);
  total_ = total;
}

void save_sum(const CompensatedSum& sum, std::string& out) {
  put(out, sum.sum);
  put(out, sum.lost);
}

CompensatedSum load_sum(ByteReader& in) {
  CompensatedSum sum;
  sum.sum = in.get<double>();
  sum.lost = in.get<double>();
  if (!in.ok()) fail(Code::kCorrupt, "state of an evaluator is cut short");
  return sum;
}

CompensatedSum load_weight(ByteReader& in) {
  CompensatedSum weight = load_sum(in);
  if (std::isfinite(weight.sum) && std::isfinite(weight.lost) && weight.sum >= 0) return weight;
  fail(Code::kCorrupt, "state of an evaluator has a weight of ", weight.sum,
       ", expected a number of at least 0");
}

}  // namespace ps
