#include "strategy/hybrid_store.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/wait_stopped.h"
#include "store/optimizer_states.h"

namespace ps {

namespace {

// Returns, by parameter, its index among the dense ones; -1 for a sparse one.
std::vector<int> number_dense(std::span<const ParameterSpec> specs) {
  std::vector<int> dense_of;
  int next = 0;
  for (const ParameterSpec& spec : specs) dense_of.push_back(spec.sparse ? -1 : next++);
  return dense_of;
}

// Returns the placement of the dense parameters alone.
GradientPlacement dense_placement(std::span<const ParameterSpec> specs, GradientPlacement all) {
  if (all.device == nullptr) return all;
  std::vector<bool> dense;
  for (size_t p = 0; p < specs.size(); ++p) {
    if (!specs[p].sparse) dense.push_back(all.on_device[p]);
  }
  return {std::move(all.device), std::move(dense)};
}

}  // namespace

std::vector<ParameterSpec> dense_parameters(std::span<const ParameterSpec> specs) {
  std::vector<ParameterSpec> dense;
  for (const ParameterSpec& spec : specs) {
    if (!spec.sparse) dense.push_back(spec);
  }
  return dense;
}

std::vector<ParameterSpec> with_dense_by_trainers(std::vector<ParameterSpec> specs) {
  for (ParameterSpec& spec : specs) spec.by_trainers = !spec.sparse;
  return specs;
}

// Calls body(), which exchanges with other trainers.  If one of them, and no server, is gone, all go back to
// the last checkpoint, if there is one.  A trainer that was told to end does so, as the others have done.
template <class Body>
auto HybridStore::with_trainers(Body&& body) {
  try {
    return body();
  } catch (const StateLost&) {
    throw;
  } catch (const WaitStopped&) {
    throw;
  } catch (const Error& error) {
    if (error.code() != Code::kUnavailable) throw;
    remote_.check_links();
    if (run_.ends() || remote_.links().is_stopping()) throw WaitStopped();
    if (remote_.can_go_back()) remote_.links().lose_run(error.message());
    throw;
  }
}

void HybridStore::lose_trainer(const Error& error) {
  with_trainers([&error] { throw Error(error); });
}

// Connects the halves.  With clipping, both need the norm of the whole gradient: the servers hold a step
// back until they are told, and the dense half calls clip when it has its sums.
HybridStore::HybridStore(std::vector<ParameterSpec> specs, const OptimizerPlan& optimizers,
                         const Context& context)
    : specs_(std::move(specs)),
      dense_of_(number_dense(specs_)),
      clipping_(specs_, optimizers),
      remote_(context.remote),
      local_(context.local),
      communicator_(context.communicator),
      run_(context.run),
      dense_(dense_parameters(specs_), local_, communicator_, run_, nullptr,
             dense_placement(specs_, context.placement)),
      rows_(context.rows),
      dense_plans_(dense_parameters(specs_).size()) {
  // A trainer may wait for servers that wait for a trainer that is gone, so it must learn of that meanwhile.
  remote_.links().watch_others([this] { with_trainers([this] { communicator_.check_others(); }); });
  remote_.run().leave_rest();  // the run never goes on without a trainer
  if (rows_) {
    owned_.emplace(specs_, rows_->store, communicator_);
    rows_->lender.leave_pushing([this] { end_step(/*pass_ends=*/false); }, [this] { return owned_scales_; });
  }
  if (!clipping_.any()) return;
  if (!owned_) remote_.pushes().leave_committing();
  local_.scales().clip_with_others(
      [this](std::span<const double> squares, float scale) { return clip(squares, scale); });
}

// ---- pulls

void HybridStore::pull(std::span<const KeyPlan> plans, PullMode mode,
                       std::vector<ParameterView<float>>& views) {
  if (mode == PullMode::kTrain) take_from_servers();
  if (mode == PullMode::kRead) check_rows_returned();
  if (owned_ && mode == PullMode::kTrain) {
    with_trainers([&] { owned_->pull(plans, views); });
  } else {
    remote_.pull(plans, mode, views);
  }
  bind_dense(plans, mode, views);
}

void HybridStore::finish_pull(const PullTicket& ticket, std::span<const KeyPlan> plans,
                              std::vector<ParameterView<float>>& views) {
  remote_.finish_pull(ticket, plans, views);
  bind_dense(plans, PullMode::kTrain, views);
}

// Replaces the views of dense parameters by those of the trainers' store.
void HybridStore::bind_dense(std::span<const KeyPlan> plans, PullMode mode,
                             std::vector<ParameterView<float>>& views) {
  for (size_t p = 0; p < specs_.size(); ++p) {
    const bool by_keys = specs_[p].kind == ParameterKind::kRows;
    if (dense_of_[p] >= 0 && by_keys) dense_plans_[static_cast<size_t>(dense_of_[p])].keys = plans[p].keys;
  }
  dense_.pull(dense_plans_, mode, dense_views_);
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (dense_of_[p] >= 0) views[p] = dense_views_[static_cast<size_t>(dense_of_[p])];
  }
}

