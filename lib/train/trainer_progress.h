// TrainerProgress: how far a trainer has come: step, pass, batches of the pass, and what these measured.  Goes into
// checkpoints, and is put back from them, so that a run goes on with the figures of an undisturbed one.  Used by
// Trainer, which owns one.
#ifndef PS_TRAIN_TRAINER_PROGRESS_H_
#define PS_TRAIN_TRAINER_PROGRESS_H_

#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"
#include "model/network.h"
#include "store/run_control.h"
#include "train/measures.h"

namespace ps {

// One owner thread.  The network, whose evaluators measure, outlives it.
class TrainerProgress {
 public:
  // A report is due after every `report_period` batches of a pass; 0: there are none.
  TrainerProgress(const Network<float>& network, int64_t report_period);

  int64_t step() const { return step_; }        // of training, over all passes
  int pass() const { return pass_; }            // that runs, or comes next
  int64_t batches() const { return batches_; }  // of the pass, trained on

  // The figures of the pass up to the last report, and those since then.
  Measures& whole() { return whole_; }
  Measures& current() { return current_; }
  int64_t samples() const { return whole_.samples() + current_.samples(); }
  CostTotals totals() const;  // of both

  // Writes step, pass, batches and figures.  After load, the next pass must be pass(), and leaves out exactly the
  // batches that were trained on.  load throws kCorrupt.
  void save(std::string& out) const;
  void load(ByteReader& in);

  // save_figures writes a state for resume(), in the midst of a step: the batch of the step counts.
  //
  // resume goes on at `position`, before its first pass.  Figures of that pass are of what was trained up to
  // `states`, which trainers have saved there, and of what is still to come.  Throws kCorrupt.
  void save_figures(std::string& out) const;
  void resume(const RunPosition& position, std::span<const std::string> states);

  bool resumed() const { return resumed_; }         // before the first pass
  bool pass_is_over() const { return pass_over_; }  // resumed in a pass of which nothing is left
  bool skips_exactly() const { return exact_; }     // by load: all that was trained on must be there again
  int64_t batches_to_skip() const { return resumed_ ? skip_ : 0; }

  // A pass begins: enter_pass before its data are opened, of which batches_to_skip() are left out, begin_figures
  // then.  The pass must be pass() in a run that was resumed.
  void enter_pass(int pass);
  void begin_figures();

  // A batch was trained on.
  // As Measures::add.
  void add(double cost, Matrix<const float> predictions, std::span<const float> log_losses,
           const Batch& batch);
  bool report_is_due() const { return report_period_ > 0 && batches_ % report_period_ == 0; }
  void merge_current();

  // The pass has ended, and the next one comes.
  void end_pass();

 private:
  void restore_figures(std::span<const std::string> states);

  const Network<float>& network_;
  const int64_t report_period_;
  int64_t step_ = 0;
  int pass_ = 0;
  int64_t batches_ = 0;
  int64_t skip_ = 0;  // of the data with which a resumed pass begins, trained already
  // Each batch is measured once: what is current is merged into the whole at every report.
  Measures whole_, current_;

  bool resumed_ = false, exact_ = false, pass_over_ = false;
  int64_t left_out_ = 0;  // of this pass, trained on before batches_, and not in the figures
  bool counted_ = false;  // resumed with the figures of the batches that were trained on
};

}  // namespace ps

#endif  // PS_TRAIN_TRAINER_PROGRESS_H_
