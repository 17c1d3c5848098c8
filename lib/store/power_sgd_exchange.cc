#include "store/power_sgd_exchange.h"

#include <algorithm>

#include "base/error.h"

namespace ps {

PowerSgdExchange::PowerSgdExchange(const PowerSgdOptions& options, std::span<const ParameterSpec> specs,
                                   LocalStore& local, Communicator& communicator)
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

bool PowerSgdExchange::runs_there(size_t parameter) const {
  return options_.device != nullptr && options_.on_device[parameter] &&
         local_.can_lend_dense(static_cast<int>(parameter));
}

void PowerSgdExchange::begin_matrix(size_t parameter) {
  Matrix& matrix = matrices_[parameter];
  matrix.q.resize(matrix.shape.q_values());
  if (!runs_there(parameter)) {
    matrix.residual.resize(static_cast<size_t>(matrix.shape.rows * matrix.shape.cols));
    return;
  }
  matrix.power = options_.device->codecs().make_power(matrix.shape);
  matrix.there = options_.device->make_dense(local_, static_cast<int>(parameter));
}

void PowerSgdExchange::bind_there(std::span<ParameterView<float>> views) {
  for (size_t p = 0; p < matrices_.size(); ++p) {
    if (!compresses(p)) continue;
    if (matrices_[p].q.empty()) begin_matrix(p);
    if (matrices_[p].there) matrices_[p].there->pull(views[p]);
  }
}

void PowerSgdExchange::push_there() {
  for (const Matrix& matrix : matrices_) {
    if (matrix.there) matrix.there->push();
  }
}

Json PowerSgdExchange::describe() const {
  return {{"compressed_there",
           std::ranges::count_if(matrices_, [](const Matrix& matrix) { return matrix.there != nullptr; })}};
}

void PowerSgdExchange::wait() const {
  if (options_.device != nullptr) options_.device->codecs().wait();
}

// Returns the gradient in the memory in which it is compressed.
GradientCompression::Gradient PowerSgdExchange::located(const Gradient& gradient) {
  const size_t p = gradient.parameter;
  if (matrices_[p].q.empty()) begin_matrix(p);
  if (!matrices_[p].there) return gradient;
  const size_t size = static_cast<size_t>(specs_[p].rows * specs_[p].cols);
  return {p, gradient_there(*matrices_[p].there, gradient.values, size)};
}

// Makes the step of all matrices, with one exchange of the P's and one of the Q's.  The device is waited for
// before factors are read; it reads them from the host until the step ends.
void PowerSgdExchange::step(std::span<const Gradient> gradients, const StepSize& step) {
  std::vector<Gradient> own;
  for (const Gradient& gradient : gradients) own.push_back(located(gradient));
  const std::vector<Factors> factors = lay_out(own);
  multiply_all(own, step.scale, factors);
  communicator_.all_reduce(std::span(p_));
  keep_rests(own, step.scale, factors);
  communicator_.all_reduce(std::span(q_));
  check_sums(own, factors);
  for (size_t n = 0; n < own.size(); ++n) end(own[n], factors[n]);
  wait();
}

// values <- M and p <- M Q for all matrices.
void PowerSgdExchange::multiply_all(std::span<const Gradient> gradients, float scale,
                                    std::span<const Factors> factors) {
  for (size_t n = 0; n < gradients.size(); ++n) begin(gradients[n], scale, factors[n]);
  wait();
}

// Orthogonalises the summed P's, computes T = M^T P, and keeps the rest M - P T^T as e.
void PowerSgdExchange::keep_rests(std::span<const Gradient> gradients, float scale,
                                  std::span<const Factors> factors) {
  for (size_t n = 0; n < gradients.size(); ++n) {
    const Matrix& matrix = matrices_[gradients[n].parameter];
    if (matrix.power) {
      matrix.power->keep_rest(gradients[n].values.data(), scale, factors[n].p, factors[n].q);
      continue;
    }
    orthogonalise(kernels_, matrix.shape, factors[n].p);
    multiply_transposed(kernels_, matrix.shape, gradients[n].values, factors[n].p, factors[n].q);
    keep_rest(gradients[n], scale, factors[n]);
  }
  wait();
}

// Gives each matrix its factors inside p_ and q_, in the order of the gradients.
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
  // The residual is in the units of the optimizer's gradient, scale * values, and the values are sums over
  // examples.
  const float samples = 1.0f / scale;
  warm_start(kernels_, matrix.shape, specs_[gradient.parameter].initializer.seed, gradient.parameter,
             static_cast<uint64_t>(local_.schedule().steps()), matrix.q);
  if (matrix.power) return matrix.power->begin(gradient.values.data(), samples, matrix.q, factors.p);
  for (size_t i = 0; i < gradient.values.size(); ++i) gradient.values[i] += samples * matrix.residual[i];
  multiply(kernels_, matrix.shape, gradient.values, matrix.q, factors.p);
}

