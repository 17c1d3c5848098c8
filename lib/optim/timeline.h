// Timeline: all steps of one parameter so far, kept so that the effect of any stretch of them on a weight
// with zero gradient is found in O(log steps).  This is what makes sparse training give what dense training
// gives under any learning-rate schedule, momentum, L1 and L2.
//
// Steps are cut into leaves of 64.  Over the leaves stands a binary tree of composed maps: block i of level l
// is the IdleMap of steps [64 i 2^l, 64 (i + 1) 2^l).  A stretch is at most 63 single steps at each end and
// two blocks a level between.  Equal neighbours on a level are stored once, so that a constant rate costs
// nothing; a rate that changes at every step costs about 12 bytes a step.
#ifndef PS_OPTIM_TIMELINE_H_
#define PS_OPTIM_TIMELINE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "optim/idle_map.h"

namespace ps {

// append is the owner's; the rest may run on any threads, but not while append runs.
class Timeline {
 public:
  // `sums`: the sums of weights over steps will be asked for.
  Timeline(const IdleRule& rule, bool sums);

  // Adds the next step.  Throws kUsage when rate and l2 are so large that decay would turn the weight's sign.
  void append(double rate);

  // The rates of all steps, for checkpoints.  load appends them to a timeline without steps: `steps` of them,
  // else it throws kCorrupt.
  void save(std::string& out) const;
  void load(ByteReader& in, int64_t steps);

  int64_t steps() const { return sealed_ + static_cast<int64_t>(tail_.size()); }
  const IdleRule& rule() const { return rule_; }
  IdleDetail detail() const { return detail_; }

  // The map of steps [from, to), to <= steps(), in the detail() that the rule needs.  Rows that were last
  // touched at the same step share the work: maps are remembered until the next append.
  IdleMap between(int64_t from, int64_t to) const;

  // Takes one weight through steps [from, to) exactly, also where L1 stops it at zero or momentum carries it
  // through: blocks in which the sign may change are cut in half until single steps.  A weight that is not
  // finite stays.  Returns how many maps it looked at.
  int64_t advance(IdleWeight& state, int64_t from, int64_t to) const;

  // How many maps `between` composes.
  int64_t num_pieces(int64_t from, int64_t to) const;

  // Bytes that the history takes.
  uint64_t memory_bytes() const;

 private:
  static constexpr int64_t kLeafSteps = 64;

  // A run of equal blocks on one level, up to where the next run begins.
  struct BlockRun {
    int64_t first;
    IdleMap map;
  };
  // The rates of a run of leaves: kLeafSteps of them in rates_, or the same for all steps.
  struct LeafRun {
    int64_t first;
    double rate;
    int64_t offset;  // in rates_, or -1
  };
  // A map that between() has found.  Between two appends a slot is claimed once and then never replaced, so
  // that readers need no lock.
  struct Remembered {
    std::atomic<int64_t> state{0};  // 2 steps() when claimed, 2 steps() + 1 when ready; else free
    int64_t from = 0, to = 0;
    IdleMap map;
  };

  void seal_leaf();
  void add_block(size_t level, int64_t index, const IdleMap& map);
  const IdleMap& block(size_t level, int64_t index) const;
  int64_t advance_in_pieces(IdleWeight& state, int64_t from, int64_t to) const;
  int64_t descend(IdleWeight& state, size_t level, int64_t index) const;
  IdleMap composed(int64_t from, int64_t to) const;

  // Calls on_block(map, level, index), on_tail(map) and on_step(step) for the pieces of [from, to) in order.
  template <class OnBlock, class OnTail, class OnStep>
  void walk(int64_t from, int64_t to, OnBlock on_block, OnTail on_tail, OnStep on_step) const;

  // Calls on_step(step) for the steps [from, to) of one leaf, or of the tail.
  template <class OnStep>
  void walk_steps(int64_t from, int64_t to, OnStep on_step) const;

  const IdleRule rule_;
  const IdleDetail detail_;
  int64_t sealed_ = 0;        // steps in leaves
  std::vector<double> tail_;  // rates of the steps after them
  IdleMap tail_map_;          // of all steps in tail_
  std::deque<LeafRun> leaves_;
  std::deque<double> rates_;  // deques: growing copies nothing and leaves little unused
  std::vector<std::deque<BlockRun>> levels_;
  mutable std::array<Remembered, 256> remembered_;
};

}  // namespace ps

#endif  // PS_OPTIM_TIMELINE_H_
