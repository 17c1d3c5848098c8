#include "bench/link/link_model.h"

#include <algorithm>

#include "base/error.h"
#include "collective/parts.h"

namespace ps {

// A value that DGC sends takes kEntry bytes with its index; the tensors of one dimension are sent whole.
StepBytes link_payload(const ModelShape& model) {
  constexpr double kDensity = 0.001, kEntry = 6;
  StepBytes payload{.dense_bytes = model.bytes()};
  for (const TensorShape& tensor : model.tensors) {
    const double values = static_cast<double>(tensor.elements());
    payload.packed_bytes += values * (tensor.one_dimensional() ? sizeof(float) : kDensity * kEntry);
  }
  return payload;
}

// A lone link may carry more than each of many that are busy at once, since all ranks share one machine:
// bandwidth is what a link can carry, and machine_rate what all of them can together.
ClusterParameters link_cluster(int ranks, const LinkProbe& probe) {
  ClusterParameters cluster;
  cluster.ranks = ranks;
  cluster.servers = 0;
  cluster.bandwidth = std::max(probe.lone_bits_per_second, probe.bits_per_second) / 8;
  cluster.machine_rate = ranks * probe.bits_per_second / 8;
  cluster.latency = probe.latency_seconds;
  cluster.sum_rate = probe.sum_rate;
  cluster.chunk_bytes = kChunkBytes;
  cluster.one_round_bytes = kOneRoundBytes;
  return cluster;
}

ExchangeKind exchange_named(const std::string& name) {
  for (const ExchangeEntry& entry : exchange_catalog()) {
    if (entry.name == name) return entry.exchange;
  }
  fail(Code::kInternal, "the cost model has no exchange ", quote(name));
}

// The timeout is a minute and twenty times what the gradient of all ranks takes over one link, but at most
// a day.
Duration link_patience(const LinkRequest& request) {
  constexpr double kLeast = 60, kTimes = 20, kMost = 24 * 3600;
  const double sent = 8 * request.model.bytes() / request.bits_per_second;
  return seconds_duration(std::min(kLeast + kTimes * sent * request.ranks, kMost));
}

}  // namespace ps
