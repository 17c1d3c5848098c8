#include "store/all_reduce_store.h"

#include <algorithm>
#include <functional>

#include "base/clock.h"
#include "base/error.h"
#include "base/wait_stopped.h"
#include "collective/device_exchange.h"
#include "collective/fused.h"

namespace ps {

namespace {

// The gradient of a trainer that has none: x + -0 is x, also if x is -0.
constexpr float kNothing = -0.0f;

int64_t values_of(const ParameterSpec& spec) {
  return spec.rows * spec.cols;
}

// Returns the parameter of a group whose gradient is final last.  The header alone waits for none.
template <class Group>
size_t first_parameter_of(const Group& group) {
  return group.parameters.empty() ? SIZE_MAX : group.parameters.front();
}

}  // namespace

void check_all_dense(std::span<const ParameterSpec> specs) {
  for (const ParameterSpec& spec : specs) {
    if (!spec.sparse) continue;
    fail(Code::kUsage, quote(spec.name),
         " is sparse (sparse_update), and several trainers without servers have no rows in common: use "
         "train.strategy parameter_server with --servers, or one trainer");
  }
}

// A parameter is trained on the device if its gradient is made there, no other code exchanges it (split
// columns and the compression have exchanges of their own), and the store can lend its weights.
AllReduceStore::AllReduceStore(std::vector<ParameterSpec> specs, LocalStore& local,
                               Communicator& communicator, CollectiveRun& run,
                               GradientCompression* compression, GradientPlacement placement,
                               CompressedGroups groups)
    : StoreInFront(local),
      specs_(std::move(specs)),
      has_statistics_(std::ranges::any_of(
          specs_, [](const ParameterSpec& spec) { return spec.kind == ParameterKind::kStatistic; })),
      local_(local),
      communicator_(communicator),
      split_(specs_, local, communicator),
      run_(run),
      compression_(compression),
      compressed_groups_(groups),
      placement_(std::move(placement)),
      adds_there_(placement_.device != nullptr && device_exchange_of(communicator_) != nullptr),
      there_(specs_.size()),
      compressed_(specs_.size()),
      header_(kStepHeaderFields),
      arrays_(specs_.size()) {
  check_all_dense(specs_);
  for (size_t p = 0; p < specs_.size() && placement_.device; ++p) {
    const int parameter = static_cast<int>(p);
    const bool goes_there =
        placement_.on_device[p] && !split_.has(p) && !(compression_ && compression_->compresses(p));
    if (goes_there && local_.can_lend_dense(parameter))
      there_[p] = placement_.device->make_dense(local_, parameter);
  }
}

// Does nothing if a step has one exchange, since nothing could overlap with it, or if layers are divided,
// since these have exchanges of their own in backward.  Gradients that pass by the processor are final only
// when backward on the device has ended, and only the owner thread may ask the device; so this does nothing
// for them either.
void AllReduceStore::begin_push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                                const StepInfo& info) {
  if (!exchanges_early()) return;
  plan_exchanges(plans, views, {.info = info, .pushers = 1, .wishes = run_.wishes()});
  if (exchanges_.groups.size() <= 1) return;
  worker_.begin([this](size_t index) { exchange(index); });
  if (exchanges_.header_ahead) worker_.allow(exchanges_.num_allowed = 1);
}

// Groups are exchanged in their order, even if a group becomes final before another one that is ahead of it.
void AllReduceStore::final_gradient(size_t parameter) {
  if (!worker_.is_begun()) return;
  --exchanges_.groups[group_of_[parameter]].not_final;
  const size_t before = exchanges_.num_allowed, ahead = exchanges_.header_ahead ? 1 : 0;
  size_t& allowed = exchanges_.num_allowed;
  while (allowed < exchanges_.num() && exchanges_.groups[allowed - ahead].not_final == 0) ++allowed;
  if (allowed > before) worker_.allow(allowed);
}

void AllReduceStore::end_begun_push() {
  if (!worker_.is_begun()) return;
  const double begin = monotonic_seconds();
  exchanges_.num_done = worker_.end();
  exchange_seconds_ += monotonic_seconds() - begin;
}

void AllReduceStore::push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                          const StepInfo& info) {
  PS_CHECK(info.samples < kMaxStepSamples);
  end_begun_push();
  if (exchanges_.num() == 0)
    plan_exchanges(plans, views, {.info = info, .pushers = 1, .wishes = run_.wishes()});
  finish_step();
}