// residual <- the rest M - P T^T, in the units of the optimizer's gradient.
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

// Throws kData for the first gradient whose summed factors are not finite, or too large.
void PowerSgdExchange::check_sums(std::span<const Gradient> gradients,
                                  std::span<const Factors> factors) const {
  for (size_t n = 0; n < gradients.size(); ++n) {
    const std::span<const float> q = factors[n].q;
    if (kernels_.largest_size(q.data(), static_cast<int64_t>(q.size())) < kInfiniteSize) continue;
    fail(Code::kData, "a gradient of ", quote(specs_[gradients[n].parameter].name),
         " has values that are no numbers, ", "or too large for power_sgd");
  }
}

// values <- P Q^T
void PowerSgdExchange::end(const Gradient& gradient, const Factors& factors) {
  Matrix& matrix = matrices_[gradient.parameter];
  std::ranges::copy(factors.q, matrix.q.begin());
  if (matrix.power) return matrix.power->end(matrix.q, gradient.values.data());
  for (int64_t row = 0; row < matrix.shape.rows; ++row) {
    product_row(kernels_, matrix.shape, factors.p, factors.q, row,
                gradient.values.data() + row * matrix.shape.cols);
  }
}

// state := { parameter:u32 Q:f32[rank, cols] e:f32[rows, cols] }...
void PowerSgdExchange::save(std::string& out) const {
  for (size_t p = 0; p < matrices_.size(); ++p) {
    if (matrices_[p].q.empty()) continue;
    put(out, static_cast<uint32_t>(p));
    put_array<float>(out, matrices_[p].q);
    std::vector<float> there(matrices_[p].power ? specs_[p].rows * specs_[p].cols : 0);
    if (matrices_[p].power) matrices_[p].power->get_residual(there);
    put_array<float>(out, matrices_[p].power ? there : matrices_[p].residual);
  }
}

// Loads Q and e of each parameter that the state names.  A checkpoint right at begin_step has none yet,
// since a matrix begins with its first compressed step.
void PowerSgdExchange::load(ByteReader& in) {
  while (in.ok() && in.remaining() > 0) {
    const uint32_t p = in.get<uint32_t>();
    if (!in.ok() || p >= matrices_.size() || !matrices_[p].q.empty() || !compresses(p)) {
      fail(Code::kCorrupt, "state of PowerSGD names parameter ", p);
    }
    Matrix& matrix = matrices_[p];
    begin_matrix(p);
    std::vector<float> there(matrix.power ? specs_[p].rows * specs_[p].cols : 0);
    in.get_array(std::span(matrix.q));
    in.get_array(std::span(matrix.power ? there : matrix.residual));
    if (matrix.power) matrix.power->set_residual(there);
  }
  if (!in.ok()) fail(Code::kCorrupt, "state of PowerSGD is cut short");
  if (local_.schedule().steps() <= options_.begin_step) return;
  for (size_t p = 0; p < matrices_.size(); ++p) {
    if (compresses(p) && matrices_[p].q.empty())
      fail(Code::kCorrupt, "state of PowerSGD lacks ", quote(specs_[p].name));
  }
}

}  // namespace ps
