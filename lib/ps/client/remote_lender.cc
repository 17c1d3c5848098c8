#include "ps/client/remote_lender.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "store/optimizer_states.h"

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

// Returns true for a parameter whose rows are asked for ahead.
bool comes_ahead(const ParameterSpec& spec) {
  return spec.sparse && !spec.row_policy;
}

bool has_policy(const std::vector<ParameterSpec>& specs) {
  return std::ranges::any_of(specs, [](const ParameterSpec& spec) { return spec.row_policy.has_value(); });
}

// Sets `rows` to the rows of these keys as they are stored before their first step.  Nothing was trained in the store.
void make_untrained(LocalStore& store, int sparse, std::span<const uint64_t> keys, RowBlock& rows) {
  const TableLayout layout = store.layout(sparse);
  rows.keys.assign(keys.begin(), keys.end());
  rows.values.resize(keys.size() * static_cast<size_t>(layout.values()));
  store.fetch_rows(sparse, keys, rows.values.data());
  store.tables().table(static_cast<size_t>(sparse))->erase(keys);
  if (layout.stamped) rows.stamps.assign(keys.size(), 0);
}

// Appends row i of `from`.
void append_row(const RowBlock& from, size_t i, RowBlock& to) {
  const size_t values = from.values.size() / from.size();
  const auto row = from.values.begin() + static_cast<ptrdiff_t>(i * values);
  to.keys.push_back(from.keys[i]);
  to.values.insert(to.values.end(), row, row + static_cast<ptrdiff_t>(values));
  if (!from.stamps.empty()) to.stamps.push_back(from.stamps[i]);
}

// Sets `out` to the rows of both, whose keys ascend and differ, in ascending order of keys.
void merge_rows(const RowBlock& one, const RowBlock& other, RowBlock& out) {
  out.clear();
  size_t i = 0, j = 0;
  while (i < one.size() || j < other.size()) {
    const bool from_one = j == other.size() || (i < one.size() && one.keys[i] < other.keys[j]);
    from_one ? append_row(one, i++, out) : append_row(other, j++, out);
  }
}

// Moves the rows of these keys, which ascend, from `local` into `rows`.  Rows that it does not have are made by
// `untrained`, unless that is null.  Returns the keys of the rows that `local` had.
std::vector<uint64_t> move_stored(LocalStore& local, LocalStore* untrained, int sparse,
                                  std::span<const uint64_t> keys, RowBlock& rows) {
  RowBlock stored, made;
  local.fetch_stored(sparse, keys, stored);
  local.tables().table(static_cast<size_t>(sparse))->erase(stored.keys);
  std::vector<uint64_t> unknown;
  std::ranges::set_difference(keys, stored.keys, std::back_inserter(unknown));
  if (untrained != nullptr) make_untrained(*untrained, sparse, unknown, made);
  merge_rows(stored, made, rows);
  return std::move(stored.keys);
}

}  // namespace

std::vector<ParameterSpec> sparse_parameters(std::span<const ParameterSpec> specs) {
  std::vector<ParameterSpec> sparse;
  for (const ParameterSpec& spec : specs) {
    if (!spec.sparse) continue;
    sparse.push_back(spec);
    sparse.back().row_policy.reset();
  }
  return sparse;
}

RemoteLender::RemoteLender(const std::vector<ParameterSpec>& specs, const OptimizerPlan& optimizers,
                           RemoteStore& remote, LocalStore& local, size_t window)
    : StoreInFront(remote),
      specs_(specs),
      sparse_of_(number_sparse(specs)),
      clipping_(specs, optimizers),
      remote_(remote),
      local_(local),
      rows_(remote.links(), specs, layouts_of(local, sparse_of_),
            [this](uint64_t, size_t p, const RowBlock& rows) { local_.put_rows(sparse_of_[p], rows); }),
      returns_(remote.links(), specs),
      window_{.length = window},
      coming_(specs.size()),
      absent_(specs.size()),
      borrowers_(specs.size()),
      untrained_{Device(1, local.cpu()),
                 LocalStore(sparse_parameters(specs), optimizers, UINT64_MAX, untrained_.device)},
      gradients_(specs.size()) {
  // A norm is of the whole gradient, of which the servers know only the part of their own parameters.  They
  // therefore wait with each step until commit() brings them the squares of all parameters, and local_ asks
  // clip() for its scales.
  if (!clipping_.any()) return;
  remote_.pushes().leave_committing();
  local_.scales().clip_with_others(
      [this](std::span<const double> squares, float scale) { return clip(squares, scale); });
}

// ---- steps

void RemoteLender::leave_pushing(std::function<void()> send, std::function<std::vector<float>()> scales) {
  send_ = std::move(send);
  if (!clipping_.any()) return;
  remote_.pushes().leave_committing(false);
  local_.scales().clip_with_others([scales = std::move(scales)](auto, float) { return scales(); });
}

void RemoteLender::pull(std::span<const KeyPlan> plans, PullMode mode,
                        std::vector<ParameterView<float>>& views) {
  if (mode == PullMode::kRead) {
    put_back_all();
    return remote_.pull(plans, mode, views);
  }
  take_from_servers();
  remote_.pull(plans, mode, views);
  count_keys(plans);
  bind_gradients(plans, views);
}

