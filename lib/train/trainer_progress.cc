#include "train/trainer_progress.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace ps {

TrainerProgress::TrainerProgress(const Network<float>& network, int64_t report_period)
    : network_(network), report_period_(report_period), whole_(network), current_(network) {}

// state := step:i64 pass:i64 batches:i64 whole current                  (whole, current: Measures)
void TrainerProgress::save(std::string& out) const {
  put(out, step_);
  put(out, static_cast<int64_t>(pass_));
  put(out, batches_);
  whole_.save(out);
  current_.save(out);
}

void TrainerProgress::load(ByteReader& in) {
  load_state(in);
  if (in.remaining() > 0) fail(Code::kCorrupt, "position of a trainer makes no sense");
}

// Reads step, pass, batches and both figures.  The numbers are checked before they are used, as they come
// from a file or from a server.
void TrainerProgress::load_state(ByteReader& in) {
  step_ = in.get<int64_t>();
  const int64_t pass = in.get<int64_t>();
  batches_ = in.get<int64_t>();
  whole_.load(in);
  current_.load(in);
  if (!in.ok() || step_ < 0 || pass < 0 || pass > INT32_MAX || batches_ < 0) {
    fail(Code::kCorrupt, "position of a trainer makes no sense");
  }
  pass_ = static_cast<int>(pass);
  if (report_is_due()) merge_current();  // the state was saved before the report of its last batch
  resumed_ = exact_ = true;
  skip_ = batches_;
}

// The rank goes on behind the batches that are trained already.  If the rest of the pass was dealt anew,
// the strand begins after the batches before_strand, so that only those after it are skipped.
void TrainerProgress::resume(const RunPosition& position, std::span<const std::string> states) {
  step_ = position.batches;
  pass_ = static_cast<int>(position.pass);
  batches_ = position.pass_batches;
  pass_over_ = position.pass_ended;
  skip_ = position.pass_batches - position.before_strand;
  resumed_ = true;
  restore_figures(states);
}

// figures := left_out:i64 state note:u8[...]          (left_out: number of batches before the measured ones)
void TrainerProgress::save_figures(std::string& out) const {
  put(out, left_out_);
  save(out);
  out += note_;
}

// Restores the figures of the pass that is resumed.  A state of this rank's earlier process replaces the own
// state, since it contains more than figures.  States of a run of other trainers, which dealt the batches
// differently, are merged.
void TrainerProgress::restore_figures(std::span<const std::string> states) {
  TrainerProgress other(network_, report_period_);
  for (const std::string& state : states) {
    ByteReader in(state);
    const int64_t left_out = in.get<int64_t>();
    other.load_state(in);
    if (other.pass_ != pass_) continue;
    counted_ = true;
    if (note_.empty()) note_ = in.get_bytes(in.remaining());
    const bool own = states.size() == 1 && (pass_over_ || left_out + other.batches_ == batches_);
    if (own) {
      left_out_ = std::max<int64_t>(0, left_out);
      batches_ = other.batches_;
      std::swap(whole_, other.whole_);
      std::swap(current_, other.current_);
      if (report_is_due() || pass_over_) merge_current();  // merges in the order of the undisturbed run
      batches_ += left_out_;                               // begin_figures subtracts them again
      return;
    }
    whole_.merge(other.whole_);
    whole_.merge(other.current_);
  }
}

CostTotals TrainerProgress::totals() const {
  CostTotals sum = whole_.totals();
  return sum += current_.totals();
}

void TrainerProgress::enter_pass(int pass) {
  if (resumed_) PS_CHECK(pass == pass_);
  pass_ = pass;
}

// A new pass begins with empty figures.  A resumed one keeps those that were restored; after a restart
// without figures, left_out_ is the number of batches that they do not cover, which batches_ then counts no
// more.
void TrainerProgress::begin_figures() {
  if (std::exchange(resumed_, false)) {
    if (exact_) return;
    if (!counted_) left_out_ = batches_;  // the figures cover only batches that are still to come
    batches_ -= left_out_;
    return;
  }
  batches_ = left_out_ = 0;
  whole_.reset();
  current_.reset();
}

void TrainerProgress::add(const BatchFigures& figures, const Batch& batch) {
  current_.add(figures, batch);
  ++batches_, ++step_;
}

void TrainerProgress::merge_current() {
  whole_.merge(current_);
  current_.reset();
}

void TrainerProgress::end_pass() {
  pass_over_ = false;
  ++pass_;
  batches_ = 0;
  whole_.reset();
}

}  // namespace ps
