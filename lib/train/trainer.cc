#include "train/trainer.h"

#include <cmath>

#include "base/clock.h"
#include "base/error.h"
#include "train/prepare_ahead.h"

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
  return {{"pass", pass},
          {"batches", batches},
          {"samples", samples},
          {"avg_cost", average_cost},
          {"evaluators", evaluators},
          {"seconds", seconds}};
}

Json TestResult::json() const {
  return {{"samples", samples}, {"cost", cost}, {"evaluators", evaluators}, {"seconds", seconds}};
}

Trainer::Trainer(Network<float>& network, ParameterStore& store, ThreadPool& pool,
                 const TrainOptions& options, const Schedule& schedule, Reporter& reporter)
    : network_(network),
      store_(store),
      pool_(pool),
      options_(options),
      schedule_(schedule),
      reporter_(reporter) {}

PassResult Trainer::train_pass(int pass, BatchReader& reader, const std::function<bool()>& stop) {
  double start = monotonic_seconds();
  // Each batch is measured once: what is current is merged into the whole at every report.
  Measures whole(network_.make_evaluators()), current(network_.make_evaluators());
  PassResult result;
  result.pass = pass;
  reporter_.begin(cat("pass ", pass));
  reader.begin_pass(pass);
  PrepareAhead prepare(network_, reader, preparing_threads(), /*training=*/true, step_);
  while (const PreparedBatch* prepared = stop() ? nullptr : prepare.next(stop)) {
    double cost = train_batch(*prepared, pass);
    current.add(cost, network_.predictions(), prepared->batch);
    ++result.batches;
    reporter_.advance(whole.samples() + current.samples(), prepare.fraction_read());
    if (options_.log_period > 0 && result.batches % options_.log_period == 0) {
      whole.merge(current);
      reporter_.batch(pass, result.batches, whole, current, learning_rate_);
      current.reset();
    }
  }
  whole.merge(current);
  result.interrupted = stop();
  check_not_empty(whole.samples(), result.interrupted);
  result.samples = whole.samples();
  result.average_cost = whole.average_cost();
  result.evaluators = whole.json();
  result.seconds = monotonic_seconds() - start;
  reporter_.pass(pass, result.batches, whole, result.seconds);
  return result;
}

double Trainer::train_batch(const PreparedBatch& prepared, int pass) {
  store_.pull(prepared.plans, PullMode::kTrain, views_);
  double cost = forward(prepared);
  check_finite(cost, prepared);
  network_.backward();
  learning_rate_ = schedule_.rate({samples_, step_, pass});
  float scale = options_.gradient == "mean" ? 1.0f / static_cast<float>(prepared.batch.size()) : 1.0f;
  store_.push(prepared.plans, views_, scale, learning_rate_);
  samples_ += prepared.batch.size();
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
  PrepareAhead prepare(network_, reader, preparing_threads(), /*training=*/false, 0);
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
  PrepareAhead prepare(network_, reader, preparing_threads(), /*training=*/false, 0);
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
