#include <algorithm>

#include "bench/link/steps.h"

namespace ps {

namespace {

constexpr size_t kBucketFloats = size_t{2} << 20;  // number of values of a bucket of an overlapped exchange

void fill_gradient(int rank, std::span<float> values) {
  for (size_t i = 0; i < values.size(); ++i) values[i] = emulated_gradient(rank, i);
}

float exact_sum(int ranks, uint64_t index) {
  float sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += emulated_gradient(rank, index);
  return sum;
}

}  // namespace

DenseStep::DenseStep(ExchangeCommunicator& communicator, const ModelShape& model, double compute_seconds,
                     const AllReduceAlgorithm& algorithm, Exchange exchange)
    : communicator_(communicator),
      algorithm_(algorithm),
      exchange_(exchange),
      accelerator_(compute_seconds),
      gradient_(model.elements()) {
  fill_gradient(communicator.rank(), gradient_);
}

// Exchanges the gradient from its end on, since the backward pass computes it in that order.  When
// overlapped, each bucket is exchanged as soon as its gradient is there, and the rest when all are.
void DenseStep::run() {
  const std::span<float> all(gradient_);
  accelerator_.begin_step();
  size_t end = all.size();
  while (exchange_ == Exchange::kOverlapped && end > kBucketFloats) {
    const size_t begin = end - kBucketFloats;
    accelerator_.await_gradient(1 - static_cast<double>(begin) / static_cast<double>(all.size()));
    communicator_.all_reduce_by(algorithm_, all.subspan(begin, kBucketFloats));
    end = begin;
  }
  accelerator_.await_gradient(1);
  communicator_.all_reduce_by(algorithm_, all.first(end));
}

// Counts the wrong sums, and clears the gradient: later runs would add sums to sums, which grow.
uint64_t DenseStep::count_wrong() {
  uint64_t wrong = 0;
  for (size_t i = 0; i < gradient_.size(); ++i) {
    wrong += gradient_[i] != exact_sum(communicator_.size(), i) ? 1 : 0;
  }
  std::ranges::fill(gradient_, 0.0f);
  return wrong;
}

double DenseStep::expected_bytes() const {
  return algorithm_.most_sent(static_cast<double>(gradient_.size() * sizeof(float)), communicator_.size());
}

// Weights stand for the model: each rank begins with others, and after the first period all have the mean,
// which further periods keep but for rounding.
LocalSgdPeriod::LocalSgdPeriod(ExchangeCommunicator& communicator, const ModelShape& model,
                               double compute_seconds, int steps)
    : communicator_(communicator),
      algorithm_(all_reduce_algorithm("direct")),
      accelerator_(compute_seconds),
      steps_(steps),
      weights_(model.elements()) {
  fill_gradient(communicator.rank(), weights_);
}

void LocalSgdPeriod::run() {
  for (int step = 0; step < steps_; ++step) {
    accelerator_.begin_step();
    accelerator_.await_gradient(1);
  }
  communicator_.all_reduce_by(algorithm_, weights_);
  const float share = 1.0f / static_cast<float>(communicator_.size());
  for (float& weight : weights_) weight *= share;
}

// The mean is computed as run() computes it, an exact sum times a rounded share, so it must agree to the
// bit.
uint64_t LocalSgdPeriod::count_wrong() {
  const int ranks = communicator_.size();
  const float share = 1.0f / static_cast<float>(ranks);
  uint64_t wrong = 0;
  for (size_t i = 0; i < weights_.size(); ++i) wrong += weights_[i] != exact_sum(ranks, i) * share ? 1 : 0;
  return wrong;
}

double LocalSgdPeriod::expected_bytes() const {
  return algorithm_.most_sent(static_cast<double>(weights_.size() * sizeof(float)), communicator_.size());
}

}  // namespace ps