void AllReduceStore::end_pass(int64_t pass) {
  while (join_step(pass)) continue;
  local_.end_pass(pass);
}

bool AllReduceStore::join_step(int64_t pass) {
  const bool others_go_on = join_or_end(pass);
  if (others_go_on && run_.ends()) throw WaitStopped();
  return others_go_on;
}

// Makes the same exchanges as a trainer with data, in the same order, with plans that are empty.  The pull
// for no keys gives the buffers of the gradients, which fill sets to kNothing.
bool AllReduceStore::join_or_end(int64_t pass) {
  const std::vector<KeyPlan> no_keys(specs_.size());
  std::vector<ParameterView<float>> views;
  local_.pull(no_keys, PullMode::kTrain, views);
  if (split_.any()) compute_for_others_(views);
  plan_exchanges({}, views, {.info = {.pass = pass}, .wishes = run_.wishes()});
  return finish_step();
}

// Makes the exchanges that are left, and then the step.  Returns false if no trainer had data; then nothing
// has moved.
//
// The header travels with the gradients.  It goes ahead of them if there are statistics, whose weights depend
// on it, or compressed gradients, whose scale does.
bool AllReduceStore::finish_step() {
  const double begin = monotonic_seconds();
  const Exchanges& all = exchanges_;
  for (size_t index = all.num_done; index < all.num(); ++index) exchange(index);
  whole_bytes_ += step_bytes();
  const StepHeader sum = read_step_header(header_, all.own.info.pass);
  if (sum.pushers > 0) exchange_there();
  if (all.compresses && sum.pushers > 0) compression_->end_step();
  exchange_seconds_ += monotonic_seconds() - begin;
  if (sum.pushers > 0) apply(all.views, sum.info);
  exchanges_ = {};
  // The pass ends with this step, or a checkpoint or the end of the run follows it: all trainers need all
  // columns then.  All of them see the same sum, so that they gather together.
  if (split_.any() && (sum.pushers == 0 || sum.wishes.checkpoint || sum.wishes.end)) split_.gather();
  run_.end_step(sum.wishes);
  return sum.pushers > 0;
}

void AllReduceStore::bind_there(std::vector<ParameterView<float>>& views) {
  if (compression_ != nullptr) compression_->bind_there(views);
  for (size_t p = 0; p < there_.size(); ++p) {
    if (there_[p]) there_[p]->pull(views[p]);
  }
}

// Adds up the gradients that lie on the device, or sends back the sums of those that have passed by the
// processor.  A trainer without data has gradients that change no sum.
void AllReduceStore::exchange_there() {
  std::vector<std::span<float>> arrays;
  for (size_t p = 0; p < there_.size(); ++p) {
    if (!there_[p]) continue;
    ParameterView<float> view;
    there_[p]->pull(view);
    if (passes_by(p)) {
      there_[p]->set_gradient(arrays_[p]);
      continue;
    }
    const size_t count = static_cast<size_t>(values_of(specs_[p]));
    if (exchanges_.plans.empty()) there_[p]->set_gradient(std::vector<float>(count, kNothing));
    arrays.emplace_back(view.gradient, count);
  }
  if (!arrays.empty()) device_exchange_of(communicator_)->all_reduce_there(arrays);
}

size_t AllReduceStore::num_there() const {
  return static_cast<size_t>(
      std::ranges::count_if(there_, [](const auto& dense) { return dense != nullptr; }));
}

// Plans the exchanges of a step.  All trainers plan the same ones.
void AllReduceStore::plan_exchanges(std::span<const KeyPlan> plans,
                                    std::span<const ParameterView<float>> views, const StepHeader& own) {
  write_step_header(own, header_);
  exchanges_ = {.plans = plans, .views = views, .own = own};
  std::vector<size_t> parameters;  // of the arrays
  for (size_t p = 0; p < specs_.size(); ++p) {
    compressed_[p] = compression_ && compression_->compresses(p);
    exchanges_.compresses |= compressed_[p];
    if (compressed_[p] || split_.has(p) || (there_[p] && adds_there_)) continue;
    exchanges_.arrays.push_back(array_of(p));
    parameters.push_back(p);
  }
  exchanges_.header_ahead = has_statistics_ || exchanges_.compresses;
  if (!exchanges_.header_ahead) exchanges_.arrays.push_back(std::span(header_));
  plan_groups(parameters);
  if (exchanges_.compresses) plan_compressed_groups();
  std::ranges::stable_sort(exchanges_.groups, std::greater(), &first_parameter_of<Group>);
  group_of_.resize(specs_.size());
  for (size_t g = 0; g < exchanges_.groups.size(); ++g) {
    for (const size_t p : exchanges_.groups[g].parameters) group_of_[p] = g;
  }
}

