// Trainer: the training loop, written once against ParameterStore: read, plan, pull, forward, backward, push.
// Used by the run of a job.
#ifndef PS_TRAIN_TRAINER_H_
#define PS_TRAIN_TRAINER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/json.h"
#include "feed/batch_source.h"
#include "math/device.h"
#include "model/computation.h"
#include "model/network.h"
#include "store/parameter_store.h"
#include "store/trainer_group.h"
#include "train/measures.h"
#include "train/options.h"
#include "train/pass_times.h"
#include "train/reporter.h"
#include "train/trainer_progress.h"

namespace ps {

struct PassResult {
  int pass = 0;
  int64_t batches = 0, samples = 0;
  double average_cost = 0;
  Json evaluators;
  Json times;  // times of this trainer: PassTimes
  bool interrupted = false;

  Json json() const;  // pass, batches, samples, avg_cost, evaluators, times
};

struct TestResult {
  int64_t samples = 0;
  double cost = 0, seconds = 0;
  Json evaluators;

  Json json() const;  // samples, cost, evaluators, seconds
};

// The measures of the weights on some data, and the time that they took.
struct TestMeasures {
  Measures measures;
  double seconds = 0;

  TestResult result() const;
};

// One owner thread.  Its arguments outlive it, and no other code uses them meanwhile.
class Trainer {
 public:
  Trainer(Network<float>& network, ParameterStore& store, Device& device, const TrainOptions& options,
          TrainerGroup& group, Reporter& reporter);

  // Before the first pass a run may continue from the state of another process: TrainerProgress::load and
  // resume.
  TrainerProgress& progress() { return progress_; }
  const TrainerProgress& progress() const { return progress_; }

  // `asked` is called once a step.  If it returns true, all servers apply the row policies of tables to their
  // rows after that step.
  void on_shrink_request(std::function<bool()> asked) { shrink_asked_ = std::move(asked); }

  // Trains on all data that `source` and the sources after it give, or until `stop` returns true after a batch,
  // and waits for the other trainers.  The result covers the examples of all.  Passes must come in order from
  // 0, or from the one that is resumed.
  PassResult train_pass(int pass, BatchSource& source, const std::function<bool()>& stop);

  // Sets the computation of training batches, in place of the network here.
  void compute_with(Computation& computation) { computation_ = &computation; }

  // `after_batch` is called after each batch, and with true after `stop` has ended a pass early.  At these
  // times progress().save() writes the complete state.
  void on_batch(std::function<void(bool stopping)> after_batch) { after_batch_ = std::move(after_batch); }

  // `next` is called when the trainer has trained all its data of a pass.  It returns more data, which lost
  // trainers have left, or null to end the pass.  Throws WaitStopped.
  void on_source_end(std::function<BatchSource*(int pass)> next) { next_source_ = std::move(next); }

  // `before_end` is called before the trainer ends its part of a pass.
  void on_pass_end(std::function<void()> before_end) { before_pass_end_ = std::move(before_end); }

  // Each of several trainers gives the text give(pass) to all, together with its figures of the pass, so that
  // there is no gathering beyond that of figures.  give is called when the weights of the pass are final; `take`
  // gets the texts in rank order; those of trainers that are gone are missing.
  struct PassTexts {
    std::function<std::string(int pass)> give;
    std::function<void(std::span<const std::optional<std::string>>)> take;
  };
  void share_at_pass_end(PassTexts texts) { pass_texts_ = std::move(texts); }

  // `see` gets all that measure() gives to the evaluators, batch by batch.
  using SeeMeasured = std::function<void(Matrix<const float> predictions, std::span<const float> log_losses,
                                         const Batch& batch)>;
  void on_measured(SeeMeasured see) { see_measured_ = std::move(see); }

  // Measures the current weights.  Throws kData if the cost of a batch is not finite.
  TestMeasures measure(BatchSource& source, const std::function<bool()>& stop);

  // Reports what was measured. -1 for the pass means that no training ran.
  void report_test(int pass, const TestMeasures& measured, const std::string& data);

  // Measures the current weights, and reports that.
  TestResult test(int pass, BatchSource& source, const std::function<bool()>& stop,
                  const std::string& data = "Test");

  // Appends the text of a row of predictions.
  using AppendPredictions = std::function<void(std::span<const float> predictions, std::string& out)>;

  // Calls `write` with lines of text, one for each example in the order of the input.  `append` makes the text
  // of a line; without it, a line has the C predictions, separated by spaces, each in the shortest decimals
  // that read back the same.  Labels are not read, unless predictions are costs.  Returns the number of
  // examples.  Throws kData if a prediction is not finite.
  int64_t predict(BatchSource& source, const std::function<bool()>& stop,
                  const std::function<void(std::string_view)>& write,
                  const AppendPredictions& append = nullptr);

 private:
  void begin_pass(int pass, BatchSource& source, const std::function<bool()>& stop);
  void begin_source(BatchSource& source, const std::function<bool()>& stop);
  bool train_batches(BatchSource& source, PassTimes& times, const std::function<bool()>& stop);
  bool train_rest(PassTimes& times, const std::function<bool()>& stop);
  template <class Evaluate>
  void evaluate_pass(BatchSource& source, const std::function<bool()>& stop, Evaluate&& evaluate);
  bool end_with_others(PassResult& result, PassTimes& times);
  void tell_store(const PreparedBatch& present, BatchSource& source);
  bool try_train_batch(const PreparedBatch& prepared, BatchSource& source, PullTicket& begun);
  void train_batch(const PreparedBatch& prepared, const PreparedBatch* next, PullTicket& begun);
  StepInfo compute_batch(const PreparedBatch& prepared);
  void report_batches(PassTimes& times);
  void merge_group(PassResult& result, PassTimes& times);
  double evaluate_batch(const PreparedBatch& prepared);
  void predict_batch(const PreparedBatch& prepared);
  double forward(const PreparedBatch& prepared);
  void backward(const PreparedBatch& prepared);

  Network<float>& network_;
  ParameterStore& store_;
  Device& device_;
  Computation* computation_ = nullptr;  // null: the network computes
  TrainerGroup& group_;
  Reporter& reporter_;

  std::function<bool()> shrink_asked_ = [] { return false; };
  std::function<void(bool)> after_batch_ = [](bool) {};
  std::function<BatchSource*(int)> next_source_ = [](int) { return nullptr; };
  std::function<void()> before_pass_end_ = [] {};
  SeeMeasured see_measured_;  // empty: nobody sees them
  PassTexts pass_texts_ = {[](int) { return std::string(); },
                           [](std::span<const std::optional<std::string>>) {}};
  TrainerProgress progress_;
  size_t looked_ahead_ = 0;  // number of batches, from the current one on, that the store knows
  std::vector<ParameterView<float>> views_;
};

}  // namespace ps

#endif  // PS_TRAIN_TRAINER_H_
