// RestOfPass: which data of a pass each rank trains.  Used by StepClock, which owns it; trainers ask for
// their work.
//
// A pass begins with every rank's own share.  When all present trainers have come to the end of their data,
// the rest is dealt: one strand that a lost trainer has left, or has never begun, is divided among them in
// turn, batch by batch.  This is repeated until nothing is left, and then the pass ends.  The shard counts
// the batches of a rank as they are applied, and a rank trains the batches of its strand in order.  So the
// shard knows at any moment which batches were trained, whichever trainer is lost.
#ifndef PS_PS_SERVER_REST_OF_PASS_H_
#define PS_PS_SERVER_REST_OF_PASS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "ps/wire/run_messages.h"
#include "store/data_strand.h"

namespace ps {

// One owner thread.
class RestOfPass {
 public:
  RestOfPass() = default;
  explicit RestOfPass(size_t num_trainers) { begin_pass(num_trainers); }

  // Gives every rank its own share.
  void begin_pass(size_t num_trainers);

  // Says that the rank has come to the end of its strand, or has more.
  void set_at_end(int rank, bool at_end) { dealt_[static_cast<size_t>(rank)].at_end = at_end; }
  bool at_end(int rank) const { return dealt_[static_cast<size_t>(rank)].at_end; }

  // To be called when all trainers have come to the end of their strands.  Queues what the ranks have left
  // that are not at the end, and deals the first strand of the queue to `takers`, which are in ascending
  // order.  `pass_batches` are the batches of each rank in this pass that were applied.
  void deal(std::span<const uint64_t> pass_batches, std::span<const int> takers);

  uint64_t dealings() const { return dealings_; }  // in this pass
  RankWork of(int rank) const;                     // without the number of the pass

  // For RunState after a dealing: save and load the strands that were dealt and those that wait. load returns
  // false if they make no sense.
  void save(std::string& out) const;
  bool load(ByteReader& in, size_t num_trainers);

 private:
  // The strand of a rank.
  struct Dealt {
    std::optional<DataStrand> strand;  // nothing: the rank waits for the others
    uint64_t done_before = 0;          // batches of the rank in this pass before its strand
    bool at_end = false;
  };

  void divide(const DataStrand& strand, std::span<const int> takers);

  std::vector<Dealt> dealt_;     // by rank
  std::deque<DataStrand> left_;  // strands that no rank has
  uint64_t dealings_ = 0;        // in this pass
};

}  // namespace ps

#endif  // PS_PS_SERVER_REST_OF_PASS_H_
