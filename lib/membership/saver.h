// The words in which a trainer asks to save a model, and the answer that it gets.  Used by trainers and by
// the two electors: SaveLease of the job's first shard, and EtcdElection.
#ifndef PS_MEMBERSHIP_SAVER_H_
#define PS_MEMBERSHIP_SAVER_H_

#include <cstdint>

namespace ps {

// What a trainer that would save a model, or saves one, asks.  On the wire: never renumber.
enum class SaveStage : uint8_t {
  kBegin,   // may it?
  kAsked,   // may it, as a signal asks, which others may have got too?
  kGoesOn,  // it still saves: to be asked every few seconds
  kDone,    // the model is whole
  kFailed,  // it will not be
};

// Who saves.
struct Saver {
  bool elected = false;  // whoever asked; it still is
  int rank = 0;          // of whoever saves, or did last
};

}  // namespace ps

#endif  // PS_MEMBERSHIP_SAVER_H_
