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

}  // namespace

EmulatedComputation::EmulatedComputation(double seconds, std::span<const ParameterSpec> specs,
                                         int64_t prediction_cols)
    : seconds_(seconds), specs_(specs), prediction_cols_(prediction_cols), noise_(kNoiseValues) {
  Random random(0, 0);
  for (float& value : noise_) value = (unit_float(random.next32()) - 0.5f) * kNoiseSize;
}

// The time that gradients take to be written is part of the batch's.
double EmulatedComputation::run(const PreparedBatch& prepared, std::span<const ParameterView<float>> views) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds_);
  size_t next = hash_key(static_cast<uint64_t>(prepared.step)) % kNoiseValues;
  for (size_t p = 0; p < specs_.size(); ++p) {
    const size_t cols = static_cast<size_t>(specs_[p].cols);
    if (specs_[p].kind == ParameterKind::kMatrix)
      fill(views[p].gradient, static_cast<size_t>(specs_[p].rows) * cols, next);
    if (specs_[p].kind == ParameterKind::kRows)
      fill(views[p].row_gradients, prepared.plans[p].keys.size() * cols, next);
  }
  predictions_.assign(static_cast<size_t>(prepared.batch.size() * prediction_cols_), 0.0f);
  std::this_thread::sleep_until(end);
  return 0;
}

// The noise goes round: gradient [count] <- values from `next` on.
void EmulatedComputation::fill(float* gradient, size_t count, size_t& next) {
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