void RemoteLender::finish_pull(const PullTicket& ticket, std::span<const KeyPlan> plans,
                               std::vector<ParameterView<float>>& views) {
  remote_.finish_pull(ticket, plans, views);
  count_keys(plans);
  bind_gradients(plans, views);
}

// Tells the servers the keys of the batch of parameters that have a row policy, when they have applied all steps
// before.  absent_ <- the keys that have no row.
void RemoteLender::count_keys(std::span<const KeyPlan> plans) {
  if (!has_policy(specs_)) return;
  remote_.finish_pushes();
  for (size_t p = 0; p < specs_.size(); ++p) {
    absent_[p].clear();
    if (specs_[p].row_policy) returns_.send_counts(p, plans[p].keys, plans[p].counts, absent_[p]);
  }
  ScopedSeconds seconds(waited_seconds_);
  wait_for_returns();
  for (std::vector<uint64_t>& absent : absent_) std::ranges::sort(absent);
}

void RemoteLender::bind_gradients(std::span<const KeyPlan> plans, std::vector<ParameterView<float>>& views) {
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (!specs_[p].sparse) continue;
    gradients_[p].resize(std::max<size_t>(1, plans[p].keys.size() * static_cast<size_t>(specs_[p].cols)));
    views[p].row_gradients = gradients_[p].data();
  }
}

// The servers and the device work at the same time.  Without clipping, the gradients of the servers' parameters
// are sent first.  With clipping, clip sends them, since both sides need the norm of the whole gradient.  If a
// checkpoint begins with this step, they are sent in end_step, after the rows are back.
void RemoteLender::push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                        const StepInfo& info) {
  step_ = {
      .plans = plans, .views = views, .info = info, .begins_checkpoint = remote_.next_begins_checkpoint()};
  if (!std::exchange(announced_, true)) returns_.announce();
  const bool clips = clipping_.any() && !send_;
  if (!step_.begins_checkpoint && !clips) push_there();
  // The step of several trainers is applied when all have pushed.  By a row policy it makes rows and removes them, so that
  // rows that the device fetches or returns within the step must come after it, as they do where one trainer pushes alone.
  if (step_.pushed && send_ && has_policy(specs_)) remote_.finish_pushes();
  push_here(plans, views, info);
  if (!step_.begins_checkpoint && clips) remote_.pushes().commit(std::move(step_.squares));
}

// Begins the step of the optimizers of sparse parameters in local_; the borrowers apply it to the rows on the
// device.
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
  send_ ? send_() : remote_.push(step_.plans, step_.views, step_.info);
  step_.pushed = true;
}

// Called by push_here with the squares of the gradients of sparse parameters.  Sends the other gradients to the
// servers, waits for their squares, and computes the scales from both.
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

// Ends a step that all borrowers have applied.  Removes its batch, the oldest of the window, and erases the rows that no
// batch needs any more.  At a checkpoint all rows go back first, since the servers
// begin it when they have applied the step; this step reaches them last: as a push, or, with clipping,
// whose push was sent in clip(), as the commit for which they wait.
void RemoteLender::end_step() {
  if (!window_.requests.empty()) window_.requests.pop_front();
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (comes_ahead(specs_[p]))
      local_.tables().table(static_cast<size_t>(sparse_of_[p]))->erase(coming_[p].end_batch());
  }
  if (!step_.begins_checkpoint) return;
  put_back_all();
  step_.pushed ? remote_.pushes().commit(std::move(step_.squares)) : push_there();
  announced_ = false;
}

// The rows go back first, since a checkpoint may begin with the last step of the pass.
void RemoteLender::end_pass(int64_t pass) {
  take_from_servers();
  put_back_all();
  if (!send_) remote_.end_pass(pass);
  announced_ = false;
  local_.end_pass(pass);
}

// Reads the state from which this trainer begins: the schedule and the optimizers of sparse parameters.
void RemoteLender::take_from_servers() {
  if (std::exchange(taken_, true)) return;
  remote_.finish_pushes();
  const std::string bytes = remote_.model().read_optimizers(/*sparse=*/true);
  ByteReader in(bytes);
  local_.schedule().advance(in);
  load_optimizers(local_.tables(), in, local_.schedule().steps());
  if (in.remaining() > 0) {
    fail(Code::kData, "the servers' optimizers have ", in.remaining(), " bytes too many");
  }
}

// ---- rows

void RemoteLender::lend_rows(int parameter, RowBorrower& borrower) {
  local_.lend_rows(sparse(parameter), borrower);
  borrowers_[static_cast<size_t>(parameter)] = &borrower;
}

