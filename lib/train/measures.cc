#include "train/measures.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "config/json.h"
#include "model/measure_batch.h"
#include "train/figure.h"

namespace ps {

TaskTotals& TaskTotals::operator+=(const TaskTotals& other) {
  weight += other.weight;
  cost += other.cost;
  return *this;
}

double CostTotals::mean() const {
  double sum = 0;
  for (const TaskTotals& task : tasks) sum += task.mean();
  const bool weighted = std::ranges::any_of(tasks, [](const TaskTotals& task) { return task.weight > 0; });
  return samples > 0 && !weighted ? std::nan("") : sum;
}

CostTotals& CostTotals::operator+=(const CostTotals& other) {
  samples += other.samples;
  tasks.resize(std::max(tasks.size(), other.tasks.size()));
  for (size_t t = 0; t < other.tasks.size(); ++t) tasks[t] += other.tasks[t];
  return *this;
}

// Adds a batch.  A task has a weight of its own, since examples may lack its label.
void Measures::add(const BatchFigures& figures, const Batch& batch) {
  PS_CHECK(figures.task_costs.size() == tasks_->size());
  totals_.samples += batch.size();
  for (size_t t = 0; t < tasks_->size(); ++t)
    totals_.tasks[t] += {(*tasks_)[t].weight_of(batch), figures.task_costs[t]};
  for (const auto& evaluator : evaluators_) measure_batch(figures, batch, *evaluator);
}

void Measures::merge(const Measures& other) {
  totals_ += other.totals_;
  for (size_t i = 0; i < evaluators_.size(); ++i) evaluators_[i]->merge(*other.evaluators_[i]);
}

void Measures::reset() {
  totals_ = {0, std::vector<TaskTotals>(tasks_->size())};
  for (const auto& evaluator : evaluators_) evaluator->reset();
}

// measures := samples:i64 cost:f64 tasks evaluators                every example has weight 1
//           | ~samples:i64 weight:f64 cost:f64 tasks evaluators    on disk since weights count
// tasks    := (weight:f64 cost:f64)*                               of each task of the network but the first
void Measures::save(std::string& out) const {
  const TaskTotals& main = totals_.tasks.front();
  const bool weighted = main.weight != static_cast<double>(totals_.samples);
  put(out, weighted ? ~totals_.samples : totals_.samples);
  if (weighted) put(out, main.weight);
  put(out, main.cost);
  for (size_t t = 1; t < totals_.tasks.size(); ++t) {
    put(out, totals_.tasks[t].weight);
    put(out, totals_.tasks[t].cost);
  }
  for (const auto& evaluator : evaluators_) evaluator->save(out);
}

// Reads both forms of the state.  A negative number of samples, ~samples, says that a weight follows;
// without one, every example has weight 1.  Weights are checked, since means are divided by them.
void Measures::load(ByteReader& in) {
  int64_t& samples = totals_.samples = in.get<int64_t>();
  const bool weighted = samples < 0;
  if (weighted) samples = ~samples;
  for (size_t t = 0; t < totals_.tasks.size(); ++t) {
    TaskTotals& task = totals_.tasks[t];
    task.weight = t > 0 || weighted ? in.get<double>() : static_cast<double>(samples);
    task.cost = in.get<double>();
  }
  for (const auto& evaluator : evaluators_) evaluator->load(in);
  if (!in.ok()) fail(Code::kCorrupt, "figures of a trainer are cut short");
  for (const TaskTotals& task : totals_.tasks) {
    if (!(task.weight >= 0 && std::isfinite(task.weight)))
      fail(Code::kCorrupt, "weights of a trainer make no sense");
  }
}

std::vector<std::pair<std::string, double>> Measures::values() const {
  std::vector<std::pair<std::string, double>> all;
  for (size_t t = 0; t < tasks_->size() && tasks_->size() > 1; ++t) {
    const TaskTotals& task = totals_.tasks[t];
    all.emplace_back(cat((*tasks_)[t].name, ".cost"), task.weight > 0 ? task.mean() : std::nan(""));
  }
  for (const auto& evaluator : evaluators_) {
    for (auto& value : evaluator->values()) all.push_back(std::move(value));
  }
  return all;
}

std::string Measures::text() const {
  std::vector<std::string> parts;
  for (const auto& [name, value] : values()) parts.push_back(cat(name, "=", figure_text(value)));
  return join(parts, " ");
}

Json Measures::json() const {
  Json out = Json::object();
  for (const auto& [name, value] : values()) out[name] = figure_json(value);
  return out;
}

}  // namespace ps
