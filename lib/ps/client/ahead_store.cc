#include "ps/client/ahead_store.h"

#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"

namespace ps {

namespace {

std::vector<TableLayout> layouts_of(const LocalStore& local, size_t count) {
  std::vector<TableLayout> layouts;
  for (size_t p = 0; p < count; ++p) layouts.push_back(local.layout(static_cast<int>(p)));
  return layouts;
}

std::string take_state(ByteReader& in) {
  std::string_view state = in.get_bytes(in.get<uint64_t>());
  if (!in.ok()) fail(Code::kData, "optimizers: the body is cut short");
  std::string sized;
  put(sized, static_cast<uint64_t>(state.size()));
  sized += state;
  return sized;
}

}  // namespace

AheadStore::AheadStore(const std::vector<ParameterSpec>& specs, size_t batches, RemoteStore& remote,
                       LocalStore& local)
    : specs_(specs),
      batches_(batches),
      remote_(remote),
      local_(local),
      rows_(remote.links(), specs, layouts_of(local, specs.size()),
            [this](size_t p, const RowBlock& rows) { local_.put_rows(static_cast<int>(p), rows); }),
      windows_(specs.size()) {}

// ---- steps

void AheadStore::look_ahead(std::span<const KeyPlan> plans) {
  take_from_servers();
  std::vector<std::vector<uint64_t>> entering(specs_.size());
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (specs_[p].sparse) windows_[p].add(plans[p].keys, entering[p]);
  }
  ScopedSeconds seconds(asking_seconds_);
  asked_.push_back(rows_.ask(std::move(entering)));
}

// Gradients are filled in where pushes are sent from.
void AheadStore::pull(std::span<const KeyPlan> plans, PullMode mode,
                      std::vector<ParameterView<float>>& views) {
  if (mode == PullMode::kRead) {
    remote_.finish_pushes();
    return remote_.pull(plans, mode, views);
  }
  if (asked_.empty()) look_ahead(plans);
  const uint64_t asked = asked_.front();
  asked_.pop_front();
  remote_.poll();
  remote_.wait_for([&] { return rows_.arrived(asked); });
  local_.pull(plans, mode, copies_);
  remote_.prepare_push(plans, PullScope::kAll, views);
  for (size_t p = 0; p < specs_.size(); ++p) {
    views[p].rows = copies_[p].rows;
    views[p].value = copies_[p].value;
  }
}

void AheadStore::push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                      const StepInfo& info) {
  local_.push(plans, views, info);
  pushed_.push_back(remote_.pushes().next_step());
  remote_.push(plans, views, info);
  forget_applied();
}

void AheadStore::end_pass(int64_t pass) {
  take_from_servers();
  remote_.end_pass(pass);
  forget_applied();
  local_.end_pass(pass);
}

// Drops the copies that only batches use whose steps all shards have applied.
void AheadStore::forget_applied() {
  remote_.poll();
  std::vector<uint64_t> leaving;
  for (; !pushed_.empty() && pushed_.front() < remote_.pushes().applied_steps(); pushed_.pop_front()) {
    for (size_t p = 0; p < specs_.size(); ++p) {
      if (!specs_[p].sparse) continue;
      leaving.clear();
      windows_[p].remove_first(leaving);
      local_.erase_rows(static_cast<int>(p), leaving);
    }
  }
}

StoreTimes AheadStore::times() const {
  StoreTimes times = remote_.times();
  times.communicating += asking_seconds_;
  return times;
}

size_t AheadStore::num_copies() const {
  size_t count = 0;
  for (const RowWindow& window : windows_) count += window.num_rows();
  return count;
}

// ---- the beginning

// The servers have the beginning, a model that was loaded, a checkpoint, or the steps of a process before this one.
void AheadStore::take_from_servers() {
  if (std::exchange(taken_, true)) return;
  std::vector<float> floats;
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (specs_[p].sparse) continue;
    const int parameter = static_cast<int>(p);
    remote_.model().read_stored(parameter, local_.layout(parameter).state_arrays, floats);
    local_.set_stored(parameter, floats);
  }
  const std::string optimizers = read_optimizers();
  ByteReader in(optimizers);
  local_.load_optimizers(in, local_.schedule().steps());
}

// Sets the schedule, and returns the optimizers in the order of the parameters: shards give those of dense and of sparse
// ones apart.
std::string AheadStore::read_optimizers() {
  const std::string dense = remote_.model().read_optimizers(/*sparse=*/false);
  std::string sparse;
  for (const ParameterSpec& spec : specs_) {
    if (spec.sparse && sparse.empty()) sparse = remote_.model().read_optimizers(/*sparse=*/true);
  }
  ByteReader in_dense(dense), in_sparse(sparse);
  local_.advance_schedule(in_dense);
  if (!sparse.empty()) local_.advance_schedule(in_sparse);
  std::string all;
  for (const ParameterSpec& spec : specs_) {
    if (spec.kind != ParameterKind::kStatistic) all += take_state(spec.sparse ? in_sparse : in_dense);
  }
  if (in_dense.remaining() + in_sparse.remaining() > 0) {
    fail(Code::kData, "the servers' optimizers are of other parameters");
  }
  return all;
}

void AheadStore::load_rows(int parameter, std::span<const uint64_t> keys, const float* weights) {
  PS_CHECK(!taken_);
  remote_.load_rows(parameter, keys, weights);
}

void AheadStore::load_all(int parameter, const float* weights) {
  PS_CHECK(!taken_);
  remote_.load_all(parameter, weights);
}

}  // namespace ps
