#include "train/trainer.h"

#include <cmath>

#include "base/clock.h"
#include "base/error.h"

namespace ps {

namespace {

// A diverged run says where, instead of training on NaN to the end.
void check_finite(double cost, const PreparedBatch& prepared) {
  if (std::isfinite(cost)) return;
  fail(Code::kData, "cost of batch ", prepared.step, " is ", cost,
       ": training has diverged; try a smaller learning rate, clipping, or a look at the values of the data");
}

void check_not_empty(int64_t samples, bool stopped) {
  if (samples == 0 && !stopped) fail(Code::kData, "there is no example in the data");
}

}  // namespace

Json PassResult::json() const {
  Json result = {{"pass", pass},
                 {"batches", batches},
                 {"samples", samples},
                 {"avg_cost", average_cost},
                 {"evaluators", evaluators}};
  result.update(times);
  return result;
}

Json TestResult::json() const {
  return {{"samples", samples}, {"cost", cost}, {"evaluators", evaluators}, {"seconds", seconds}};
}

Trainer::Trainer(Network<float>& network, ParameterStore& store, ThreadPool& pool,
                 const TrainOptions& options, Group& group, Reporter& reporter)
    : network_(network), store_(store), pool_(pool), options_(options), group_(group), reporter_(reporter) {}

void Trainer::resume(const RunPosition& position) {
  start_ = position;
  step_ = position.batches;
}

// As many as compute: reading and planning take as long as what the loop itself does with narrow rows.  A
// single thread does all by itself, unless there is something to wait for.
int Trainer::preparing_threads(const BatchReader& reader) const {
  const bool alone = pool_.threads() == 1 && !reader.may_wait() && !store_.may_wait();
  return alone ? 0 : pool_.threads();
}

PassResult Trainer::train_pass(int pass, BatchReader& reader, const std::function<bool()>& stop) {
  PassTimes times(store_);
  Measures whole(network_.make_evaluators());
  PassResult result;
  result.pass = pass;
  reporter_.begin(cat("pass ", pass));
  const bool resumed = start_.resumed && pass == start_.pass;
  const bool ended = resumed && start_.pass_ended;
  if (!ended) {
    reader.begin_pass(pass);
    if (resumed) skip_trained(reader, stop);
    PrepareAhead prepare(network_, reader, preparing_threads(reader), /*training=*/true,
                         {step_ * group_.size() + group_.rank(), group_.size()});
    train_batches(prepare, result, whole, times, stop);
  }
  result.interrupted = stop();
  if (!result.interrupted) {
    if (!ended) store_.end_pass(pass);
    merge_group(result, whole);
  }
  check_not_empty(whole.samples(), result.interrupted || resumed);
  result.samples = whole.samples();
  result.average_cost = whole.average_cost();
  result.evaluators = whole.json();
  result.times = times.json();
  reporter_.pass(pass, result.batches, whole, result.times);
  return result;
}

void Trainer::train_batches(PrepareAhead& prepare, PassResult& result, Measures& whole, PassTimes& times,
                            const std::function<bool()>& stop) {
  // Each batch is measured once: what is current is merged into the whole at every report.
  Measures current(network_.make_evaluators());
  auto next = [&] { return times.reading([&] { return prepare.next(stop); }); };
  while (const PreparedBatch* prepared = stop() ? nullptr : next()) {
    double cost = train_batch(*prepared, prepare.peek(), result.pass);
    current.add(cost, network_.predictions(), prepared->batch);
    ++result.batches;
    reporter_.advance(whole.samples() + current.samples(), prepare.fraction_read());
    if (options_.log_period > 0 && result.batches % options_.log_period == 0) {
      whole.merge(current);
      reporter_.batch(result.pass, result.batches, whole, current, store_.learning_rate(), times);
      current.reset();
    }
  }
  whole.merge(current);
}

// Batches are the same whoever reads them.
void Trainer::skip_trained(BatchReader& reader, const std::function<bool()>& stop) {
  Batch batch;
  for (int64_t b = 0; b < start_.pass_batches && !stop(); ++b) {
    if (!reader.next(batch)) return;
  }
}

// Makes the figures of this trainer those of all: merged in rank order, so that every rank has the same.
void Trainer::merge_group(PassResult& result, Measures& whole) {
  if (group_.size() == 1) return;
  std::string state;
  put(state, result.batches);
  whole.save(state);
  Measures other(network_.make_evaluators());
  result.batches = 0;
  whole.reset();
  for (const std::string& bytes : group_.gather(std::move(state))) {
    if (bytes.empty()) continue;  // of one that is not there any more
    ByteReader in(bytes);
    result.batches += in.get<int64_t>();
    other.load(in);
    whole.merge(other);
  }
}

// `next` is the batch after this one, when it is ready.
double Trainer::train_batch(const PreparedBatch& prepared, const PreparedBatch* next, int pass) {
  store_.pull(prepared.plans, PullMode::kTrain, views_);
  if (next != nullptr) store_.begin_pull(next->plans);
  double cost = forward(prepared);
  check_finite(cost, prepared);
  network_.backward();
  store_.push(prepared.plans, views_, {prepared.batch.size(), pass, shrink_asked_()});
  ++step_;
  return cost;
}

// Messages about labels and ids count examples from the beginning of their batch.
double Trainer::forward(const PreparedBatch& prepared) {
  try {
    return network_.forward(prepared, views_, pool_);
  } catch (const Error& error) {
    throw error.within(cat("batch ", prepared.step));
  }
}

double Trainer::evaluate_batch(const PreparedBatch& prepared) {
  store_.pull(prepared.plans, PullMode::kRead, views_);
  return forward(prepared);
}

TestResult Trainer::test(int pass, BatchReader& reader, const std::function<bool()>& stop) {
  double start = monotonic_seconds();
  Measures measures(network_.make_evaluators());
  reporter_.begin("test");
  reader.begin_pass(0);
  PrepareAhead prepare(network_, reader, preparing_threads(reader), /*training=*/false);
  while (const PreparedBatch* prepared = stop() ? nullptr : prepare.next(stop)) {
    double cost = evaluate_batch(*prepared);
    measures.add(cost, network_.predictions(), prepared->batch);
    reporter_.advance(measures.samples(), prepare.fraction_read());
  }
  check_not_empty(measures.samples(), stop());
  TestResult result{measures.samples(), measures.average_cost(), monotonic_seconds() - start,
                    measures.json()};
  reporter_.test(pass, measures, result.seconds);
  return result;
}

int64_t Trainer::predict(BatchReader& reader, const std::function<bool()>& stop,
                         const std::function<void(std::string_view)>& write) {
  int64_t samples = 0;
  std::string lines;
  reader.begin_pass(0);
  PrepareAhead prepare(network_, reader, preparing_threads(reader), /*training=*/false);
  while (const PreparedBatch* prepared = stop() ? nullptr : prepare.next(stop)) {
    evaluate_batch(*prepared);
    Matrix<const float> predictions = network_.predictions();
    lines.clear();
    for (int64_t b = 0; b < predictions.rows; ++b) {
      for (int64_t c = 0; c < predictions.cols; ++c) {
        if (c > 0) lines += ' ';
        append(lines, predictions.row(b)[c]);
      }
      lines += '\n';
    }
    write(lines);
    samples += prepared->batch.size();
  }
  return samples;
}

}  // namespace ps
