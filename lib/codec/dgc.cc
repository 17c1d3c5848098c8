#include "codec/dgc.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/hash.h"

namespace ps {

namespace {

constexpr uint64_t kStepChunk = 1 << 16;  // values of one call of the kernel

uint64_t num_elements(const DgcTarget& target) {
  uint64_t elements = 1;
  for (int64_t size : target.shape) elements *= static_cast<uint64_t>(size);
  return elements;
}

Selection selection_of(const DgcOptions& options) {
  return options.selection == "exact" ? Selection::kExact : Selection::kSampled;
}

}  // namespace

bool dgc_runs_there(const DgcOptions& options) {
  return !options.clip_norm;
}

// With a device, momentum and residual live there, and the arrays here stay empty.
DeepGradientCompression::DeepGradientCompression(const DgcOptions& options, const DgcTarget& target,
                                                 DgcDevice* device)
    : options_(options),
      kernels_(vector_kernels(target.cpu)),
      encoding_(find_sparse_encoding(options.encoding)),
      num_trainers_(target.num_trainers),
      seed_(hash_key(target.seed) ^ hash_key(~target.key)),
      elements_(num_elements(target)),
      compressed_(dgc_compresses(options, target.shape)),
      velocity_(device == nullptr ? elements_ : 0),
      residual_(compressed_ && device == nullptr ? elements_ : 0),
      there_(device == nullptr ? nullptr : device->make(elements_, selection_of(options))),
      selector_(selection_of(options), target.cpu) {
  PS_CHECK(num_trainers_ > 0 && (device == nullptr || (compressed_ && dgc_runs_there(options))));
  if (there_) there_->set_state({}, {});
}

DgcThere* DeepGradientCompression::there(std::span<const float> weights) {
  if (there_ && !std::exchange(weights_there_, true)) there_->set_weights(weights);
  return there_.get();
}

void DeepGradientCompression::begin(int64_t steps, std::span<const float> velocity) {
  PS_CHECK(steps_ == 0 && velocity.size() == elements_);
  steps_ = steps;
  if (there_) return there_->set_state(velocity, {});
  std::ranges::copy(velocity, velocity_.begin());
}

// Returns the scale of the gradient after local clipping.  The norm is that of g, which is N times the norm
// of the trainer's share.
float DeepGradientCompression::clipped_scale(const DgcGradient& gradient) const {
  if (!options_.clip_norm) return gradient.scale;
  const double squares = kernels_.sum_of_squares(gradient.values.data(), static_cast<int64_t>(elements_));
  const double norm = std::sqrt(squares) * std::fabs(static_cast<double>(gradient.scale));
  const double bound = *options_.clip_norm * std::sqrt(static_cast<double>(num_trainers_));
  return norm > bound ? static_cast<float>(static_cast<double>(gradient.scale) * (bound / norm))
                      : gradient.scale;
}

// Both ways make the same moves, bit for bit; only the encoding of the sent ones is always done here.
void DeepGradientCompression::step_sparse(const DgcGradient& gradient, std::span<const float> weights,
                                          std::string& bytes) {
  PS_CHECK(gradient.values.size() == elements_ && weights.size() == elements_);
  there_ ? step_there(gradient, weights) : step_here(gradient, weights);
  encode_sparse(encoding_, sent_, bytes);
  ++steps_;
}

// Runs the step on the device: sent_ <- its selected moves.  If a move is not finite, the residuals are fetched
// to name the first such value.
void DeepGradientCompression::step_there(const DgcGradient& gradient, std::span<const float> weights) {
  DgcThere& arrays = *there(weights);
  if (gradient.values.data() != arrays.gradient()) arrays.set_gradient(gradient.values);
  const DgcThere::Step step{.scale = gradient.scale,
                            .rate = gradient.rate,
                            .momentum = static_cast<float>(options_.momentum),
                            .l2 = static_cast<float>(options_.l2),
                            .nesterov = options_.nesterov,
                            .factor_masking = options_.factor_masking,
                            .encoding = encoding_,
                            .count = selected(),
                            .draw = draw()};
  if (arrays.step(step, sent_) < kInfiniteSize) return;
  std::vector<float> velocity(elements_), residual(elements_);
  arrays.get_state(velocity, residual);
  refuse(residual);
}

void DeepGradientCompression::refuse(std::span<const float> moves) {
  const auto odd = std::find_if_not(moves.begin(), moves.end(), [](float v) { return std::isfinite(v); });
  fail(Code::kData, "value ", odd - moves.begin(), " of a gradient makes a move that is ", *odd);
}

uint64_t DeepGradientCompression::draw() const {
  return seed_ + hash_key(static_cast<uint64_t>(steps_));
}

// The moves are selected by the size of v after the step, and rounded as the encoding does. v keeps the
// rounding error of the values that are sent, and becomes zero if there is none.
void DeepGradientCompression::step_here(const DgcGradient& gradient, std::span<const float> weights) {
  const uint64_t count = selected();
  PS_CHECK(count < elements_);
  selector_.begin(elements_, count, draw());
  uint32_t largest = 0;
  accumulate(gradient, weights, largest);
  if (largest >= kInfiniteSize) refuse(residual_);
  selector_.finish(residual_, sent_);
  round_values(encoding_, sent_.value);
  for (size_t i = 0; i < sent_.size(); ++i) {
    residual_[sent_.index[i]] -= sent_.value[i];
    if (options_.factor_masking) velocity_[sent_.index[i]] = 0;
  }
}

// Updates u and v and collects the candidates of the selection in a single pass over gradient, u and v, since
// the memory's speed bounds a step.  The threshold must be known before the pass: least_from_sample estimates
// it.
void DeepGradientCompression::accumulate(const DgcGradient& gradient, std::span<const float> weights,
                                         uint32_t& largest) {
  const float scale = clipped_scale(gradient);
  const uint32_t least = least_from_sample(gradient, weights, scale);
  for (uint64_t begin = 0; begin < elements_; begin += kStepChunk) {
    const int64_t n = static_cast<int64_t>(std::min(kStepChunk, elements_ - begin));
    const DgcStep step{.gradient = gradient.values.data() + begin,
                       .weights = options_.l2 > 0 ? weights.data() + begin : nullptr,
                       .velocity = velocity_.data() + begin,
                       .residual = residual_.data() + begin,
                       .scale = scale,
                       .rate = gradient.rate,
                       .momentum = static_cast<float>(options_.momentum),
                       .l2 = static_cast<float>(options_.l2),
                       .nesterov = options_.nesterov};
    selector_.collected(
        kernels_.dgc_step(step, n, static_cast<uint32_t>(begin), least, selector_.room(n), largest));
  }
}

// Computes the step on copies of the sample's lines alone, and estimates the threshold from their v.  The pass
// over all values computes these lines again; they are a small share.
uint32_t DeepGradientCompression::least_from_sample(const DgcGradient& gradient,
                                                    std::span<const float> weights, float scale) {
  constexpr uint64_t kLine = Selector::kLine;
  const std::span<const uint64_t> lines = selector_.lines();
  const size_t size = lines.size() * kLine;
  sample_.resize(3 * size);
  for (size_t n = 0; n < lines.size(); ++n) {
    std::copy_n(&gradient.values[lines[n]], kLine, &sample_[n * kLine]);
    if (options_.l2 > 0) std::copy_n(&weights[lines[n]], kLine, &sample_[size + n * kLine]);
    std::copy_n(&velocity_[lines[n]], kLine, &sample_[2 * size + n * kLine]);
    std::copy_n(&residual_[lines[n]], kLine, &selector_.sample()[n * kLine]);
  }
  const DgcStep step{.gradient = sample_.data(),
                     .weights = options_.l2 > 0 ? sample_.data() + size : nullptr,
                     .velocity = sample_.data() + 2 * size,
                     .residual = selector_.sample().data(),
                     .scale = scale,
                     .rate = gradient.rate,
                     .momentum = static_cast<float>(options_.momentum),
                     .l2 = static_cast<float>(options_.l2),
                     .nesterov = options_.nesterov};
  uint32_t largest = 0;
  const int64_t n = static_cast<int64_t>(size);
  kernels_.dgc_step(step, n, 0, kInfiniteSize, selector_.room(n), largest);
  return selector_.least();
}

// `moves` is the sum of those of all trainers, so each weight moves by its mean.  The weights here move
// even if the device has a copy of them, which moves too.
void DeepGradientCompression::apply(const SparseVector& moves, std::span<float> weights) const {
  PS_CHECK(weights.size() == elements_);
  const float share = 1.0f / static_cast<float>(num_trainers_);
  if (weights_there_) there_->apply(moves, share);
  for (size_t i = 0; i < moves.size(); ++i) weights[moves.index[i]] += share * moves.value[i];
}

// state := steps:i64 u:f32[elements] v:f32[elements]      v where the parameter is compressed
void DeepGradientCompression::save(std::string& out) const {
  put(out, steps_);
  std::vector<float> velocity(there_ ? elements_ : 0), residual(velocity.size());
  if (there_) there_->get_state(velocity, residual);
  put_array<float>(out, there_ ? velocity : velocity_);
  put_array<float>(out, there_ ? residual : residual_);
}

// The arrays are read here even if they live on a device, and are sent there once they are known to be
// whole.
void DeepGradientCompression::load(ByteReader& in) {
  PS_CHECK(steps_ == 0);
  steps_ = in.get<int64_t>();
  std::vector<float> velocity(there_ ? elements_ : 0), residual(velocity.size());
  in.get_array<float>(there_ ? velocity : velocity_);
  in.get_array<float>(there_ ? residual : residual_);
  if (!in.ok() || steps_ < 0) fail(Code::kCorrupt, "state of Deep Gradient Compression is cut short");
  if (there_) there_->set_state(velocity, residual);
}

}  // namespace ps
