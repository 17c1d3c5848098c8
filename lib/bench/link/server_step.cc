#include "bench/link/server_step.h"

#include <algorithm>

namespace ps {

namespace {

size_t elements_of(const ParameterSpec& spec) {
  return static_cast<size_t>(spec.rows * spec.cols);
}

}  // namespace

ServerStep::ServerStep(ExchangeCommunicator& communicator, Transport& network, const LinkServers& servers,
                       const ModelShape& model, double compute_seconds)
    : communicator_(communicator),
      accelerator_(compute_seconds),
      store_(network, servers.remote_options(communicator.rank(), communicator.size()),
             servers.job().consistency, servers.parameters()),
      parameters_(servers.parameters()),
      plans_(parameters_.size()),
      gradient_(model.elements()) {
  for (size_t i = 0; i < gradient_.size(); ++i) gradient_[i] = emulated_gradient(communicator.rank(), i);
  pull();
}

ServerStep::~ServerStep() {
  try {
    store_.finish_pushes();
    communicator_.barrier();
  } catch (const Error&) {
    // Another rank has failed, and its error is the one that is reported.
  }
}

void ServerStep::pull() {
  store_.pull(plans_, PullMode::kTrain, views_);
}

// The gradient is copied to the place that it is pushed from while the accelerator computes, where a backward
// pass would write it.
void ServerStep::run() {
  accelerator_.begin_step();
  const float* gradient = gradient_.data();
  for (size_t p = 0; p < parameters_.size(); ++p) {
    const size_t count = elements_of(parameters_[p]);
    std::copy_n(gradient, count, views_[p].gradient);
    gradient += count;
  }
  accelerator_.await_gradient(1);
  store_.push(plans_, views_, {.samples = 1});
  pull();
}

// The weights began at zero and the servers subtract the sum of the gradients at a rate of 1, so after the
// first step each weight must be the exact sum with the opposite sign.
uint64_t ServerStep::count_wrong() {
  uint64_t wrong = 0, index = 0;
  for (size_t p = 0; p < parameters_.size(); ++p) {
    const size_t count = elements_of(parameters_[p]);
    for (size_t i = 0; i < count; ++i, ++index) {
      float sum = 0;
      for (int rank = 0; rank < communicator_.size(); ++rank) sum += emulated_gradient(rank, index);
      wrong += views_[p].value[i] != -sum ? 1 : 0;
    }
  }
  return wrong;
}

}  // namespace ps
