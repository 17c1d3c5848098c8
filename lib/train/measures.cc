#include "train/measures.h"

#include <cmath>

#include "base/error.h"
#include "config/json.h"

namespace ps {

void Measures::add(double cost, Matrix<const float> predictions, std::span<const float> log_losses,
                   const Batch& batch) {
  cost_ += cost;
  samples_ += batch.size();
  if (batch.weights.empty()) weight_ += static_cast<double>(batch.size());
  for (float weight : batch.weights) weight_ += static_cast<double>(weight);
  for (const auto& evaluator : evaluators_) {
    if (!log_losses.empty() && evaluator->wants_log_losses()) {
      evaluator->add_log_losses(log_losses, batch);
    } else {
      evaluator->add(predictions, batch);
    }
  }
}

void Measures::merge(const Measures& other) {
  cost_ += other.cost_;
  samples_ += other.samples_;
  weight_ += other.weight_;
  for (size_t i = 0; i < evaluators_.size(); ++i) evaluators_[i]->merge(*other.evaluators_[i]);
}

void Measures::reset() {
  cost_ = weight_ = 0;
  samples_ = 0;
  for (const auto& evaluator : evaluators_) evaluator->reset();
}

// measures := samples:i64 cost:f64 evaluators                      every example has weight 1
//           | ~samples:i64 weight:f64 cost:f64 evaluators          on disk since weights count
void Measures::save(std::string& out) const {
  const bool weighted = weight_ != static_cast<double>(samples_);
  put(out, weighted ? ~samples_ : samples_);
  if (weighted) put(out, weight_);
  put(out, cost_);
  for (const auto& evaluator : evaluators_) evaluator->save(out);
}

void Measures::load(ByteReader& in) {
  samples_ = in.get<int64_t>();
  const bool weighted = samples_ < 0;
  if (weighted) samples_ = ~samples_;
  weight_ = weighted ? in.get<double>() : static_cast<double>(samples_);
  cost_ = in.get<double>();
  for (const auto& evaluator : evaluators_) evaluator->load(in);
  if (!in.ok()) fail(Code::kCorrupt, "figures of a trainer are cut short");
  if (!(weight_ >= 0 && std::isfinite(weight_))) fail(Code::kCorrupt, "weights of a trainer make no sense");
}

std::vector<std::pair<std::string, double>> Measures::values() const {
  std::vector<std::pair<std::string, double>> all;
  for (const auto& evaluator : evaluators_) {
    for (auto& value : evaluator->values()) all.push_back(std::move(value));
  }
  return all;
}

std::string Measures::text() const {
  std::vector<std::string> parts;
  for (const auto& [name, value] : values())
    parts.push_back(cat(name, "=", std::isnan(value) ? "undefined" : significant(value, 6)));
  return join(parts, " ");
}

Json Measures::json() const {
  Json out = Json::object();
  for (const auto& [name, value] : values()) out[name] = std::isfinite(value) ? Json(value) : Json();
  return out;
}

}  // namespace ps
