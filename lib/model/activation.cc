#include "model/activation.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"

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

}  // namespace ps