// Takes the dense parameters and their optimizers from the servers, once.  These have the beginning, a model
// that was loaded, or a checkpoint.
void HybridStore::take_from_servers() {
  if (std::exchange(has_dense_, true)) return;
  remote_.finish_pushes();
  std::vector<float> floats;
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (dense_of_[p] < 0) continue;
    remote_.model().read_stored(static_cast<int>(p), local_.layout(dense_of_[p]).state_arrays, floats);
    local_.set_stored(dense_of_[p], floats);
  }
  const std::string bytes = remote_.model().read_optimizers(/*sparse=*/false);
  ByteReader in(bytes);
  local_.schedule().advance(in);
  load_optimizers(local_.tables(), in, local_.schedule().steps());
  if (in.remaining() > 0)
    fail(Code::kData, "the servers' optimizers have ", in.remaining(), " bytes too many");
}

// At trainer 0: sets the servers' dense parameters to the trained ones, with their state.
void HybridStore::give_to_servers() {
  if (communicator_.rank() != 0) return;
  local_.put_back();
  std::vector<float> floats;
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (dense_of_[p] < 0) continue;
    local_.copy_stored(dense_of_[p], floats);
    remote_.model().load_stored(static_cast<int>(p), local_.layout(dense_of_[p]).state_arrays, floats);
  }
}

// ---- steps

void HybridStore::take_dense(std::span<const ParameterView<float>> views) {
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (dense_of_[p] >= 0) dense_views_[static_cast<size_t>(dense_of_[p])] = views[p];
  }
}

// After an error of this thread the batch may have begun to exchange its gradients on another one.  That exchange ends
// first, since the caller goes on to use the same connections; its error is a consequence.
void HybridStore::run_beside(const std::function<void()>& compute) {
  if (!rows_) return compute();
  std::exception_ptr failed;
  try {
    return rows_->store.run_beside(compute);
  } catch (...) {
    failed = std::current_exception();
  }
  try {
    dense_.end_begun_push();
  } catch (...) {
    std::rethrow_exception(failed);
  }
  std::rethrow_exception(failed);
}

// A batch may be computed on another thread than the owner's, which has the connections that the exchange needs.
void HybridStore::begin_push(std::span<const KeyPlan>, std::span<const ParameterView<float>> views,
                             const StepInfo& info) {
  if (!dense_.exchanges_early()) return;
  if (rows_) rows_->store.hold_work();
  take_dense(views);
  dense_.begin_push(dense_plans_, dense_views_, info);
}

void HybridStore::final_gradient(size_t parameter) {
  if (const int dense = dense_of_[parameter]; dense >= 0) dense_.final_gradient(static_cast<size_t>(dense));
}

// The servers' connections run on the loop of the trainers' connections, so the owner thread must have the
// communicator back first.
//
// Servers need trainer 0's push to end a step.  If a checkpoint begins with the step, that push comes last.
// Otherwise the servers work while trainers exchange, unless the rows are on devices: then they have no work.
void HybridStore::push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                       const StepInfo& info) {
  with_trainers([&] { dense_.end_begun_push(); });
  take_dense(views);
  step_ = {.plans = plans,
           .views = views,
           .info = info,
           .has_data = true,
           .begins_checkpoint = remote_.next_begins_checkpoint()};
  if (!owned_ && !clipping_.any() && !step_.begins_checkpoint) push_sparse();
  with_trainers([&] { dense_.push(dense_plans_, dense_views_, info); });
  owned_ ? step_owned() : end_step(/*pass_ends=*/false);
}

// Sends the gradients of rows to their owners, once in a step.  All trainers do so after the dense gradients, whose
// exchanges may begin while backward still runs: so all make the same exchanges in the same order.
void HybridStore::sum_up_owned() {
  if (std::exchange(step_.summed_up, true)) return;
  owned_->sum_up(step_.views, step_.info);
}

// Makes the sparse half of a step on the devices.  The lender calls end_step: at once, or, if a checkpoint begins, when
// the rows are back.
void HybridStore::step_owned() {
  with_trainers([&] { sum_up_owned(); });
  rows_returned_ = false;
  with_trainers([&] { owned_->step(); });
  return_rows_at_end();
}

