// TrainerProgress: the position of a trainer, which is step, pass and batches of the pass, and the measures of
// the pass.  It is saved in checkpoints and restored from them, so that a run goes on with the figures of an
// undisturbed one.  Used by Trainer, which owns one.
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

// One owner thread.  The network, which makes the evaluators, outlives it.
class TrainerProgress {
 public:
  // A report is due after every `report_period` batches of a pass; 0: never.
  TrainerProgress(const Network<float>& network, int64_t report_period);

  int64_t step() const { return step_; }        // steps of training, over all passes
  int pass() const { return pass_; }            // the current or the next pass
  int64_t batches() const { return batches_; }  // batches of the pass that were trained on

  // The figures of the pass up to the last report, and since then.
  Measures& whole() { return whole_; }
  Measures& current() { return current_; }
  int64_t samples() const { return whole_.samples() + current_.samples(); }
  CostTotals totals() const;  // sum of both

  // save writes step, pass, batches and figures.  After load, the next pass must be pass(), and must leave out
  // exactly the batches that were trained on. load throws kCorrupt.
  void save(std::string& out) const;
  void load(ByteReader& in);

  // save_figures writes a state for resume() in the middle of a step, whose batch is counted.
  //
  // resume continues at `position`, before its first pass.  The figures of that pass cover the batches up to
  // `states`, which trainers have saved there, and those that are still to come.  Throws kCorrupt.
  void save_figures(std::string& out) const;
  void resume(const RunPosition& position, std::span<const std::string> states);

  // A text of the run about the passes that have ended, which is saved with the figures, and is there again after
  // resume(); empty: there is none.
  const std::string& note() const { return note_; }
  void set_note(std::string note) { note_ = std::move(note); }

  bool resumed() const { return resumed_; }         // true before the first pass after load or resume
  bool pass_is_over() const { return pass_over_; }  // resumed in a pass that has no data left
  bool skips_exactly() const { return exact_; }     // after load: the same batches must be in the data again
  int64_t batches_to_skip() const { return resumed_ ? skip_ : 0; }

  // Begin a pass: enter_pass is called before its data are opened, without the first batches_to_skip() batches,
  // and begin_figures after that.  In a resumed run the first pass must be pass().
  void enter_pass(int pass);
  void begin_figures();

  // Adds the measures of a batch that was trained on, as Measures::add does.
  void add(const BatchFigures& figures, const Batch& batch);
  bool report_is_due() const { return report_period_ > 0 && batches_ % report_period_ == 0; }
  void merge_current();

  // Ends the pass; the next one follows.
  void end_pass();

 private:
  void load_state(ByteReader& in);
  void restore_figures(std::span<const std::string> states);

  const Network<float>& network_;
  const int64_t report_period_;
  int64_t step_ = 0;
  int pass_ = 0;
  int64_t batches_ = 0;
  int64_t skip_ = 0;  // batches at the beginning of a resumed pass that were trained already
  // Each batch is measured once: current_ is merged into whole_ at every report.
  Measures whole_, current_;

  bool resumed_ = false, exact_ = false, pass_over_ = false;
  int64_t left_out_ = 0;  // batches of this pass before batches_, which are not in the figures
  std::string note_;
  bool counted_ = false;  // resumed with the figures of earlier batches
};

}  // namespace ps

#endif  // PS_TRAIN_TRAINER_PROGRESS_H_
