// RestOfPass: which rank trains which data of a pass.  Used by StepClock, which owns it, and asked by trainers.
//
// A pass begins with every rank's own share.  When all trainers that are there have come to the end of what they have,
// the rest is dealt: one strand that a lost trainer has left, or has never begun, is divided among them, so that each has
// every so many of its batches.  This is repeated until nothing is left, and then the pass ends.  The batches of a rank
// are counted by the shard as they are applied, and a rank trains those of its strand in their order: so the shard knows
// what was trained, whoever is lost, at any moment.
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

  // Every rank has its own share.
  void begin_pass(size_t num_trainers);

  // The rank has come to the end of its strand, or has more.
  void set_at_end(int rank, bool at_end) { dealt_[static_cast<size_t>(rank)].at_end = at_end; }
  bool at_end(int rank) const { return dealt_[static_cast<size_t>(rank)].at_end; }

  // All have come so far: what ranks have left that are not at the end waits, and the first that waits is dealt to
  // `takers`, in ascending order.  `pass_batches` are those of each rank in this pass that were applied.
  void deal(std::span<const uint64_t> pass_batches, std::span<const int> takers);

  uint64_t dealings() const { return dealings_; }  // in this pass
  RankWork of(int rank) const;                     // but for its number of the pass

  // After a dealing: its strands and those that wait, for RunState.  load returns false when they make no sense.
  void save(std::string& out) const;
  bool load(ByteReader& in, size_t num_trainers);

 private:
  // The strand of a rank.
  struct Dealt {
    std::optional<DataStrand> strand;  // nothing: the rank waits for the others
    uint64_t done_before = 0;          // batches of the rank in this pass before those of the strand
    bool at_end = false;
  };

  void divide(const DataStrand& strand, std::span<const int> takers);

  std::vector<Dealt> dealt_;     // by rank
  std::deque<DataStrand> left_;  // that nobody has
  uint64_t dealings_ = 0;
};

}  // namespace ps

#endif  // PS_PS_SERVER_REST_OF_PASS_H_