// After the last step of a run that all trainers end early, the rows go back to the servers, so that a model can be read
// from there.  No trainer goes on before all have returned theirs.
void HybridStore::return_rows_at_end() {
  if (!run_.ends()) return;
  rows_->lender.put_back_all();
  with_trainers([&] { communicator_.barrier(); });
  rows_returned_ = true;
}

void HybridStore::check_rows_returned() const {
  if (rows_returned_) return;
  fail(Code::kUsage,
       "rows are on the devices of all trainers until the pass ends: a model can be made from a checkpoint");
}

// Goes on with steps without data until no trainer has any.  The dense parameters are taken first, for a
// trainer that has had no batch in this run yet.
void HybridStore::end_pass(int64_t pass) {
  take_from_servers();
  remote_.pushes().begin_pass_end(pass);
  while (step_without_data(pass)) {
    if (run_.ends()) throw WaitStopped();
  }
  local_.end_pass(pass);
}

// Makes one step without data.  Returns false if no trainer had data; the pass has then ended with this step.
bool HybridStore::step_without_data(int64_t pass) {
  std::vector<ParameterView<float>> no_rows;
  if (owned_) with_trainers([&] { owned_->pull({}, no_rows); });
  step_ = {.info = {.pass = pass}, .begins_checkpoint = remote_.next_begins_checkpoint()};
  const bool others_go_on = with_trainers([&] { return dense_.join_or_end(pass); });
  if (owned_ && others_go_on) {
    step_owned();
  } else {
    if (owned_) rows_->store.end_pass(pass);  // all rows go back
    end_step(/*pass_ends=*/!others_go_on);
    rows_returned_ = true;
  }
  const bool ended = remote_.finish_pass_step();
  // Both halves must agree: the servers have ended the pass exactly if no trainer had data.
  if (ended != others_go_on) return others_go_on;
  fail(Code::kData, "a pass has ", ended ? "" : "not ", "ended for the servers, but ", ended ? "not " : "",
       "for the trainers");
}

void HybridStore::push_sparse() {
  step_.pushed = true;
  step_.has_data ? remote_.push(step_.plans, step_.views, step_.info)
                 : remote_.push_without_data(step_.info.pass);
}

// Called by the dense half of a step when it has its sums.  Pushes the sparse half, unless trainers have it, joins the
// squares of both halves, and returns the factors of the dense gradients.
std::vector<float> HybridStore::clip(std::span<const double> dense_squares, float scale) {
  owned_ ? sum_up_owned() : push_sparse();
  std::vector<double> squares = owned_ ? owned_->squares() : remote_.wait_for_squares();
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (dense_of_[p] >= 0) squares[p] = dense_squares[static_cast<size_t>(dense_of_[p])];
  }
  const std::vector<float> all = clipping_.scales(squares, scale);
  std::vector<float> dense;
  owned_scales_.clear();
  for (size_t p = 0; p < specs_.size(); ++p) (dense_of_[p] >= 0 ? dense : owned_scales_).push_back(all[p]);
  if (!owned_) step_.squares = std::move(squares);
  return dense;
}

// Completes a step whose dense half is applied.  Servers apply a step that they have measured as soon as one
// trainer tells them the norm.  If a checkpoint begins, no trainer may do so before trainer 0 has set the
// dense parameters.
void HybridStore::end_step(bool pass_ends) {
  if (step_.begins_checkpoint || pass_ends) give_to_servers();
  if (!step_.pushed) return push_sparse();
  if (step_.squares.empty()) return;
  if (step_.begins_checkpoint) with_trainers([&] { communicator_.barrier(); });
  remote_.pushes().commit(std::move(step_.squares));
}

// ---- models

std::vector<uint64_t> HybridStore::keys(int parameter) {
  check_rows_returned();
  return remote_.keys(parameter);
}

void HybridStore::read_rows(int parameter, std::span<const uint64_t> keys, float* weights) {
  check_rows_returned();
  remote_.read_rows(parameter, keys, weights);
}

void HybridStore::read_all(int parameter, float* weights) {
  const int dense = dense_of_[static_cast<size_t>(parameter)];
  has_dense_&& dense >= 0 ? local_.read_all(dense, weights) : remote_.read_all(parameter, weights);
}

void HybridStore::load_all(int parameter, const float* weights) {
  PS_CHECK(!has_dense_);
  remote_.load_all(parameter, weights);
}

StoreTimes HybridStore::times() const {
  StoreTimes times = remote_.times();
  times.waiting += dense_.times().waiting;
  if (owned_) times.waiting += owned_->exchange_seconds();
  return times;
}

}  // namespace ps
