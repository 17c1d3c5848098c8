#include "bench/pull_push/served_table.h"

#include <algorithm>
#include <numeric>

#include "net/tls/loopback_certificate.h"

namespace ps {

namespace {

constexpr double kLearningRate = 0.125;
// A pull may be under way while a step is not applied yet, as in training that prefetches.
constexpr int64_t kStaleness = 4;

ParameterSpec table_spec(const ServedTableSettings& settings) {
  ParameterSpec spec;
  spec.name = "table";
  spec.kind = ParameterKind::kRows;
  spec.sparse = true;
  spec.rows = static_cast<int64_t>(settings.rows);
  spec.cols = settings.width;
  spec.initializer = {Distribution::kUniform, 0, 1, 7};
  return spec;
}

}  // namespace

ServedTable::ServedTable(const ServedTableSettings& settings)
    : specs_{table_spec(settings)},
      device_(1, settings.cpu),
      tls_(settings.tls ? make_loopback_contexts() : TlsContexts()),
      transport_(*network_, tls_) {
  job_.fingerprint = {{"optimizer", settings.optimizer}};
  job_.parameters = [this](const DataSchema&) { return specs_; };
  job_.optimizers = make_optimizer_plan({{"type", settings.optimizer}, {"learning_rate", kLearningRate}},
                                        "sum", settings.cpu);
  job_.consistency.staleness = kStaleness;
  job_.checkpoints.directory = settings.checkpoints;
  local_ = std::make_unique<LocalStore>(specs_, job_.optimizers, UINT64_MAX, device_);
  shards_ = std::make_unique<ServedShards>(job_, settings.ports, settings.link, settings.local, tls_);
  store_ = std::make_unique<RemoteStore>(transport_, shards_->remote_options({}), job_.consistency, specs_,
                                         RowTypes{.pull = settings.type, .push = settings.type});
  fill(settings.rows);
}

// Pulls all rows for training, which creates them.
void ServedTable::fill(uint64_t rows) {
  constexpr uint64_t kAtOnce = 1 << 16;
  std::vector<ParameterView<float>> views;
  KeyPlan plan;
  for (uint64_t first = 0; first < rows; first += kAtOnce) {
    plan.keys.resize(std::min(kAtOnce, rows - first));
    std::iota(plan.keys.begin(), plan.keys.end(), first);
    store_->pull({&plan, 1}, PullMode::kTrain, views);
  }
}

}  // namespace ps
