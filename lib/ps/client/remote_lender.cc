#include "ps/client/remote_lender.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"

namespace ps {

namespace {

std::vector<int> number_sparse(std::span<const ParameterSpec> specs) {
  std::vector<int> sparse_of;
  int next = 0;
  for (const ParameterSpec& spec : specs) sparse_of.push_back(spec.sparse ? next++ : -1);
  return sparse_of;
}

std::vector<TableLayout> layouts_of(const LocalStore& local, std::span<const int> sparse_of) {
  std::vector<TableLayout> layouts;
  for (int sparse : sparse_of) layouts.push_back(sparse < 0 ? TableLayout() : local.layout(sparse));
  return layouts;
}

}  // namespace

std::vector<ParameterSpec> sparse_parameters(std::span<const ParameterSpec> specs) {
  std::vector<ParameterSpec> sparse;
  for (const ParameterSpec& spec : specs) {
    if (spec.sparse) sparse.push_back(spec);
  }
  return sparse;
}

RemoteLender::RemoteLender(const std::vector<ParameterSpec>& specs, const OptimizerPlan& optimizers,
                           RemoteStore& remote, LocalStore& local)
    : specs_(specs),
      sparse_of_(number_sparse(specs)),
      clipping_(specs, optimizers),
      remote_(remote),
      local_(local),
      rows_(remote.links(), specs, layouts_of(local, sparse_of_),
            [this](uint64_t, size_t p, const RowBlock& rows) { local_.put_rows(sparse_of_[p], rows); }),
      returns_(remote.links(), specs),
      borrowers_(specs.size()),
      gradients_(specs.size()) {
  if (!clipping_.any()) return;
  remote_.pushes().leave_applying();
  local_.clip_with_others(
      [this](std::span<const double> squares, float scale) { return clip(squares, scale); });
}

// ---- steps

void RemoteLender::pull(std::span<const KeyPlan> plans, PullMode mode,
                        std::vector<ParameterView<float>>& views) {
  if (mode == PullMode::kRead) {
    put_back_all();
    return remote_.pull(plans, mode, views);
  }
  take_from_servers();
  remote_.pull(plans, mode, views);
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (!specs_[p].sparse) continue;
    gradients_[p].resize(std::max<size_t>(1, plans[p].keys.size() * static_cast<size_t>(specs_[p].cols)));
    views[p].row_gradients = gradients_[p].data();
  }
}

// The servers work on their part while the device works on its own.
void RemoteLender::push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                        const StepInfo& info) {
  step_ = {.plans = plans, .views = views, .info = info, .cut = remote_.next_is_cut()};
  if (!std::exchange(announced_, true)) returns_.announce();
  if (!step_.cut && !clipping_.any()) push_there();
  push_here(plans, views, info);
  if (!step_.cut && clipping_.any()) remote_.pushes().apply(std::move(step_.squares));
}

// The optimizers of sparse parameters begin the step; borrowers apply it.
void RemoteLender::push_here(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                             const StepInfo& info) {
  std::vector<KeyPlan> own_plans;
  std::vector<ParameterView<float>> own_views;
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (!specs_[p].sparse) continue;
    own_plans.emplace_back().keys = plans[p].keys;
    own_views.push_back(views[p]);
  }
  local_.push(own_plans, own_views, info);
}

void RemoteLender::push_there() {
  remote_.push(step_.plans, step_.views, step_.info);
  step_.pushed = true;
}

// Called by push_here, which has measured the gradients of sparse parameters.
std::vector<float> RemoteLender::clip(std::span<const double> sparse_squares, float scale) {
  push_there();
  step_.squares = remote_.wait_for_squares();
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (specs_[p].sparse) step_.squares[p] = sparse_squares[static_cast<size_t>(sparse_of_[p])];
  }
  const std::vector<float> all = clipping_.scales(step_.squares, scale);
  std::vector<float> scales;
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (specs_[p].sparse) scales.push_back(all[p]);
  }
  return scales;
}

void RemoteLender::end_step() {
  if (!step_.cut) return;
  put_back_all();
  step_.pushed ? remote_.pushes().apply(std::move(step_.squares)) : push_there();
  announced_ = false;
}

void RemoteLender::end_pass(int64_t pass) {
  take_from_servers();
  put_back_all();
  remote_.end_pass(pass);
  announced_ = false;
  local_.end_pass(pass);
}

// The servers have the beginning, a model that was loaded, a checkpoint, or the steps of a process before this one.
void RemoteLender::take_from_servers() {
  if (std::exchange(taken_, true)) return;
  const std::string bytes = remote_.model().read_optimizers(/*sparse=*/true);
  ByteReader in(bytes);
  local_.advance_schedule(in);
  local_.load_optimizers(in, local_.schedule().steps());
  if (in.remaining() > 0) {
    fail(Code::kData, "the servers' optimizers have ", in.remaining(), " bytes too many");
  }
}

// ---- rows

void RemoteLender::lend_rows(int parameter, RowBorrower& borrower) {
  local_.lend_rows(sparse(parameter), borrower);
  borrowers_[static_cast<size_t>(parameter)] = &borrower;
}

void RemoteLender::fetch_rows(int parameter, std::span<const uint64_t> keys, float* rows) {
  if (keys.empty()) return;
  take_rows(parameter, keys);
  local_.fetch_rows(sparse(parameter), keys, rows);
  local_.erase_rows(sparse(parameter), keys);
}

void RemoteLender::fetch_stored(int parameter, std::span<const uint64_t> keys, RowBlock& rows) {
  take_rows(parameter, keys);
  local_.fetch_stored(sparse(parameter), keys, rows);
  local_.erase_rows(sparse(parameter), keys);
}

// local_ <- the rows of these keys that the servers have.  A shard answers at once, also while it waits for a push: but a
// message that went to it before, with some of these rows, may have been lost with a connection, and come again.
void RemoteLender::take_rows(int parameter, std::span<const uint64_t> keys) {
  wait_for_returns();
  std::vector<std::vector<uint64_t>> asked(specs_.size());
  std::vector<uint64_t>& sorted = asked[static_cast<size_t>(parameter)];
  sorted.assign(keys.begin(), keys.end());
  std::ranges::sort(sorted);
  const uint64_t number = rows_.ask(std::move(asked));
  remote_.wait_for([&] { return rows_.arrived(number); });
}

void RemoteLender::put_rows(int parameter, const RowBlock& rows) {
  constexpr size_t kMostOnTheirWay = 64;  // messages
  returns_.send(static_cast<size_t>(parameter), rows);
  wait_for_returns(kMostOnTheirWay);
}

void RemoteLender::put_back_all() {
  for (RowBorrower* borrower : borrowers_) {
    if (borrower != nullptr) borrower->put_back();
  }
  wait_for_returns();
}

void RemoteLender::wait_for_returns(size_t most) {
  if (returns_.on_their_way() <= most) return;
  remote_.wait_for([this, most] { return returns_.on_their_way() <= most; });
}

// ---- models

std::vector<uint64_t> RemoteLender::keys(int parameter) {
  put_back_all();
  return remote_.keys(parameter);
}

void RemoteLender::read_rows(int parameter, std::span<const uint64_t> keys, float* weights) {
  put_back_all();
  remote_.read_rows(parameter, keys, weights);
}

void RemoteLender::load_rows(int parameter, std::span<const uint64_t> keys, const float* weights) {
  PS_CHECK(!taken_);
  remote_.load_rows(parameter, keys, weights);
}

}  // namespace ps