// local_ makes the rows that nobody has asked for, as they were from the first step on; a row that waits for
// admission is zeros instead.
void RemoteLender::fetch_rows(int parameter, std::span<const uint64_t> keys, float* rows) {
  if (keys.empty()) return;
  const size_t p = static_cast<size_t>(parameter);
  const auto is_absent = [&](uint64_t key) { return std::ranges::binary_search(absent_[p], key); };
  std::vector<uint64_t> present;
  std::ranges::remove_copy_if(keys, std::back_inserter(present), is_absent);
  if (!present.empty()) wait_for_rows(parameter, present);
  local_.fetch_rows(sparse(parameter), keys, rows);
  local_.tables().table(static_cast<size_t>(sparse(parameter)))->erase(keys);
  if (new_rows_of(specs_[p]) != NewRows::kByAdmission) return;
  const int64_t values = layout(parameter).values();
  for (size_t i = 0; i < keys.size(); ++i) {
    if (is_absent(keys[i])) std::fill_n(rows + static_cast<int64_t>(i) * values, values, 0.0f);
  }
}

// A row that left the device before its first step did not go back, and is made again.
void RemoteLender::fetch_stored(int parameter, std::span<const uint64_t> keys, RowBlock& rows) {
  wait_for_rows(parameter, keys);
  move_stored(local_, comes_ahead(specs_[static_cast<size_t>(parameter)]) ? &untrained_.store : nullptr,
              sparse(parameter), keys, rows);
}

// Takes those of the rows that have come, or would have if the servers had them.  A row that is made stays on the list,
// since it need not be asked for again if the borrower does not take it.
void RemoteLender::take_stored(int parameter, std::span<const uint64_t> keys, bool untrained,
                               RowBlock& rows) {
  ComingRows& coming = coming_[static_cast<size_t>(parameter)];
  std::vector<uint64_t> here;
  for (uint64_t key : keys) {
    const std::optional<uint64_t> request = coming.find(key);
    if (request && rows_.arrived(*request)) here.push_back(key);
  }
  const auto moved =
      move_stored(local_, untrained ? &untrained_.store : nullptr, sparse(parameter), here, rows);
  for (uint64_t key : moved) coming.remove(key);
  rows_ahead_ += rows.size();
}

// Waits until local_ has the rows of these keys that the servers have.  Asks for rows that have not been asked
// for before: a shard answers at once, also while it waits for a push.  If some of these rows are on their way back to
// a shard, the request waits for them first, since that message may have been lost with a connection and be sent
// again.
void RemoteLender::wait_for_rows(int parameter, std::span<const uint64_t> keys) {
  uint64_t last = 0;  // number of the last request that brings one of them
  std::vector<uint64_t> missing;
  for (uint64_t key : keys) {
    const std::optional<uint64_t> request = coming_[static_cast<size_t>(parameter)].remove(key);
    if (!request) missing.push_back(key);
    last = std::max(last, request.value_or(0));
    rows_ahead_ += request && *request != window_.present;
  }
  if (!missing.empty()) {
    const size_t p = static_cast<size_t>(parameter);
    if (std::ranges::any_of(missing, [&](uint64_t key) { return returns_.is_on_its_way(p, key); }))
      wait_for_returns();
    std::ranges::sort(missing);
    std::vector<std::vector<uint64_t>> asked(specs_.size());
    asked[p] = std::move(missing);
    last = rows_.ask(std::move(asked));
  }
  ScopedSeconds seconds(waited_seconds_);
  remote_.wait_for([&] { return rows_.arrived(last); });
}

// Asks for the rows that a coming batch uses and that are neither on the device nor on the list.  A row that is
// on its way back to a shard is put off until that message is answered.
void RemoteLender::look_ahead(std::span<const KeyPlan> plans) {
  take_from_servers();
  const bool is_present = window_.requests.empty();
  std::vector<std::vector<uint64_t>> wanted(specs_.size());
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (!comes_ahead(specs_[p])) continue;
    wanted[p] = borrowers_[p]->missing(coming_[p].add(plans[p].keys));
    std::erase_if(wanted[p], [&](uint64_t key) {
      const bool returns = returns_.is_on_its_way(p, key);
      if (returns) coming_[p].put_off(key);
      return returns;
    });
  }
  // Answers are handled only while the loop runs, so that no row of this request comes before it is expected.
  const uint64_t number = rows_.ask(wanted);
  window_.requests.push_back(number);
  // The window was empty: the batch is needed at once, and its rows do not count as ahead.
  if (is_present) window_.present = number;
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (comes_ahead(specs_[p])) coming_[p].expect(wanted[p], number);
  }
}

void RemoteLender::put_rows(int parameter, const RowBlock& rows) {
  constexpr size_t kMostOnTheirWay = 64;  // messages; further ones wait
  returns_.send(static_cast<size_t>(parameter), rows);
  keep_rows(parameter, rows);
  wait_for_returns(kMostOnTheirWay);
}

// local_ <- those of the rows that a coming batch uses.  The device may still have such a row; it returns the row
// again when the row leaves the device changed.
void RemoteLender::keep_rows(int parameter, const RowBlock& rows) {
  const size_t p = static_cast<size_t>(parameter);
  RowBlock used;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (coming_[p].is_used(rows.keys[i])) append_row(rows, i, used);
  }
  if (used.keys.empty()) return;
  local_.put_rows(sparse_of_[p], used);
  coming_[p].expect(used.keys, 0);
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
