#include "train/emulated_computation.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/hash.h"
#include "base/random.h"

namespace ps {

namespace {

constexpr size_t kNoiseValues = 1 << 16;
constexpr float kNoiseSize = 0.002f;
constexpr double kForwardShare = 1.0 / 3;  // forward's part of the time of a batch

}  // namespace

EmulatedComputation::EmulatedComputation(double seconds, std::span<const ParameterSpec> specs,
                                         const FigureSizes& sizes)
    : seconds_(seconds),
      specs_(specs),
      prediction_cols_(sizes.prediction_cols),
      noise_(kNoiseValues),
      task_costs_(static_cast<size_t>(sizes.tasks)) {
  Random random(0, 0);
  for (float& value : noise_) value = (unit_float(random.next32()) - 0.5f) * kNoiseSize;
}

// Waits for the time of forward.  The end of the batch is fixed here, so that the time of writing gradients is
// part of the batch's.
double EmulatedComputation::run(const PreparedBatch& prepared, std::span<const ParameterView<float>>) {
  const std::chrono::duration<double> whole(seconds_);
  const auto begin = std::chrono::steady_clock::now();
  end_ = begin + std::chrono::duration_cast<std::chrono::steady_clock::duration>(whole);
  predictions_.assign(static_cast<size_t>(prepared.batch.size() * prediction_cols_), 0.0f);
  std::this_thread::sleep_until(begin + kForwardShare * whole);
  return 0;
}

// Gives the gradients from the last parameter to the first, each at its share of the backward time.  The noise
// of all parameters is one sequence: that of a parameter begins where that of the one before it ends.
void EmulatedComputation::finish_gradients(const PreparedBatch& prepared,
                                           std::span<const ParameterView<float>> views,
                                           const OnFinalGradient& on_final) {
  size_t all = 0;
  for (size_t p = 0; p < specs_.size(); ++p) all += num_values(prepared, p);
  all = std::max<size_t>(all, 1);
  const std::chrono::duration<double> backward((1 - kForwardShare) * seconds_);
  const size_t first = hash_key(static_cast<uint64_t>(prepared.step)) % kNoiseValues;
  for (size_t p = specs_.size(), left = all; p-- > 0;) {
    const size_t count = num_values(prepared, p);
    left -= count;
    const bool by_keys = specs_[p].kind == ParameterKind::kRows;
    fill(by_keys ? views[p].row_gradients : views[p].gradient, count, (first + left) % kNoiseValues);
    std::this_thread::sleep_until(end_ - backward * (static_cast<double>(left) / static_cast<double>(all)));
    if (on_final) on_final(p);
  }
  std::this_thread::sleep_until(end_);
}

// Returns the number of values of the parameter's gradient in this batch.
size_t EmulatedComputation::num_values(const PreparedBatch& prepared, size_t parameter) const {
  const ParameterSpec& spec = specs_[parameter];
  const size_t cols = static_cast<size_t>(spec.cols);
  if (spec.kind == ParameterKind::kStatistic) return 0;
  if (spec.kind == ParameterKind::kRows) return prepared.plans[parameter].keys.size() * cols;
  return static_cast<size_t>(spec.rows) * cols;
}

// gradient [count] <- noise from `next` on, which wraps around.
void EmulatedComputation::fill(float* gradient, size_t count, size_t next) const {
  while (count > 0) {
    const size_t size = std::min(count, noise_.size() - next);
    std::copy_n(noise_.data() + next, size, gradient);
    gradient += size, count -= size;
    next = (next + size) % noise_.size();
  }
}

Matrix<const float> EmulatedComputation::predictions() const {
  return {predictions_.data(), static_cast<int64_t>(predictions_.size()) / prediction_cols_,
          prediction_cols_};
}

}  // namespace ps
