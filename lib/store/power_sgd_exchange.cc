#include "store/power_sgd_exchange.h"

#include <algorithm>

#include "base/error.h"

namespace ps {

PowerSgdExchange::PowerSgdExchange(const PowerSgdOptions& options, std::span<const ParameterSpec> specs,
                                   const LocalStore& local, Communicator& communicator)
    : options_(options),
      specs_(specs),
      local_(local),
      kernels_(vector_kernels(local.cpu())),
      communicator_(communicator),
      matrices_(specs.size()) {
  for (size_t p = 0; p < specs_.size(); ++p) {
    matrices_[p].shape = {.rank = options_.rank, .rows = specs_[p].rows, .cols = specs_[p].cols};
  }
}

bool PowerSgdExchange::compresses(size_t parameter) const {
  const ParameterSpec& spec = specs_[parameter];
  return local_.schedule().steps() >= options_.begin_step && spec.kind != ParameterKind::kStatistic &&
         matrices_[parameter].shape.pays();
}

void PowerSgdExchange::step(std::span<const Gradient> gradients, const StepSize& step) {
  const std::vector<Factors> factors = lay_out(gradients);
  for (size_t n = 0; n < gradients.size(); ++n) begin(gradients[n], step.scale, factors[n]);
  communicator_.all_reduce(std::span(p_));
  for (size_t n = 0; n < gradients.size(); ++n) {
    const FactorShape& shape = matrices_[gradients[n].parameter].shape;
    orthogonalise(kernels_, shape, factors[n].p);
    multiply_transposed(kernels_, shape, gradients[n].values, factors[n].p, factors[n].q);
    keep_rest(gradients[n], step.scale, factors[n]);
  }
  communicator_.all_reduce(std::span(q_));
  for (size_t n = 0; n < gradients.size(); ++n) end(gradients[n], factors[n]);
}

std::vector<PowerSgdExchange::Factors> PowerSgdExchange::lay_out(std::span<const Gradient> gradients) {
  size_t p_values = 0, q_values = 0;
  for (const Gradient& gradient : gradients) {
    p_values += matrices_[gradient.parameter].shape.p_values();
    q_values += matrices_[gradient.parameter].shape.q_values();
  }
  p_.resize(p_values), q_.resize(q_values);
  std::vector<Factors> factors;
  std::span<float> p(p_), q(q_);
  for (const Gradient& gradient : gradients) {
    const FactorShape& shape = matrices_[gradient.parameter].shape;
    factors.push_back({p.first(shape.p_values()), q.first(shape.q_values())});
    p = p.subspan(shape.p_values()), q = q.subspan(shape.q_values());
  }
  return factors;
}

// values <- M        p <- M Q
void PowerSgdExchange::begin(const Gradient& gradient, float scale, const Factors& factors) {
  Matrix& matrix = matrices_[gradient.parameter];
  matrix.q.resize(matrix.shape.q_values());
  matrix.residual.resize(gradient.values.size());
  const float samples = 1.0f / scale;
  for (size_t i = 0; i < gradient.values.size(); ++i) gradient.values[i] += samples * matrix.residual[i];
  warm_start(kernels_, matrix.shape, specs_[gradient.parameter].initializer.seed, gradient.parameter,
             static_cast<uint64_t>(local_.schedule().steps()), matrix.q);
  multiply(kernels_, matrix.shape, gradient.values, matrix.q, factors.p);
}

void PowerSgdExchange::keep_rest(const Gradient& gradient, float scale, const Factors& factors) {
  Matrix& matrix = matrices_[gradient.parameter];
  const int64_t cols = matrix.shape.cols;
  std::vector<float> sent(static_cast<size_t>(cols));
  for (int64_t row = 0; row < matrix.shape.rows; ++row) {
    product_row(kernels_, matrix.shape, factors.p, factors.q, row, sent.data());
    const float* own = gradient.values.data() + row * cols;
    float* rest = matrix.residual.data() + row * cols;
    for (int64_t j = 0; j < cols; ++j) rest[j] = scale * (own[j] - sent[static_cast<size_t>(j)]);
  }
}

// values <- P Q^T
void PowerSgdExchange::end(const Gradient& gradient, const Factors& factors) {
  Matrix& matrix = matrices_[gradient.parameter];
  if (kernels_.largest_size(factors.q.data(), static_cast<int64_t>(factors.q.size())) >= kInfiniteSize) {
    fail(Code::kData, "a gradient of ", quote(specs_[gradient.parameter].name),
         " has values that are no numbers, ", "or too large for power_sgd");
  }
  for (int64_t row = 0; row < matrix.shape.rows; ++row) {
    product_row(kernels_, matrix.shape, factors.p, factors.q, row,
                gradient.values.data() + row * matrix.shape.cols);
  }
  std::ranges::copy(factors.q, matrix.q.begin());
}

// state := { parameter:u32 Q:f32[rank, cols] e:f32[rows, cols] }...
void PowerSgdExchange::save(std::string& out) const {
  for (size_t p = 0; p < matrices_.size(); ++p) {
    if (matrices_[p].q.empty()) continue;
    put(out, static_cast<uint32_t>(p));
    put_array<float>(out, matrices_[p].q);
    put_array<float>(out, matrices_[p].residual);
  }
}

void PowerSgdExchange::load(ByteReader& in) {
  while (in.ok() && in.remaining() > 0) {
    const uint32_t p = in.get<uint32_t>();
    if (!in.ok() || p >= matrices_.size() || !matrices_[p].q.empty() || !compresses(p)) {
      fail(Code::kCorrupt, "state of PowerSGD names parameter ", p);
    }
    Matrix& matrix = matrices_[p];
    matrix.q.resize(matrix.shape.q_values());
    matrix.residual.resize(static_cast<size_t>(matrix.shape.rows * matrix.shape.cols));
    in.get_array(std::span(matrix.q));
    in.get_array(std::span(matrix.residual));
  }
  if (!in.ok()) fail(Code::kCorrupt, "state of PowerSGD is cut short");
  if (local_.schedule().steps() <= options_.begin_step) return;
  for (size_t p = 0; p < matrices_.size(); ++p) {
    if (compresses(p) && matrices_[p].q.empty())
      fail(Code::kCorrupt, "state of PowerSGD lacks ", quote(specs_[p].name));
  }
}

}  // namespace ps
