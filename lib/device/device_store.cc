#include "device/device_store.h"

#include <algorithm>
#include <exception>

#include "base/clock.h"

namespace ps {

DeviceStore::DeviceStore(ParameterStore& inner, RowLender& lender, std::shared_ptr<RowDevice> device,
                         const CachePlan& plan, bool own_thread)
    : StoreInFront(inner), lender_(lender), device_(std::move(device)), own_thread_(own_thread) {
  for (const PlannedCache& planned : plan.caches) {
    Cached cached;
    cached.cache = std::make_unique<RowCache>(device_->make_rows(planned.rows), lender, planned.parameter,
                                              planned.rows.rounding);
    cached.width = planned.rows.width;
    caches_.push_back(std::move(cached));
  }
}

void DeviceStore::pull(std::span<const KeyPlan> plans, PullMode mode,
                       std::vector<ParameterView<float>>& views) {
  inner().pull(plans, mode, views);
  if (mode == PullMode::kTrain) pull_cached(plans, views);
}

void DeviceStore::finish_pull(const PullTicket& ticket, std::span<const KeyPlan> plans,
                              std::vector<ParameterView<float>>& views) {
  inner().finish_pull(ticket, plans, views);
  pull_cached(plans, views);
}

// ---- ahead

void DeviceStore::look_ahead(std::span<const KeyPlan> plans) {
  inner().look_ahead(plans);
  std::vector<std::vector<uint64_t>>& keys = batches_.emplace_back();
  for (const Cached& cached : caches_) {
    keys.push_back(plans[static_cast<size_t>(cached.cache->parameter())].keys);
  }
}

void DeviceStore::run_beside(const std::function<void()>& compute) {
  if (inner().looks_ahead() == 0 || !own_thread_) {
    compute();
    return load_next();
  }
  if (!thread_) thread_ = std::make_unique<ComputeThread>([this] { lender_.wake(); });
  std::exception_ptr computed, worked;
  thread_->start(compute);
  try {
    work_until_ended();
  } catch (...) {
    worked = std::current_exception();
  }
  const double now = monotonic_seconds();
  late_seconds_ += std::max(0.0, now - thread_->finish(computed));
  if (computed) std::rethrow_exception(computed);
  if (worked) std::rethrow_exception(worked);
}

void DeviceStore::work_until_ended() {
  const auto ended = [this] { return thread_->ended(); };
  lender_.work_until([&] { return ended() || lender_.next_has_come(); });
  if (!ended()) load_next();
  lender_.work_until(ended);
}

void DeviceStore::load_next() {
  if (batches_.size() < 2 || !lender_.next_has_come()) return;
  for (size_t c = 0; c < caches_.size(); ++c) caches_[c].cache->load_ahead(batches_[0][c], batches_[1][c]);
}

void DeviceStore::pull_cached(std::span<const KeyPlan> plans, std::vector<ParameterView<float>>& views) {
  std::vector<RowsRead> reads;
  for (Cached& cached : caches_) {
    const size_t parameter = static_cast<size_t>(cached.cache->parameter());
    const std::vector<uint64_t>& keys = plans[parameter].keys;
    cached.weights.resize(keys.size() * cached.width);
    cached.rows.resize(keys.size());
    for (size_t n = 0; n < keys.size(); ++n) cached.rows[n] = cached.weights.data() + n * cached.width;
    reads.push_back(cached.cache->begin_pull(keys, cached.weights.data()));
    views[parameter].rows = cached.rows.data();
  }
  device_->read_all(reads);
}

void DeviceStore::push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                       const StepInfo& info) {
  inner().push(plans, views, info);
  std::vector<RowsStep> steps;
  for (Cached& cached : caches_) {
    const size_t parameter = static_cast<size_t>(cached.cache->parameter());
    steps.push_back(cached.cache->begin_push(plans[parameter].keys, views[parameter].row_gradients));
  }
  device_->step_all(steps);
  lender_.end_step();
  if (!batches_.empty()) batches_.pop_front();
}

void DeviceStore::end_pass(int64_t pass) {
  for (Cached& cached : caches_) cached.cache->put_back();
  inner().end_pass(pass);
}

Json DeviceStore::counters() const {
  RowCacheCounts all;
  RowCacheSeconds seconds;
  for (const Cached& cached : caches_) {
    const RowCacheCounts& counts = cached.cache->counts();
    all.asked += counts.asked;
    all.fetched += counts.fetched;
    all.early += counts.early;
    all.evicted += counts.evicted;
    all.written += counts.written;
    seconds.building += cached.cache->seconds().building;
    seconds.writing_back += cached.cache->seconds().writing_back;
    seconds.exposed += cached.cache->seconds().exposed;
  }
  return {{"rows_asked", all.asked},
          {"rows_fetched", all.fetched},
          {"rows_early", all.early},
          {"rows_evicted", all.evicted},
          {"rows_written_back", all.written},
          {"fetch_seconds", lender_.fetch_seconds()},
          {"build_seconds", seconds.building},
          {"write_back_seconds", seconds.writing_back},
          {"exposed_seconds", seconds.exposed + late_seconds_}};
}

}  // namespace ps
