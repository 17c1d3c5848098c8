#include "train/measures.h"

#include <cmath>

#include "base/error.h"
#include "config/json.h"

namespace ps {

void Measures::add(double cost, Matrix<const float> predictions, const Batch& batch) {
  cost_ += cost;
  samples_ += batch.size();
  for (const auto& evaluator : evaluators_) evaluator->add(predictions, batch);
}

void Measures::merge(const Measures& other) {
  cost_ += other.cost_;
  samples_ += other.samples_;
  for (size_t i = 0; i < evaluators_.size(); ++i) evaluators_[i]->merge(*other.evaluators_[i]);
}

void Measures::reset() {
  cost_ = 0;
  samples_ = 0;
  for (const auto& evaluator : evaluators_) evaluator->reset();
}

void Measures::save(std::string& out) const {
  put(out, samples_);
  put(out, cost_);
  for (const auto& evaluator : evaluators_) evaluator->save(out);
}

void Measures::load(ByteReader& in) {
  samples_ = in.get<int64_t>();
  cost_ = in.get<double>();
  for (const auto& evaluator : evaluators_) evaluator->load(in);
  if (!in.ok()) fail(Code::kCorrupt, "figures of a trainer are cut short");
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
  for (const auto& [name, value] : values()) parts.push_back(cat(name, "=", significant(value, 6)));
  return join(parts, " ");
}

Json Measures::json() const {
  Json out = Json::object();
  for (const auto& [name, value] : values()) out[name] = std::isfinite(value) ? Json(value) : Json();
  return out;
}

}  // namespace ps
