#include "store/all_reduce_store.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/wait_stopped.h"
#include "collective/fused.h"

namespace ps {

namespace {

// The gradient of a trainer that has none: x + -0 is x, also where x is -0.
constexpr float kNothing = -0.0f;

// A header is summed as floats.  Samples travel as digits, so that sums over all the ranks that there can be are
// exact: digits below 2^8, ranks up to 2^16, integers up to 2^24.
constexpr size_t kSampleDigits = 4;
constexpr int kDigitBits = 8;
enum HeaderField : size_t { kPushers = kSampleDigits, kShrinks, kCheckpoints, kEnds, kHeaderFields };

int64_t values_of(const ParameterSpec& spec) {
  return spec.rows * spec.cols;
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

AllReduceStore::AllReduceStore(std::vector<ParameterSpec> specs, LocalStore& local,
                               Communicator& communicator, CollectiveRun& run,
                               GradientCompression* compression)
    : specs_(std::move(specs)),
      has_statistics_(std::ranges::any_of(
          specs_, [](const ParameterSpec& spec) { return spec.kind == ParameterKind::kStatistic; })),
      local_(local),
      communicator_(communicator),
      run_(run),
      compression_(compression),
      compressed_(specs_.size()),
      header_(kHeaderFields),
      arrays_(specs_.size()) {
  check_all_dense(specs_);
}

void AllReduceStore::push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                          const StepInfo& info) {
  PS_CHECK(info.samples < int64_t{1} << (kSampleDigits * kDigitBits));
  step(plans, views, {.info = info, .pushers = 1, .wishes = run_.wishes()});
}

void AllReduceStore::end_pass(int64_t pass) {
  while (join_step(pass)) continue;
  local_.end_pass(pass);
}

bool AllReduceStore::join_step(int64_t pass) {
  const bool others_go_on = take_part(pass);
  if (others_go_on && run_.ends()) throw WaitStopped();
  return others_go_on;
}

bool AllReduceStore::take_part(int64_t pass) {
  const std::vector<KeyPlan> no_keys(specs_.size());
  std::vector<ParameterView<float>> views;
  local_.pull(no_keys, PullMode::kTrain, views);
  return step({}, views, {.info = {.pass = pass}, .wishes = run_.wishes()});
}

// One step of all trainers; without plans, of one that has no data.  False when nobody had any: then nothing has moved.
//
// The header travels with the gradients.  It goes ahead of statistics, whose weights depend on it, and of
// compressed gradients, whose scale does.
bool AllReduceStore::step(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                          const StepHeader& own) {
  const double begin = monotonic_seconds();
  write_header(own);
  for (size_t p = 0; p < specs_.size(); ++p) compressed_[p] = compression_ && compression_->compresses(p);
  const bool compresses = std::ranges::find(compressed_, true) != compressed_.end();
  const bool header_goes_ahead = has_statistics_ || compresses;
  if (header_goes_ahead) communicator_.all_reduce(header_);
  fill(plans, views);
  if (has_statistics_) weigh_statistics(views, own.info.samples, read_header(0).info.samples);
  reduce(views, /*with_header=*/!header_goes_ahead);
  const StepHeader sum = read_header(own.info.pass);
  if (compresses && sum.pushers > 0) compress(views, sum.info);
  exchange_seconds_ += monotonic_seconds() - begin;
  if (sum.pushers > 0) apply(views, sum.info);
  run_.end_step(sum.wishes);
  return sum.pushers > 0;
}

void AllReduceStore::write_header(const StepHeader& own) {
  for (size_t digit = 0; digit < kSampleDigits; ++digit) {
    header_[digit] = static_cast<float>(own.info.samples >> (digit * kDigitBits) & 0xff);
  }
  header_[kPushers] = static_cast<float>(own.pushers);
  header_[kShrinks] = own.info.shrink ? 1 : 0;
  header_[kCheckpoints] = own.wishes.checkpoint ? 1 : 0;
  header_[kEnds] = own.wishes.end ? 1 : 0;
}

// All trainers are in the same pass.
AllReduceStore::StepHeader AllReduceStore::read_header(int64_t pass) const {
  StepHeader sum;
  for (size_t digit = 0; digit < kSampleDigits; ++digit) {
    sum.info.samples += static_cast<int64_t>(header_[digit]) << (digit * kDigitBits);
  }
  sum.info.pass = pass;
  sum.info.shrink = header_[kShrinks] > 0;
  sum.pushers = static_cast<int64_t>(header_[kPushers]);
  sum.wishes = {.checkpoint = header_[kCheckpoints] > 0, .end = header_[kEnds] > 0};
  return sum;
}

void AllReduceStore::fill(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views) {
  for (size_t p = 0; p < specs_.size(); ++p) {
    const ParameterSpec& spec = specs_[p];
    if (spec.kind == ParameterKind::kRows) {
      fill_rows(plans.empty() ? nullptr : &plans[p], views[p], spec, arrays_[p]);
    } else if (spec.kind == ParameterKind::kMatrix && plans.empty()) {
      std::fill_n(views[p].gradient, values_of(spec), kNothing);
    }
  }
}

// rows <- the gradients of all rows, then for each row 1 where it was used.
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

// Values of a trainer have the weight of its examples; those of a lone trainer are taken as they are.
void AllReduceStore::weigh_statistics(std::span<const ParameterView<float>> views, int64_t samples,
                                      int64_t all_samples) {
  const float share = all_samples == 0 ? 1.0f : static_cast<float>(samples) / static_cast<float>(all_samples);
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (specs_[p].kind != ParameterKind::kStatistic) continue;
    const size_t count = static_cast<size_t>(values_of(specs_[p]));
    arrays_[p].assign(count, kNothing);
    if (samples == 0) continue;
    for (size_t i = 0; i < count; ++i) arrays_[p][i] = share * views[p].value[i];
  }
}

// In the order of the model, so that all trainers exchange the same arrays.
void AllReduceStore::reduce(std::span<const ParameterView<float>> views, bool with_header) {
  std::vector<Elements> arrays;
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (compressed_[p]) continue;
    if (specs_[p].kind == ParameterKind::kMatrix) {
      arrays.push_back(std::span(views[p].gradient, static_cast<size_t>(values_of(specs_[p]))));
    } else {
      arrays.push_back(std::span(arrays_[p]));
    }
  }
  if (with_header) arrays.push_back(std::span(header_));
  all_reduce_fused(communicator_, arrays);
  whole_bytes_ += step_bytes();
}

