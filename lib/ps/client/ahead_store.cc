#include "ps/client/ahead_store.h"

#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "ps/client/stored_beginning.h"

namespace ps {

const std::vector<ParameterSpec>& check_no_policies(const std::vector<ParameterSpec>& specs) {
  for (const ParameterSpec& spec : specs) {
    if (!spec.row_policy) continue;
    fail(Code::kUsage, "train.pull_ahead: rows of ", quote(spec.name),
         " come and go by a policy of the servers, and cannot be pulled ahead: leave out one of the two");
  }
  return specs;
}

std::vector<TableLayout> layouts_of(const LocalStore& local, size_t count) {
  std::vector<TableLayout> layouts;
  for (size_t p = 0; p < count; ++p) layouts.push_back(local.layout(static_cast<int>(p)));
  return layouts;
}

AheadStore::AheadStore(const std::vector<ParameterSpec>& specs, size_t batches, RemoteStore& remote,
                       LocalStore& local)
    : StoreInFront(remote),
      specs_(specs),
      batches_(batches),
      remote_(remote),
      local_(local),
      rows_(remote.links(), specs, layouts_of(local, specs.size()),
            [this](uint64_t, size_t p, const RowBlock& rows) { local_.put_rows(static_cast<int>(p), rows); }),
      windows_(specs.size()) {}

// ---- steps

// Adds the batch to the windows, and asks for the rows that enter them.  All other rows of the batch have a
// copy in local_ already, or come with the request of an earlier batch.
void AheadStore::look_ahead(std::span<const KeyPlan> plans) {
  take_from_servers();
  std::vector<std::vector<uint64_t>> entering(specs_.size());
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (specs_[p].sparse) windows_[p].add(plans[p].keys, entering[p]);
  }
  ScopedSeconds seconds(asking_seconds_);
  asked_.push_back(rows_.ask(std::move(entering)));
}

// Weights come from the copies; gradients go into the buffers from which `remote_` sends pushes.
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

// Drops the copies of rows that no batch uses any more, except batches whose steps all shards have applied.
void AheadStore::forget_applied() {
  remote_.poll();
  std::vector<uint64_t> leaving;
  for (; !pushed_.empty() && pushed_.front() < remote_.pushes().applied_steps(); pushed_.pop_front()) {
    for (size_t p = 0; p < specs_.size(); ++p) {
      if (!specs_[p].sparse) continue;
      leaving.clear();
      windows_[p].remove_first(leaving);
      local_.tables().table(p)->erase(leaving);
    }
  }
}

StoreTimes AheadStore::times() const {
  StoreTimes times = remote_.times();
  times.communicating += asking_seconds_;
  return times;
}

// ---- the beginning

// Reads the state from which this trainer begins: initial weights, a loaded model, a checkpoint, or the steps
// of an earlier process of this rank.
void AheadStore::take_from_servers() {
  if (std::exchange(taken_, true)) return;
  remote_.finish_pushes();
  begin_from(read_beginning(remote_.model(), specs_, local_), specs_, local_);
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
