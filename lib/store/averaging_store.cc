#include "store/averaging_store.h"

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/wait_stopped.h"
#include "collective/fused.h"
#include "store/optimizer_states.h"
#include "store/state_arrays.h"

namespace ps {

namespace {

constexpr int64_t kMostIntervalSamples = int64_t{1} << 50;  // of a trainer

}  // namespace

AveragingStore::AveragingStore(const AveragingOptions& options, std::vector<ParameterSpec> specs,
                               LocalStore& local, Communicator& communicator, CollectiveRun& run)
    : options_(options),
      specs_(std::move(specs)),
      local_(local),
      communicator_(communicator),
      run_(run),
      whole_(specs_, local, communicator, run),
      interval_(options.interval),
      start_(specs_.size()),
      momentum_(specs_.size()) {
  if (options_.sparse) sparse_.emplace(*options_.sparse, specs_, communicator_, local_.cpu());
}

// Begins the first interval; all trainers have the same weights then.
void AveragingStore::begin() {
  if (begun_) return;
  begun_ = true;
  start_samples_ = local_.schedule().samples(), start_steps_ = local_.schedule().steps();
  for (size_t p = 0; p < specs_.size(); ++p) {
    const std::span<const float> weights = local_.whole(static_cast<int>(p));
    start_[p].assign(weights.begin(), weights.end());
    if (trains(p) && keeps_momentum(options_.outer)) momentum_[p].assign(weights.size(), 0.0f);
  }
}

// The interval begins before a pull, since layers change statistics before the push.
void AveragingStore::pull(std::span<const KeyPlan> plans, PullMode mode,
                          std::vector<ParameterView<float>>& views) {
  if (mode == PullMode::kTrain && !makes_whole_steps()) begin();
  local_.pull(plans, mode, views);
}

// The schedule counts the examples of all trainers.  Within an interval it assumes that every trainer had as
// many as this one.
void AveragingStore::push(std::span<const KeyPlan> plans, std::span<const ParameterView<float>> views,
                          const StepInfo& info) {
  if (makes_whole_steps()) return whole_.push(plans, views, info);
  own_.wishes.add(run_.wishes());
  local_.push(plans, views, info);
  ++own_.steps;
  own_.rates += local_.learning_rate();
  own_.samples += info.samples;
  own_.cost += info.cost;
  local_.schedule().set_progress(start_samples_ + own_.samples * communicator_.size(),
                                 start_steps_ + own_.steps);
  if (own_.steps == interval_.steps()) end_interval(info.pass);
}

void AveragingStore::end_pass(int64_t pass) {
  while (makes_whole_steps() ? whole_.join_step(pass) : join_interval(pass)) continue;
  local_.end_pass(pass);
}

bool AveragingStore::join_interval(int64_t pass) {
  begin();
  own_.wishes.add(run_.wishes());
  const bool others_go_on = end_interval(pass);
  if (others_go_on && run_.ends()) throw WaitStopped();
  return others_go_on;
}

// Brings the weights of all trainers together.  Returns false if no trainer had data; then nothing has moved.
//
// First the intervals of all are added up.  Then this trainer counts the steps that it has made fewer than
// the others, the weights and the state are averaged, and the schedule is set to the progress of all.  From
// the cost and the rate of all follows the length of the next interval.
bool AveragingStore::end_interval(int64_t pass) {
  const double begin = monotonic_seconds();
  const Interval all = gather_intervals();
  if (all.steps > 0) {
    count_idle_steps(local_.tables(), local_.learning_rate(), all.steps - own_.steps);
    const double rate = all.rates / static_cast<double>(all.steps_of_all);
    const float share = static_cast<float>(own_.samples) / static_cast<float>(all.samples);
    bring_together(share, static_cast<float>(rate));
    bring_state_together(share);
    start_samples_ += all.samples, start_steps_ += all.steps;
    local_.schedule().set_progress(start_samples_, start_steps_);
    interval_.next(all.cost / static_cast<double>(all.samples),
                   StepRule(local_.schedule()).next({.pass = pass}).learning_rate, start_steps_);
    whole_bytes_ += whole_.step_bytes() * static_cast<uint64_t>(all.steps);
  }
  own_ = {};
  exchange_seconds_ += monotonic_seconds() - begin;
  run_.end_step(all.wishes);
  return all.steps > 0;
}

// Adds up the intervals of all trainers.
//
//   interval := steps:i64 samples:i64 cost:f64 rates:f64 checkpoint:u8 end:u8
AveragingStore::Interval AveragingStore::gather_intervals() {
  std::string own;
  put(own, own_.steps);
  put(own, own_.samples);
  put(own, own_.cost);
  put(own, own_.rates);
  put(own, static_cast<uint8_t>(own_.wishes.checkpoint));
  put(own, static_cast<uint8_t>(own_.wishes.end));
  Interval all;
  // The sums run in rank order, so that all trainers get the same bits of cost and rates.
  for (const std::string& bytes : communicator_.gather(std::move(own))) {
    ByteReader in(bytes);
    const int64_t steps = in.get<int64_t>(), samples = in.get<int64_t>();
    const double cost = in.get<double>(), rates = in.get<double>();
    const bool checkpoint = in.get<uint8_t>() != 0, end = in.get<uint8_t>() != 0;
    if (!in.ok() || in.remaining() > 0 || steps < 0 || steps > interval_.steps() || samples < 0 ||
        samples > kMostIntervalSamples || !std::isfinite(rates)) {
      fail(Code::kCorrupt, "what a trainer says of its interval makes no sense: ", steps, " steps and ",
           samples, " examples");
    }
    all.steps = std::max(all.steps, steps);
    all.steps_of_all += steps;
    all.samples += samples;
    all.cost += cost;
    all.rates += rates;
    all.wishes.add({.checkpoint = checkpoint, .end = end});
  }
  return all;
}

// Replaces the weights by this trainer's weighted moves, adds these up over the trainers, and makes the outer
// step.  The moves lie in the memory of the weights.
void AveragingStore::bring_together(float share, float rate) {
  for (size_t p = 0; p < specs_.size(); ++p) {
    const std::span<float> weights = local_.whole(static_cast<int>(p));
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = share * (weights[i] - start_[p][i]);
  }
  exchange_moves();
  for (size_t p = 0; p < specs_.size(); ++p) {
    const std::span<float> weights = local_.whole(static_cast<int>(p));
    outer_step(trains(p) ? options_.outer : OuterOptions{}, rate, start_[p], momentum_[p], weights);
    std::ranges::copy(weights, start_[p].begin());
  }
}

// Exchanges the moves in the order of the model, so that all trainers exchange the same arrays.
void AveragingStore::exchange_moves() {
  std::vector<Elements> whole;
  std::vector<SparseMoves::Move> sparse;
  for (size_t p = 0; p < specs_.size(); ++p) {
    const std::span<float> moves = local_.whole(static_cast<int>(p));
    if (sparse_ && sparse_->compresses(p)) {
      sparse.push_back({p, moves});
    } else {
      whole.push_back(moves);
    }
  }
  all_reduce_fused(communicator_, whole);
  if (sparse_) sparse_->exchange(sparse);
}

// Averages the state of the optimizers, or makes it begin anew.
void AveragingStore::bring_state_together(float share) {
  for (size_t p = 0; p < specs_.size(); ++p) {
    if (!trains(p) || options_.optimizer_state == OptimizerStateRule::kLocal) continue;
    const int parameter = static_cast<int>(p);
    // Loading weights resets the optimizer's state, as if training began with them.
    if (options_.optimizer_state == OptimizerStateRule::kReset) {
      local_.load_all(parameter, start_[p].data());
      continue;
    }
    std::vector<float> state = copy_state(local_, parameter, specs_[p]);
    if (state.empty()) continue;
    for (float& value : state) value *= share;
    communicator_.all_reduce(std::span(state));
    put_state(local_, parameter, specs_[p], state);
  }
}

// state := begun:u8 interval ( momentum:f32[…] of outer steps   state:f32[…] of a local optimizer
//          )[parameters] rest
//
// with the rest that SparseMoves writes, if moves are sparse.
void AveragingStore::save(std::string& out) const {
  put(out, static_cast<uint8_t>(begun_));
  if (!begun_) return;
  interval_.save(out);
  for (size_t p = 0; p < specs_.size(); ++p) {
    put_array<float>(out, momentum_[p]);
    if (!trains(p) || options_.optimizer_state != OptimizerStateRule::kLocal) continue;
    put_array<float>(out, copy_state(local_, static_cast<int>(p), specs_[p]));
  }
  if (sparse_) sparse_->save(out);
}

// The restored weights are the same for all trainers; trainer 0 has written them.
void AveragingStore::load(ByteReader& in) {
  const uint8_t begun = in.get<uint8_t>();
  if (begun > 1 || (begun == 0 && local_.schedule().steps() > options_.begin_step)) {
    fail(Code::kCorrupt, "state of a trainer that trains by itself: it has not begun to");
  }
  if (begun != 0) {
    begin();
    interval_.load(in);
    for (size_t p = 0; p < specs_.size(); ++p) {
      in.get_array(std::span(momentum_[p]));
      if (!trains(p) || options_.optimizer_state != OptimizerStateRule::kLocal) continue;
      std::vector<float> state = copy_state(local_, static_cast<int>(p), specs_[p]);
      in.get_array(std::span(state));
      put_state(local_, static_cast<int>(p), specs_[p], state);
    }
    if (sparse_) sparse_->load(in);
  }
  if (!in.ok() || in.remaining() > 0)
    fail(Code::kCorrupt, "state of a trainer that trains by itself: a wrong length");
}

}  // namespace ps
