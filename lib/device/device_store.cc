#include "device/device_store.h"

namespace ps {

DeviceStore::DeviceStore(ParameterStore& inner, RowLender& lender, std::shared_ptr<RowDevice> device,
                         const CachePlan& plan)
    : inner_(inner), lender_(lender), device_(std::move(device)) {
  for (const PlannedCache& planned : plan.caches) {
    Cached cached;
    cached.cache = std::make_unique<RowCache>(device_->make_rows(planned.rows), lender, planned.parameter);
    cached.width = planned.rows.width;
    caches_.push_back(std::move(cached));
  }
}

void DeviceStore::pull(std::span<const KeyPlan> plans, PullMode mode,
                       std::vector<ParameterView<float>>& views) {
  inner_.pull(plans, mode, views);
  if (mode != PullMode::kTrain) return;
  for (Cached& cached : caches_) {
    const size_t parameter = static_cast<size_t>(cached.cache->parameter());
    const std::vector<uint64_t>& keys = plans[parameter].keys;
    cached.weights.resize(keys.size() * cached.width);
    cached.rows.resize(keys.size());
    for (size_t n = 0; n < keys.size(); ++n) cached.rows[n] = cached.weights.data() + n * cached.width;
    cached.cache->pull(keys, cached.weights.data());
    views[parameter].rows = cached.rows.data();
  }
}

void DeviceStore::push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                       const StepInfo& info) {
  inner_.push(plans, views, info);
  for (Cached& cached : caches_) {
    const size_t parameter = static_cast<size_t>(cached.cache->parameter());
    cached.cache->push(plans[parameter].keys, views[parameter].row_gradients);
  }
  lender_.end_step();
}

void DeviceStore::end_pass(int64_t pass) {
  for (Cached& cached : caches_) cached.cache->put_back();
  inner_.end_pass(pass);
}

Json DeviceStore::counters() const {
  RowCacheCounts all;
  for (const Cached& cached : caches_) {
    const RowCacheCounts& counts = cached.cache->counts();
    all.asked += counts.asked;
    all.fetched += counts.fetched;
    all.evicted += counts.evicted;
    all.written += counts.written;
  }
  return {{"rows_asked", all.asked},
          {"rows_fetched", all.fetched},
          {"rows_evicted", all.evicted},
          {"rows_written_back", all.written}};
}

}  // namespace ps
