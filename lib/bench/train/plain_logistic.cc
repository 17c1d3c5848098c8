#include "bench/train/plain_logistic.h"

#include <algorithm>
#include <cmath>

namespace ps {

// The first loop goes over the examples b: logit = bias + sum of the weights of its ids; its loss is
// counted; and sigmoid(logit) - label is added to the gradient of the bias and of each of its ids.  The
// second loop makes a step of AdaGrad on the weights of this batch alone: h += g^2, w -= rate g / sqrt(h +
// epsilon), with g summed over the batch.  touched_ lists those weights, so that a step does not go over
// all ids.
double PlainLogistic::step(const Batch& batch) {
  const SlotData& slot = batch.slots[0];
  const size_t bias = weights_.size() - 1;
  double loss = 0;
  touched_.clear();
  for (size_t b = 0; b < batch.labels.size(); ++b) {
    float logit = weights_[bias].value;
    for (uint32_t k = slot.offsets[b]; k < slot.offsets[b + 1]; ++k) logit += weights_[slot.keys[k]].value;
    // This is log(1 + e^-m) for the margin m, without overflow.
    double margin = batch.labels[b] > 0 ? logit : -logit;
    loss += std::max(0.0, -margin) + std::log1p(std::exp(-std::abs(margin)));
    float gradient = static_cast<float>(1 / (1 + std::exp(-static_cast<double>(logit)))) - batch.labels[b];
    add_gradient(bias, gradient);
    for (uint32_t k = slot.offsets[b]; k < slot.offsets[b + 1]; ++k) add_gradient(slot.keys[k], gradient);
  }
  for (size_t index : touched_) {
    Weight& weight = weights_[index];
    weight.square += weight.gradient * weight.gradient;
    weight.value -= rate_ * weight.gradient / std::sqrt(weight.square + epsilon_);
    weight.gradient = 0;
    weight.touched = false;
  }
  return loss;
}

void PlainLogistic::add_gradient(size_t index, float gradient) {
  Weight& weight = weights_[index];
  weight.gradient += gradient;
  if (weight.touched) return;
  weight.touched = true;
  touched_.push_back(index);
}

}  // namespace ps
