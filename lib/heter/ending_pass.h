// EndingPass: the end of a pass at a reader that has no data left in it, while other readers may have some.  It
// counts the steps without data that the reader has announced to its compute trainer, and tells which steps it
// may push.  Used by ReaderAhead.
#ifndef PS_HETER_ENDING_PASS_H_
#define PS_HETER_ENDING_PASS_H_

#include <algorithm>
#include <cstdint>
#include <optional>

namespace ps {

// Steps are announced ahead of the pushes, and only the answers say whether some other reader has data for a
// step.  One owner thread.
class EndingPass {
 public:
  // This reader has no data from this step on.
  void begin(uint64_t first) { first_ = next_ = goes_on_until_ = first; }
  void end() { first_.reset(); }
  bool is_on() const { return first_.has_value(); }

  // Another compute trainer, or a restarted one, knows of no step from this one on, so all of them are
  // announced again.
  void tell_again_from(uint64_t step) {
    if (first_) next_ = std::max(*first_, step);
  }

  // next returns the next step to be announced to the compute trainer. advance returns it, and goes on to the
  // step after it.
  uint64_t next() const { return next_; }
  uint64_t advance() { return next_++; }

  // Notes that some reader has data for this step.
  void note_data(uint64_t step) { goes_on_until_ = std::max(goes_on_until_, step + 1); }

  // Returns true if all steps before this one are known to have data.  Then this step may be pushed, and the
  // pass does not end before it.
  bool reaches(uint64_t step) const { return step <= goes_on_until_; }

 private:
  std::optional<uint64_t> first_;  // first step without data; nullopt: the pass is not ending
  uint64_t next_ = 0, goes_on_until_ = 0;
};

}  // namespace ps

#endif  // PS_HETER_ENDING_PASS_H_
