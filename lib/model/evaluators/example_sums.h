// ExampleSums: the sums of an evaluator, to which each example adds by a rule (math/items/measure_items.h), and SumEvaluator,
// an evaluator that has such sums.  Used by the evaluators of this folder.
//
// The sums are here or on a device with memory of its own, where the examples are added; they come back when somebody asks
// for them.
#ifndef PS_MODEL_EVALUATORS_EXAMPLE_SUMS_H_
#define PS_MODEL_EVALUATORS_EXAMPLE_SUMS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "math/device_buffer.h"
#include "math/device_kernels.h"
#include "math/items/measure_items.h"
#include "model/evaluator.h"

namespace ps {

// One owner thread.
class ExampleSums {
 public:
  // `width` is that of the rule: term i goes to the sums [i * width, (i + 1) * width).
  explicit ExampleSums(size_t sums, int64_t width = 1) : width_(width), sums_(sums) {}

  // Adds B examples, whose arrays are in memory of the host; add_there, those whose arrays are on the device.
  template <class Rule>
  void add(const Rule& rule, const MeasuredExamples& examples, int64_t size) {
    bring_back();
    std::array<MeasureTerm, Rule::kMost> own;
    for (int64_t b = 0; b < size; ++b) {
      rule(examples, b, own.data());
      for (const MeasureTerm& each : own) {
        if (each.sum < 0) continue;
        for (int32_t time = 0; time < each.times; ++time)
          sums_[static_cast<size_t>(each.sum)].add(each.value);
      }
    }
  }
  template <class Rule>
  void add_there(Device& device, const Rule& rule, const MeasuredExamples& examples, int64_t size) {
    if (size == 0) return;
    send(device);
    terms_.resize(device, size * Rule::kMost);
    run_there(device, size, MeasureItems<Rule>{rule, examples, size, terms_.data()});
    run_there(device, std::ssize(sums_),
              AddMeasureTermItems{terms_.data(), size, Rule::kMost, width_, there_.data()});
  }

  void merge(const ExampleSums& other);
  void clear();

  double value(size_t sum) const;

  // The state of one sum in checkpoints: sum:f64 lost:f64.
  void save(size_t sum, std::string& out) const;

  // Replaces all sums by those that were loaded.
  void replace(const std::vector<CompensatedSum>& sums);
  size_t size() const { return sums_.size(); }

 private:
  void send(Device& device);
  void bring_back() const;

  const int64_t width_;
  mutable std::vector<CompensatedSum> sums_;   // behind there_ while a device has them
  mutable std::shared_ptr<DeviceKernels> at_;  // the device that has the sums; null: they are here
  DeviceBuffer<CompensatedSum> there_;
  DeviceBuffer<MeasureTerm> terms_;  // of a batch
};

// Read the state of a sum.  load_weight throws kCorrupt for a value that cannot be a sum of weights.
CompensatedSum load_sum(ByteReader& in);
CompensatedSum load_weight(ByteReader& in);

// Returns the examples of a batch whose arrays are here.
MeasuredExamples examples_here(Matrix<const float> predictions, const Batch& batch,
                               std::optional<size_t> label_sets = std::nullopt);

// Measures examples by a rule.  One owner thread.
template <class Rule>
class SumEvaluator : public Evaluator {
 public:
  SumEvaluator(std::string name, const Rule& rule, size_t sums, int64_t width = 1)
      : name_(std::move(name)), rule_(rule), sums_(sums, width) {}

  void add(Matrix<const float> predictions, const Batch& batch) override {
    sums_.add(rule_, examples_here(predictions, batch, label_sets_), predictions.rows);
  }

  bool runs_there() const override { return true; }
  void add_there(Device& device, const ExamplesThere& there, const Batch& batch) override {
    sums_.add_there(device, rule_, with_label_sets(device, there.examples, batch), there.size);
  }

  void merge(const Evaluator& other) override {
    const auto* same = dynamic_cast<const SumEvaluator*>(&other);
    PS_CHECK(same != nullptr && same->name_ == name_ && same->sums_.size() == sums_.size());
    sums_.merge(same->sums_);
  }
  void reset() override { sums_.clear(); }

  // state := sum[sums], unless overridden
  void save(std::string& out) const override {
    for (size_t s = 0; s < sums_.size(); ++s) sums_.save(s, out);
  }
  void load(ByteReader& in) override {
    std::vector<CompensatedSum> sums;
    for (size_t s = 0; s < sums_.size(); ++s) sums.push_back(load_weight(in));
    sums_.replace(sums);
  }

 protected:
  void read_label_sets(size_t slot) { label_sets_ = slot; }

  const std::string& name() const { return name_; }
  double sum(size_t index) const { return sums_.value(index); }
  ExampleSums& sums() { return sums_; }
  const ExampleSums& sums() const { return sums_; }

 private:
  MeasuredExamples with_label_sets(Device& device, MeasuredExamples examples, const Batch& batch) const {
    if (!label_sets_) return examples;
    const SlotData& slot = batch.slots[*label_sets_];
    examples.sets = {mirror(device, slot.offsets.data(), std::ssize(slot.offsets)),
                     mirror(device, slot.keys.data(), std::ssize(slot.keys))};
    return examples;
  }

  const std::string name_;
  const Rule rule_;
  std::optional<size_t> label_sets_;  // the slot that has the labels
  ExampleSums sums_;
};

}  // namespace ps

#endif  // PS_MODEL_EVALUATORS_EXAMPLE_SUMS_H_