uint64_t AllReduceStore::step_bytes() const {
  const uint64_t ranks = static_cast<uint64_t>(communicator_.size());
  uint64_t values = kHeaderFields;
  for (const ParameterSpec& spec : specs_) values += static_cast<uint64_t>(values_of(spec));
  return 2 * (ranks - 1) * values * sizeof(float) / ranks;
}

// The sums that come back have gradients of all rows.
void AllReduceStore::compress(std::span<const ParameterView<float>> views, const StepInfo& info) {
  std::vector<GradientCompression::Gradient> gradients;
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (!compressed_[p]) continue;
    const size_t count = static_cast<size_t>(values_of(specs_[p]));
    const bool by_ids = specs_[p].kind == ParameterKind::kRows;
    gradients.push_back({p, {by_ids ? arrays_[p].data() : views[p].gradient, count}});
    if (by_ids) std::fill(arrays_[p].begin() + static_cast<int64_t>(count), arrays_[p].end(), 1.0f);
  }
  compression_->step(gradients, local_.next_step(info));
}

// The step of one process whose batch has the sums of all trainers.
void AllReduceStore::apply(std::span<const ParameterView<float>> views, const StepInfo& info) {
  std::vector<KeyPlan> plans(specs_.size());
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (specs_[p].kind == ParameterKind::kRows && !is_moved(p)) take_rows(p, arrays_[p], plans[p]);
    if (specs_[p].kind == ParameterKind::kStatistic) std::ranges::copy(arrays_[p], views[p].value);
  }
  std::vector<ParameterView<float>> sums;
  local_.pull(plans, PullMode::kTrain, sums);
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (is_moved(p)) sums[p].gradient = sums[p].row_gradients = nullptr;
    if (specs_[p].kind != ParameterKind::kRows || is_moved(p)) continue;
    const size_t cols = static_cast<size_t>(specs_[p].cols);
    for (size_t n = 0; n < plans[p].keys.size(); ++n) {
      std::copy_n(arrays_[p].data() + plans[p].keys[n] * cols, cols, sums[p].row_gradients + n * cols);
    }
  }
  local_.push(plans, sums, info);
}

// plan.keys <- the rows that any trainer has used.
void AllReduceStore::take_rows(size_t parameter, const std::vector<float>& rows, KeyPlan& plan) const {
  const size_t values = static_cast<size_t>(values_of(specs_[parameter]));
  for (size_t key = 0; key < static_cast<size_t>(specs_[parameter].rows); ++key) {
    if (rows[values + key] > 0) plan.keys.push_back(key);
  }
}

}  // namespace ps
