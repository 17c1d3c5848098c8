// The requests of a trainer that saves a model, and their answers.  Used by RunControl and the election of savers.
#ifndef PS_MEMBERSHIP_SAVER_H_
#define PS_MEMBERSHIP_SAVER_H_

#include <cstdint>

namespace ps {

// The requests of a trainer that asks to save a model, or is saving one.  On the wire: never renumber.
enum class SaveStage : uint8_t {
  kBegin,   // may this trainer save?
  kAsked,   // may it save on a signal, which other trainers may have received too?
  kGoesOn,  // the trainer is still saving; sent every few seconds
  kDone,    // the model is complete
  kFailed,  // the save has failed
};

// The answer: the trainer that saves.
struct Saver {
  bool elected = false;  // the trainer that asked saves, or still does
  int rank = 0;          // rank of the trainer that is saving, or that saved last
};

}  // namespace ps

#endif  // PS_MEMBERSHIP_SAVER_H_
