#include "model/activation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "math/blocks.h"
#include "model/stable.h"

namespace ps {

namespace {

constexpr std::array<std::pair<std::string_view, Activation>, 9> kActivations = {{
    {"linear", Activation::kLinear},
    {"sigmoid", Activation::kSigmoid},
    {"tanh", Activation::kTanh},
    {"stanh", Activation::kStanh},
    {"relu", Activation::kRelu},
    {"brelu", Activation::kBrelu},
    {"softplus", Activation::kSoftplus},
    {"softmax", Activation::kSoftmax},
    {"exponential", Activation::kExponential},
}};

constexpr double kStanhHeight = 1.7159, kStanhSlope = 2.0 / 3.0;
constexpr double kBreluTop = 24;

// The derivative where the value is y.
template <class T>
T stanh_slope(T y) {
  return T(kStanhSlope) * (T(kStanhHeight) - y * y / T(kStanhHeight));
}

// exp and tanh take about 10 ns an element.
constexpr int64_t kWorkPerElement = 16;

template <class T, class Function>
void for_elements(Device& device, Matrix<T> values, Function&& function) {
  device.for_each(values.size(), block_items(kWorkPerElement), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) values.data[i] = function(values.data[i], i);
  });
}

template <class T, class Body>
void for_rows(Device& device, Matrix<T> values, Body&& body) {
  device.for_each(values.rows, block_items(kWorkPerElement * values.cols), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) body(b);
  });
}

// Less the largest, so that no exponential overflows.
template <class T>
void softmax(T* x, int64_t cols) {
  const T largest = *std::max_element(x, x + cols);
  T sum = 0;
  for (int64_t c = 0; c < cols; ++c) sum += x[c] = std::exp(x[c] - largest);
  for (int64_t c = 0; c < cols; ++c) x[c] /= sum;
}

// With y = softmax(x): dx_c = y_c (dy_c - sum over j of dy_j y_j)
template <class T>
void softmax_backward(const T* y, T* gradient, int64_t cols) {
  T sum = 0;
  for (int64_t c = 0; c < cols; ++c) sum += gradient[c] * y[c];
  for (int64_t c = 0; c < cols; ++c) gradient[c] = y[c] * (gradient[c] - sum);
}

}  // namespace

std::vector<std::string> activation_names() {
  std::vector<std::string> names;
  for (const auto& [name, activation] : kActivations) names.emplace_back(name);
  return names;
}

Activation find_activation(std::string_view name) {
  auto found =
      std::find_if(kActivations.begin(), kActivations.end(), [&](const auto& a) { return a.first == name; });
  PS_CHECK(found != kActivations.end());
  return found->second;
}

template <class T>
void activate(Activation activation, Device& device, Matrix<T> values) {
  switch (activation) {
    case Activation::kLinear:
      return;
    case Activation::kSigmoid:
      return for_elements(device, values, [](T x, int64_t) { return logistic(x); });
    case Activation::kTanh:
      return for_elements(device, values, [](T x, int64_t) { return std::tanh(x); });
    case Activation::kStanh:
      return for_elements(device, values,
                          [](T x, int64_t) { return T(kStanhHeight) * std::tanh(T(kStanhSlope) * x); });
    case Activation::kRelu:
      return for_elements(device, values, [](T x, int64_t) { return std::max(x, T(0)); });
    case Activation::kBrelu:
      return for_elements(device, values, [](T x, int64_t) { return std::clamp(x, T(0), T(kBreluTop)); });
    case Activation::kSoftplus:
      return for_elements(device, values, [](T x, int64_t) { return log1p_exp(x); });
    case Activation::kSoftmax:
      return for_rows(device, values, [&](int64_t b) { softmax(values.row(b), values.cols); });
    case Activation::kExponential:
      return for_elements(device, values, [](T x, int64_t) { return std::exp(x); });
  }
}

template <class T>
void activation_backward(Activation activation, Device& device, Matrix<const T> output, Matrix<T> gradient) {
  // gradient <- gradient x slope(output)
  auto multiply = [&](auto&& slope) {
    for_elements(device, gradient, [&](T g, int64_t i) { return g * slope(output.data[i]); });
  };
  switch (activation) {
    case Activation::kLinear:
      return;
    case Activation::kSigmoid:
      return multiply([](T y) { return y * (T(1) - y); });
    case Activation::kTanh:
      return multiply([](T y) { return T(1) - y * y; });
    case Activation::kStanh:
      return multiply([](T y) { return stanh_slope(y); });
    case Activation::kRelu:
      return multiply([](T y) { return y > 0 ? T(1) : T(0); });
    case Activation::kBrelu:
      return multiply([](T y) { return y > 0 && y < T(kBreluTop) ? T(1) : T(0); });
    case Activation::kSoftplus:
      return multiply([](T y) { return -std::expm1(-y); });
    case Activation::kSoftmax:
      return for_rows(device, gradient,
                      [&](int64_t b) { softmax_backward(output.row(b), gradient.row(b), gradient.cols); });
    case Activation::kExponential:
      return multiply([](T y) { return y; });
  }
}

template void activate(Activation, Device&, Matrix<float>);
template void activate(Activation, Device&, Matrix<double>);
template void activation_backward(Activation, Device&, Matrix<const float>, Matrix<float>);
template void activation_backward(Activation, Device&, Matrix<const double>, Matrix<double>);

}  // namespace ps
