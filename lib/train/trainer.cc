#include "train/trainer.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/diverged.h"
#include "base/error.h"
#include "base/wait_stopped.h"
#include "config/json.h"
#include "math/finite.h"
#include "train/figure.h"

namespace ps {

namespace {

constexpr int64_t kReportPeriod = 100;  // batches between reports, unless the job gives another number

// Throws Diverged at the first batch whose cost is not finite, so that a diverged run does not train on NaN to the
// end.
void check_finite(double cost, const PreparedBatch& prepared) {
  if (std::isfinite(cost)) return;
  throw Diverged(cat(
      "cost of batch ", prepared.step, " is ", cost,
      ": training has diverged; try a smaller learning rate, clipping, or a look at the values of the data"));
}

// Throws Diverged if the model gives a number that is not finite for data on which it is not trained.
void check_model_finite(bool finite, const PreparedBatch& prepared) {
  if (finite) return;
  throw Diverged(cat("batch ", prepared.step,
                     ": what the model makes of it is not finite: the model has diverged in training, or the "
                     "values of the data are beyond it"));
}

void check_not_empty(int64_t samples, bool stopped) {
  if (samples == 0 && !stopped) fail(Code::kData, "there is no example in the data");
}

void append_numbers(std::span<const float> predictions, std::string& out) {
  for (size_t c = 0; c < predictions.size(); ++c) {
    if (c > 0) out += ' ';
    append(out, predictions[c]);
  }
}

}  // namespace

Json PassResult::json() const {
  Json result = {{"pass", pass},
                 {"batches", batches},
                 {"samples", samples},
                 {"avg_cost", figure_json(average_cost)},
                 {"evaluators", evaluators}};
  result.update(times);
  return result;
}

Json TestResult::json() const {
  return {
      {"samples", samples}, {"cost", figure_json(cost)}, {"evaluators", evaluators}, {"seconds", seconds}};
}

TestResult TestMeasures::result() const {
  return {measures.samples(), measures.average_cost(), seconds, measures.json()};
}

Trainer::Trainer(Network<float>& network, ParameterStore& store, Device& device, const TrainOptions& options,
                 TrainerGroup& group, Reporter& reporter)
    : network_(network),
      store_(store),
      device_(device),
      group_(group),
      reporter_(reporter),
      progress_(network, options.log_period.value_or(kReportPeriod)) {
  store_.on_step_without_data(
      [this](std::span<const ParameterView<float>> views) { network_.compute_for_others(views, device_); });
}

// The figures begin after the source, which skips batches whose figures were restored.  A pass that was
// resumed at its end has no data, and is only ended.
void Trainer::begin_pass(int pass, BatchSource& source, const std::function<bool()>& stop) {
  progress_.enter_pass(pass);
  if (!progress_.pass_is_over()) begin_source(source, stop);
  progress_.begin_figures();
  reporter_.begin_costs(progress_.totals());
}

// Begins a pass of the source, without the batches that were trained before this process came.  Steps are
// numbered over all trainers, step * size + rank, so that no two trainers draw the same random numbers for
// a batch.  After a checkpoint of this process exactly the same batches must be skipped; data that end
// earlier are other data.
void Trainer::begin_source(BatchSource& source, const std::function<bool()>& stop) {
  const int64_t skip = progress_.batches_to_skip();
  const int64_t skipped =
      source.begin_pass({.pass = progress_.pass(),
                         .skip = skip,
                         .training = true,
                         .key_order = store_.key_order(),
                         .steps = {progress_.step() * group_.size() + group_.rank(), group_.size()}},
                        stop);
  if (!progress_.skips_exactly() || skipped == skip || stop()) return;
  fail(Code::kUsage, "the data have ", skipped, " batches, but ", skip,
       " were trained on before the checkpoint: they are other data");
}

// Trains the trainer's own data, then the data that lost trainers have left, and then ends the pass together
// with the others, whose figures are merged.  The pass is reported even if it is interrupted.
PassResult Trainer::train_pass(int pass, BatchSource& source, const std::function<bool()>& stop) {
  PassTimes times(store_);
  reporter_.begin(cat("pass ", pass));
  const bool resumed = progress_.resumed();
  begin_pass(pass, source, stop);
  const bool own_data = progress_.pass_is_over() || train_batches(source, times, stop);
  PassResult result;
  result.pass = pass;
  const bool whole_pass = own_data && train_rest(times, stop);
  result.batches = progress_.batches();
  result.interrupted = stop() || !whole_pass || !end_with_others(result, times);
  const Measures& whole = progress_.whole();
  check_not_empty(whole.samples(), result.interrupted || resumed);
  result.samples = whole.samples();
  result.average_cost = whole.average_cost();
  result.evaluators = whole.json();
  result.times = times.json();
  reporter_.pass(pass, result.batches, whole, result.times);
  if (result.interrupted) return result;
  progress_.end_pass();
  return result;
}

// Trains on the data that lost trainers have left, as long as next_source_ gives some.  Returns false if this
// process is to end before the others have come to that point.
bool Trainer::train_rest(PassTimes& times, const std::function<bool()>& stop) {
  try {
    while (!progress_.pass_is_over() && !stop()) {
      BatchSource* const source = next_source_(progress_.pass());
      if (source == nullptr) return true;
      begin_source(*source, stop);
      if (!train_batches(*source, times, stop)) return false;
    }
    return true;
  } catch (const WaitStopped&) {
    return false;
  }
}

// Ends the pass together with the other trainers.  Returns false if this process is to end before the others
// have ended the pass.
bool Trainer::end_with_others(PassResult& result, PassTimes& times) {
  try {
    if (!progress_.pass_is_over()) {
      before_pass_end_();
      store_.end_pass(result.pass);
    }
    merge_group(result, times);
    return true;
  } catch (const WaitStopped&) {
    return false;
  }
}

// Trains all batches of the source.  `begun` carries the pull of the next batch from one round to the next,
// since the store fetches its rows while the present batch is computed.  The figures since the last report
// are merged at the end, so that none are lost when a pass ends between two reports.
//
// Returns false if this process is to end and the others do not come to one of the batches.  The store may then be in the
// middle of a step, so that this process cannot end the pass together with the others either.
bool Trainer::train_batches(BatchSource& source, PassTimes& times, const std::function<bool()>& stop) {
  auto next = [&] { return times.reading([&] { return source.next(stop); }); };
  PullTicket begun;  // the pull of the next batch
  looked_ahead_ = 0;
  bool all_came = true;
  while (const PreparedBatch* prepared = stop() ? nullptr : next()) {
    all_came = try_train_batch(*prepared, source, begun);
    if (!all_came) break;
    looked_ahead_ -= std::min<size_t>(looked_ahead_, 1);
    reporter_.advance(progress_.samples(), source.fraction_read());
    reporter_.costs(progress_.pass(), progress_.totals());
    if (progress_.report_is_due()) report_batches(times);
    after_batch_(/*stopping=*/false);
  }
  if (stop()) after_batch_(/*stopping=*/true);
  progress_.merge_current();
  source.end_pass();
  return all_came;
}

void Trainer::report_batches(PassTimes& times) {
  progress_.whole().merge(progress_.current());
  reporter_.batch(progress_.pass(), progress_.batches(), progress_.whole(), progress_.current(),
                  store_.learning_rate(), times);
  progress_.current().reset();
}

// Tells a store that looks ahead about the current batch, and about those after it that are ready; and about the end of
// the pass, as soon as that is within its sight.
void Trainer::tell_store(const PreparedBatch& present, BatchSource& source) {
  const size_t ahead = store_.looks_ahead();
  if (ahead == 0) return;
  for (; looked_ahead_ <= ahead; ++looked_ahead_) {
    const PreparedBatch* batch = looked_ahead_ == 0 ? &present : source.peek(looked_ahead_);
    if (batch == nullptr) {
      if (source.ends_within(looked_ahead_)) store_.end_looking_ahead();
      return;
    }
    store_.look_ahead(batch->plans);
    if (computation_ != nullptr) computation_->expect_batch(*batch);
  }
}

// Replaces the figures of this trainer by those of all, merged in rank order, so that every rank has the same
// figures.
//
//   state := batches:i64 measures text:u8[…]
void Trainer::merge_group(PassResult& result, PassTimes& times) {
  if (group_.size() == 1) return;
  const std::string text = times.leaving_out([&] { return pass_texts_.give(result.pass); });
  std::string state;
  put(state, result.batches);
  Measures& whole = progress_.whole();
  whole.save(state);
  state += text;
  const std::vector<std::string> states = group_.gather(std::move(state));
  Measures other(network_);
  std::vector<std::optional<std::string>> texts(states.size());
  result.batches = 0;
  whole.reset();
  for (size_t rank = 0; rank < states.size(); ++rank) {
    if (states[rank].empty()) continue;  // this trainer is gone
    ByteReader in(states[rank]);
    result.batches += in.get<int64_t>();
    other.load(in);
    whole.merge(other);
    texts[rank].emplace(in.get_bytes(in.remaining()));
  }
  pass_texts_.take(texts);
}

// Trains a batch.  Returns false if this process is to end and the others do not come to this batch.
bool Trainer::try_train_batch(const PreparedBatch& prepared, BatchSource& source, PullTicket& begun) {
  try {
    tell_store(prepared, source);
    train_batch(prepared, source.peek(1), begun);
    return true;
  } catch (const WaitStopped&) {
    return false;
  }
}

// `next` is the batch after this one, if it is ready.  `begun` is the pull of this batch, if there is one, and
// becomes that of the next.  The batch is measured before it is pushed, so that a checkpoint of servers has
// both or neither.
void Trainer::train_batch(const PreparedBatch& prepared, const PreparedBatch* next, PullTicket& begun) {
  if (begun) {
    store_.finish_pull(begun, prepared.plans, views_);
  } else {
    store_.pull(prepared.plans, PullMode::kTrain, views_);
  }
  begun = next == nullptr ? PullTicket{} : store_.begin_pull(next->plans);
  StepInfo info;
  store_.run_beside([&] { info = compute_batch(prepared); });
  store_.push(prepared.plans, views_, info);
}

// Computes the gradients beside the weights, and tells the store which are final.  Returns the information that
// goes with their push.
StepInfo Trainer::compute_batch(const PreparedBatch& prepared) {
  const double cost = computation_ != nullptr ? computation_->run(prepared, views_) : forward(prepared);
  check_finite(cost, prepared);
  progress_.add(computation_ != nullptr ? computation_->figures() : network_.figures(FiguresFor::kEvaluators),
                prepared.batch);
  const StepInfo info{prepared.batch.size(), progress_.pass(), shrink_asked_(), cost};
  store_.begin_push(prepared.plans, views_, info);
  backward(prepared);
  return info;
}

void Trainer::backward(const PreparedBatch& prepared) {
  const OnFinalGradient on_final = [this](size_t parameter) { store_.final_gradient(parameter); };
  if (computation_ != nullptr) return computation_->finish_gradients(prepared, views_, on_final);
  network_.backward(on_final);
}

// Adds the number of the batch to errors, since messages about labels and ids count examples from the beginning
// of their batch.
double Trainer::forward(const PreparedBatch& prepared) {
  try {
    return network_.forward(prepared, views_, device_);
  } catch (const Error& error) {
    throw error.within(cat("batch ", prepared.step));
  }
}

double Trainer::evaluate_batch(const PreparedBatch& prepared) {
  store_.pull(prepared.plans, PullMode::kRead, views_);
  return forward(prepared);
}

void Trainer::predict_batch(const PreparedBatch& prepared) {
  if (network_.predicts_costs()) return void(evaluate_batch(prepared));
  store_.pull(prepared.plans, PullMode::kRead, views_);
  network_.predict(prepared, views_, device_);
}

// Calls evaluate(prepared) for each batch of a pass that does not change the weights.
template <class Evaluate>
void Trainer::evaluate_pass(BatchSource& source, const std::function<bool()>& stop, Evaluate&& evaluate) {
  source.begin_pass({.key_order = store_.key_order()}, stop);
  while (const PreparedBatch* prepared = stop() ? nullptr : source.next(stop)) evaluate(*prepared);
  source.end_pass();
}

// Measures every batch with the weights of PullMode::kRead, which are averaged ones if the job averages.  A
// cost that is not finite ends it at once, with the number of its batch.
TestMeasures Trainer::measure(BatchSource& source, const std::function<bool()>& stop) {
  double start = monotonic_seconds();
  Measures measures(network_);
  reporter_.begin("test");
  evaluate_pass(source, stop, [&](const PreparedBatch& prepared) {
    double cost = evaluate_batch(prepared);
    check_model_finite(std::isfinite(cost), prepared);
    measures.add(network_.figures(FiguresFor::kEvaluators), prepared.batch);
    if (see_measured_) see_measured_(network_.predictions(), network_.log_losses(), prepared.batch);
    reporter_.advance(measures.samples(), source.fraction_read());
  });
  check_not_empty(measures.samples(), stop());
  return {std::move(measures), monotonic_seconds() - start};
}

void Trainer::report_test(int pass, const TestMeasures& measured, const std::string& data) {
  reporter_.test(pass, measured.measures, measured.seconds, data);
}

TestResult Trainer::test(int pass, BatchSource& source, const std::function<bool()>& stop,
                         const std::string& data) {
  const TestMeasures measured = measure(source, stop);
  report_test(pass, measured, data);
  return measured.result();
}

// Collects the lines of a batch in `lines` and writes them together.  Nothing of a batch is written before
// all of its predictions are known to be finite.
int64_t Trainer::predict(BatchSource& source, const std::function<bool()>& stop,
                         const std::function<void(std::string_view)>& write,
                         const AppendPredictions& append) {
  const AppendPredictions row = append ? append : AppendPredictions(append_numbers);
  int64_t samples = 0;
  std::string lines;
  evaluate_pass(source, stop, [&](const PreparedBatch& prepared) {
    predict_batch(prepared);
    Matrix<const float> predictions = network_.predictions();
    check_model_finite(all_finite(predictions.data, predictions.size()), prepared);
    lines.clear();
    for (int64_t b = 0; b < predictions.rows; ++b) {
      row({predictions.row(b), static_cast<size_t>(predictions.cols)}, lines);
      lines += '\n';
    }
    write(lines);
    samples += prepared.batch.size();
  });
  return samples;
}

}  // namespace ps