// Divides the arrays into groups.
void AllReduceStore::plan_groups(std::span<const size_t> parameters) {
  std::span<const Elements> arrays = exchanges_.arrays;
  for (const size_t count : fused_groups(arrays)) {
    Group& group = exchanges_.groups.emplace_back();
    const std::span<const size_t> members = parameters.first(std::min(count, parameters.size()));
    group.arrays = arrays.first(count);
    group.parameters.assign(members.begin(), members.end());
    group.not_final = members.size();
    arrays = arrays.subspan(count), parameters = parameters.subspan(members.size());
  }
}

// Divides the compressed parameters into groups, from the end of the model on.  Exchanges that the owner thread must make
// have one parameter more to wait for.
void AllReduceStore::plan_compressed_groups() {
  std::vector<size_t> parameters, bytes;
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (!compressed_[p]) continue;
    parameters.push_back(p);
    bytes.push_back(static_cast<size_t>(values_of(specs_[p])) * sizeof(float));
  }
  auto end = parameters.end();
  for (const size_t count : compressed_groups(bytes, compressed_groups_)) {
    const auto begin = end - static_cast<ptrdiff_t>(count);
    exchanges_.groups.push_back({.parameters = {begin, end},
                                 .not_final = count + (compression_->may_change_threads() ? 0 : 1),
                                 .compressed = true});
    end = begin;
  }
}

// Returns the array that is exchanged for a parameter: the gradient itself, or a buffer that fill fills.
Elements AllReduceStore::array_of(size_t parameter) {
  const ParameterSpec& spec = specs_[parameter];
  const size_t count = static_cast<size_t>(values_of(spec));
  if (spec.kind == ParameterKind::kMatrix && !passes_by(parameter))
    return std::span(exchanges_.views[parameter].gradient, count);
  const bool by_ids = spec.kind == ParameterKind::kRows;
  arrays_[parameter].resize(by_ids ? count + static_cast<size_t>(spec.rows) : count);
  return std::span(arrays_[parameter]);
}

// Makes one exchange.  Runs on the worker's thread too.
void AllReduceStore::exchange(size_t index) {
  if (exchanges_.header_ahead && index == 0) return communicator_.all_reduce(header_);
  const Group& group = exchanges_.groups[index - (exchanges_.header_ahead ? 1 : 0)];
  if (group.compressed) return compress(group);
  for (const size_t p : group.parameters) fill(p);
  all_reduce_fused(communicator_, group.arrays);
}

// Fills the array of a parameter, before its exchange, with what this trainer contributes.
void AllReduceStore::fill(size_t parameter) {
  const ParameterSpec& spec = specs_[parameter];
  const ParameterView<float>& view = exchanges_.views[parameter];
  const bool has_data = !exchanges_.plans.empty();
  if (spec.kind == ParameterKind::kRows) {
    fill_rows(has_data ? &exchanges_.plans[parameter] : nullptr, view, spec, arrays_[parameter]);
  } else if (spec.kind == ParameterKind::kStatistic) {
    weigh_statistic(parameter);
  } else if (passes_by(parameter) && has_data) {
    there_[parameter]->get_gradient(arrays_[parameter]);
  } else if (passes_by(parameter)) {
    std::ranges::fill(arrays_[parameter], kNothing);
  } else if (!has_data && view.gradient != nullptr) {
    std::fill_n(view.gradient, values_of(spec), kNothing);
  }
}

// rows <- the gradients of all rows, then for each row 1 if it was used, else 0.
void AllReduceStore::fill_rows(const KeyPlan* plan, const ParameterView<float>& view,
                               const ParameterSpec& spec, std::vector<float>& rows) const {
  const size_t values = static_cast<size_t>(values_of(spec)), cols = static_cast<size_t>(spec.cols);
  rows.assign(values + static_cast<size_t>(spec.rows), 0.0f);
  std::fill_n(rows.begin(), values, kNothing);
  if (plan == nullptr) return;
  for (size_t n = 0; n < plan->keys.size(); ++n) {
    std::copy_n(view.row_gradients + n * cols, cols, rows.data() + plan->keys[n] * cols);
    rows[values + plan->keys[n]] = 1;
  }
}

