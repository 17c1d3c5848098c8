#include "device/device_store.h"

#include <algorithm>
#include <exception>

#include "base/clock.h"
#include "math/sparse_kernels.h"

namespace ps {

// Makes the caches of the plan.  The weights of a parameter stay on the device if the model there uses them
// and the lender does not read the gradients, for which they would have to come to the host at each push.
DeviceStore::DeviceStore(ParameterStore& inner, RowLender& lender, std::shared_ptr<RowDevice> device,
                         const CachePlan& plan, bool own_thread, std::optional<ModelBesideRows> model)
    : StoreInFront(inner), lender_(lender), device_(std::move(device)), own_thread_(own_thread) {
  if (model) model_ = std::make_unique<Device>(*model->host, model->kernels);
  for (const PlannedCache& planned : plan.caches) {
    Cached cached;
    cached.there = model && (*model->used)[static_cast<size_t>(planned.parameter)] &&
                   !lender.reads_gradients(planned.parameter);
    CachedRowsOptions options = planned.rows;
    options.values_there = cached.there;
    cached.may_be_in_place = device_->gives_pointers(options);
    PS_CHECK(!cached.may_be_in_place || inner.looks_ahead() == 0);
    cached.cache =
        std::make_unique<RowCache>(device_->make_rows(options), lender, planned.parameter,
                                   planned.rows.rounding, planned.new_rows, planned.loads_untrained);
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

// Keeps the keys of the batch, by cache, for load_ahead; the plans themselves may be gone by then.
void DeviceStore::look_ahead(std::span<const KeyPlan> plans) {
  inner().look_ahead(plans);
  pass_ends_ = false;
  std::vector<std::vector<uint64_t>>& keys = batches_.emplace_back();
  for (const Cached& cached : caches_) {
    keys.push_back(plans[static_cast<size_t>(cached.cache->parameter())].keys);
  }
}

// Runs `compute` on the compute thread while this thread works for coming batches.  If `compute` ends first,
// the further time is counted as late.
void DeviceStore::run_beside(const std::function<void()>& compute) {
  if (inner().looks_ahead() == 0 || !own_thread_) {
    compute();
    load_next();
    return put_back_unused([] { return false; });
  }
  if (!thread_) thread_ = std::make_unique<ComputeThread>([this] { lender_.wake(); });
  std::exception_ptr computed, worked;
  beside_ = true;
  thread_->start(compute);
  try {
    work_until_ended();
  } catch (...) {
    worked = std::current_exception();
  }
  // The batch may have been ready for some time when this thread ends its own work; that time is the delay
  // of the training.
  const double now = monotonic_seconds();
  late_seconds_ += std::max(0.0, now - thread_->finish(computed));
  beside_ = false;
  if (computed) std::rethrow_exception(computed);
  if (worked) std::rethrow_exception(worked);
}

void DeviceStore::hold_work() {
  if (beside_) thread_->wait_for_owner();
}

// Loads the rows of the next batch once, as soon as all of them have come.  If the batch is computed before
// that, they are left to its own pull, which waits for them.  In the last batches of a pass, the time that is left
// is used to return rows.
void DeviceStore::work_until_ended() {
  const auto ended = [this] { return thread_->wants_owner(); };
  lender_.work_until(
      [&] { return ended() || lender_.next_has_come() || (pass_ends_ && batches_.size() < 2); });
  if (!ended()) load_next();
  put_back_unused(ended);
  lender_.work_until(ended);
}

// In the last batches of a pass, returns rows that none of them uses any more, until there are none or stop() is true.
void DeviceStore::put_back_unused(const std::function<bool()>& stop) {
  if (!pass_ends_) return;
  for (Cached& cached : caches_) {
    while (!stop() && cached.cache->put_back_unused()) {
    }
  }
}

void DeviceStore::load_next() {
  if (batches_.size() < 2 || !lender_.next_has_come()) return;
  for (size_t c = 0; c < caches_.size(); ++c) caches_[c].cache->load_ahead(batches_[0][c], batches_[1][c]);
}

// Begins the look-up of a cache.  If the model uses the rows in place, the look-up sets the pointers to those that are there.
// Further rounds would take rows of the first off the device again, so they need copies.
RowsLookUp DeviceStore::begin_look_up(Cached& cached, std::span<const uint64_t> keys,
                                      ParameterView<float>& view) {
  RowsLookUp look_up = cached.cache->begin_look_up(keys);
  cached.in_place = cached.may_be_in_place && look_up.keys.size() == keys.size();
  cached.copies = make_view(cached, keys.size(), view);
  if (cached.in_place) look_up.pointers = cached.rows_there.data();
  return look_up;
}

// Begins the pull of a cache after its look-up, and returns the read that completes it; none if all rows are used in place, and
// no row had to come.
std::optional<RowsRead> DeviceStore::begin_read(Cached& cached, std::span<const uint64_t> keys) {
  const uint64_t fetched = cached.cache->counts().fetched;
  RowsRead read = cached.cache->begin_pull(keys, cached.copies);
  if (!cached.in_place) return read;
  rows_in_place_ += keys.size();
  if (cached.cache->counts().fetched == fetched) return std::nullopt;
  read.pointers = cached.rows_there.data();
  return read;
}

// Makes the view point to memory for the weights of this many keys, and returns that memory; null if they are used in place.
float* DeviceStore::make_view(Cached& cached, size_t keys, ParameterView<float>& view) {
  if (!cached.there) {
    cached.weights.resize(keys * cached.width);
    cached.rows.resize(keys);
    for (size_t n = 0; n < keys; ++n) cached.rows[n] = cached.weights.data() + n * cached.width;
    view.rows = cached.rows.data();
    return cached.weights.data();
  }
  const auto rows = static_cast<int64_t>(keys), width = static_cast<int64_t>(cached.width);
  // A batch without keys has gradients too, of no row: a null pointer would say that there is no step.
  cached.gradients_there.resize(*model_, std::max<int64_t>(1, rows * width));
  cached.rows_there.resize(*model_, rows);
  view = {.rows = cached.rows_there.data(), .row_gradients = cached.gradients_there.data(), .there = true};
  if (cached.in_place) return nullptr;
  cached.weights_there.resize(*model_, rows * width);
  point_to_rows(*model_, cached.weights_there.data(), rows, width, cached.rows_there.data());
  return cached.weights_there.data();
}

// Pulls the rows of all caches with one call of the device for each kind of work: it looks the keys up, applies
// steps that rows have sat out, and reads the weights.  Between the calls each cache fetches its missing rows.
void DeviceStore::pull_cached(std::span<const KeyPlan> plans, std::vector<ParameterView<float>>& views) {
  const auto keys_of = [&](const Cached& cached) {
    return std::span(plans[static_cast<size_t>(cached.cache->parameter())].keys);
  };
  std::vector<RowsLookUp> look_ups;
  for (Cached& cached : caches_) {
    look_ups.push_back(
        begin_look_up(cached, keys_of(cached), views[static_cast<size_t>(cached.cache->parameter())]));
  }
  device_->look_up_all(look_ups);
  std::vector<RowsRead> reads;
  std::vector<RowsAdvance> idle_steps;
  for (Cached& cached : caches_) {
    if (const auto read = begin_read(cached, keys_of(cached))) reads.push_back(*read);
    if (cached.cache->idle_steps()) idle_steps.push_back(*cached.cache->idle_steps());
  }
  if (!idle_steps.empty()) device_->advance_all(idle_steps);
  if (!reads.empty()) device_->read_all(reads);
}

// The order matters: the inner store begins the step, whose rule and scale the caches then ask it for; the
// device applies the step to its rows; and the lender ends it last, when it may ask for the changed rows
// back.
void DeviceStore::push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                       const StepInfo& info) {
  inner().push(plans, views, info);
  std::vector<RowsStep> steps;
  for (Cached& cached : caches_) {
    const size_t parameter = static_cast<size_t>(cached.cache->parameter());
    steps.push_back(cached.cache->begin_push(plans[parameter].keys, views[parameter].row_gradients,
                                             cached.in_place ? cached.rows_there.data() : nullptr));
  }
  device_->step_all(steps);
  lender_.end_step();
  if (!batches_.empty()) batches_.pop_front();
}

void DeviceStore::end_pass(int64_t pass) {
  for (Cached& cached : caches_) {
    if (!lender_.has_rows_put_back()) cached.cache->put_back();
  }
  pass_ends_ = false;
  inner().end_pass(pass);
}

Json DeviceStore::counters() const {
  RowCacheCounts all;
  RowCacheSeconds seconds;
  int64_t rows_there = 0;
  for (const Cached& cached : caches_) {
    rows_there += cached.there;
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
  return {{"row_parameters_there", rows_there},
          {"rows_asked", all.asked},
          {"rows_fetched", all.fetched},
          {"rows_early", all.early},
          {"rows_in_place", rows_in_place_},
          {"rows_evicted", all.evicted},
          {"rows_written_back", all.written},
          {"fetch_seconds", lender_.fetch_seconds()},
          {"build_seconds", seconds.building},
          {"write_back_seconds", seconds.writing_back},
          {"exposed_seconds", seconds.exposed + late_seconds_}};
}

}  // namespace ps
