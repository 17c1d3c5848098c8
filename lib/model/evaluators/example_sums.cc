#include "model/evaluators/example_sums.h"

#include <cmath>

namespace ps {

void ExampleSums::merge(const ExampleSums& other) {
  bring_back();
  other.bring_back();
  for (size_t s = 0; s < sums_.size(); ++s) sums_[s].merge(other.sums_[s]);
}

void ExampleSums::clear() {
  at_.reset();
  sums_.assign(sums_.size(), CompensatedSum());
}

double ExampleSums::value(size_t sum) const {
  bring_back();
  return sums_[sum].value();
}

void ExampleSums::save(size_t sum, std::string& out) const {
  bring_back();
  put(out, sums_[sum].sum);
  put(out, sums_[sum].lost);
}

void ExampleSums::replace(const std::vector<CompensatedSum>& sums) {
  PS_CHECK(sums.size() == sums_.size());
  at_.reset();
  sums_ = sums;
}

// The sums go there by an upload, which is a copy: sums_ may change before the device has read it.
void ExampleSums::send(Device& device) {
  if (at_ == device.kernels()) return;
  bring_back();
  there_.resize(device, std::ssize(sums_));
  device.kernels()->copy(there_.data(), copy_there(device, sums_.data(), std::ssize(sums_)), there_.bytes());
  at_ = device.kernels();
}

void ExampleSums::bring_back() const {
  if (at_ == nullptr) return;
  at_->receive(sums_.data(), there_.data(), there_.bytes());
  at_.reset();
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

MeasuredExamples examples_here(Matrix<const float> predictions, const Batch& batch,
                               std::optional<size_t> label_sets) {
  MeasuredExamples examples{predictions.data, predictions.cols, predictions.cols, batch.labels.data(),
                            batch.weights.empty() ? nullptr : batch.weights.data()};
  if (label_sets) {
    const SlotData& slot = batch.slots[*label_sets];
    examples.sets = {slot.offsets.data(), slot.keys.data()};
  }
  return examples;
}

}  // namespace ps