// The values of a trainer are weighted by its share of the examples; those of a single trainer are taken as
// they are.  The header has the number of all examples.
void AllReduceStore::weigh_statistic(size_t parameter) {
  const int64_t samples = exchanges_.own.info.samples,
                all_samples = read_step_header(header_, 0).info.samples;
  const float share = all_samples == 0 ? 1.0f : static_cast<float>(samples) / static_cast<float>(all_samples);
  std::vector<float>& weighed = arrays_[parameter];
  std::ranges::fill(weighed, kNothing);
  if (samples == 0) return;
  const float* values = exchanges_.views[parameter].value;
  for (size_t i = 0; i < weighed.size(); ++i) weighed[i] = share * values[i];
}

// The all-reduce sends 2 (n - 1) / n times the bytes of all arrays, with n trainers: every element goes to
// its owner, and its sum to all others.
uint64_t AllReduceStore::step_bytes() const {
  const uint64_t ranks = static_cast<uint64_t>(communicator_.size());
  uint64_t values = kStepHeaderFields;
  for (const ParameterSpec& spec : specs_) values += static_cast<uint64_t>(values_of(spec));
  return 2 * (ranks - 1) * values * sizeof(float) / ranks;
}

// Lets the compression exchange the gradients of a group, after the header, which says how large the step is.
// The sums that come back are of all rows, so that all rows count as used.
void AllReduceStore::compress(const Group& group) {
  const StepHeader sum = read_step_header(header_, exchanges_.own.info.pass);
  if (sum.pushers == 0) return;
  std::vector<GradientCompression::Gradient> gradients;
  for (const size_t p : group.parameters) {
    const size_t count = static_cast<size_t>(values_of(specs_[p]));
    const bool by_ids = specs_[p].kind == ParameterKind::kRows;
    if (by_ids) array_of(p);
    fill(p);
    float* const values = by_ids ? arrays_[p].data() : exchanges_.views[p].gradient;
    gradients.push_back({p, {values, values != nullptr ? count : 0}});
    if (by_ids) std::fill(arrays_[p].begin() + static_cast<int64_t>(count), arrays_[p].end(), 1.0f);
  }
  compression_->step(gradients, StepRule(local_.schedule()).next(sum.info));
}

// Makes the step as one process would whose batch has the sums of all trainers.
void AllReduceStore::apply(std::span<const ParameterView<float>> views, const StepInfo& info) {
  std::vector<KeyPlan> plans(specs_.size());
  for (size_t p = 0; p < specs_.size(); ++p) {
    // The sums of statistics are the new values themselves, since their weights add up to 1.
    if (specs_[p].kind == ParameterKind::kRows && !is_moved(p)) find_used_rows(p, arrays_[p], plans[p]);
    if (specs_[p].kind == ParameterKind::kStatistic) std::ranges::copy(arrays_[p], views[p].value);
  }
  std::vector<ParameterView<float>> sums;
  pull(plans, PullMode::kTrain, sums);
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (is_moved(p)) sums[p].gradient = sums[p].row_gradients = nullptr;
    if (specs_[p].kind != ParameterKind::kRows || is_moved(p)) continue;
    const size_t cols = static_cast<size_t>(specs_[p].cols);
    for (size_t n = 0; n < plans[p].keys.size(); ++n) {
      std::copy_n(arrays_[p].data() + plans[p].keys[n] * cols, cols, sums[p].row_gradients + n * cols);
    }
  }
  local_.push(plans, sums, info);
  if (compression_ != nullptr) compression_->push_there();
  for (const auto& dense : there_) {
    if (dense) dense->push();
  }
}

// plan.keys <- the rows that at least one trainer has used.
void AllReduceStore::find_used_rows(size_t parameter, const std::vector<float>& rows, KeyPlan& plan) const {
  const size_t values = static_cast<size_t>(values_of(specs_[parameter]));
  for (size_t key = 0; key < static_cast<size_t>(specs_[parameter].rows); ++key) {
    if (rows[values + key] > 0) plan.keys.push_back(key);
  }
}

}  // namespace ps
