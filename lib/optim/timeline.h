// Timeline: stores all steps of one parameter so far, such that the effect of any range of them on a weight
// with zero gradient is found in O(log steps).  With it, sparse training gives the result of dense training
// under any learning-rate schedule, momentum, L1 and L2.  Used by RowOptimizer.
//
// Steps are grouped into leaves of 64.  Above the leaves is a binary tree of composed maps: block i of level
// l is the IdleMap of steps [64 i 2^l, 64 (i + 1) 2^l).  A range consists of at most 63 single steps at each
// end, and at most two blocks of each level between them.  Equal neighbours on a level are stored once, so
// that a constant rate costs nothing; a rate that changes at every step costs about 12 bytes a step.
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

// Only the owner thread calls append; all else may run on any threads, but not during append.
class Timeline {
 public:
  // `sums`: sums of weights over steps will be needed.
  Timeline(const IdleRule& rule, bool sums);

  // Adds the next step.  Throws kUsage if rate and l2 are so large that decay would flip a weight's sign.
  void append(double rate);

  // Save the rates of all steps to a checkpoint, and load them. load must be called on an empty timeline; it
  // throws kCorrupt unless there are `steps` rates.
  void save(std::string& out) const;
  void load(ByteReader& in, int64_t steps);

  int64_t steps() const { return sealed_ + static_cast<int64_t>(tail_.size()); }
  const IdleRule& rule() const { return rule_; }
  IdleDetail detail() const { return detail_; }

  // Returns the map of steps [from, to), to <= steps(), in the detail() that the rule needs.  Maps are cached
  // until the next append, so rows that were last touched at the same step share the work.
  IdleMap between(int64_t from, int64_t to) const;

  // Applies steps [from, to) to one weight exactly, also if L1 stops it at zero or momentum carries it
  // through zero: blocks in which the sign may change are halved, down to single steps.  A weight that is not
  // finite stays unchanged.  Returns the number of maps that it used.
  int64_t advance(IdleWeight& state, int64_t from, int64_t to) const;

  // Returns the number of maps that `between` composes.
  int64_t num_pieces(int64_t from, int64_t to) const;

  // Returns the memory of the timeline.
  uint64_t memory_bytes() const;

 private:
  static constexpr int64_t kLeafSteps = 64;

  // A run of equal blocks on one level; it ends where the next run begins.
  struct BlockRun {
    int64_t first;
    IdleMap map;
  };
  // The rates of a run of leaves: one leaf of kLeafSteps rates in rates_, or leaves whose steps all have the
  // same rate.
  struct LeafRun {
    int64_t first;
    double rate;
    int64_t offset;  // index of the first rate in rates_, or -1
  };
  // A cached map of between().  Between two appends a slot is claimed at most once and then never replaced,
  // so readers need no lock.
  struct Remembered {
    std::atomic<int64_t> state{0};  // 2 steps() when claimed, 2 steps() + 1 when ready; smaller: free
    int64_t from = 0, to = 0;
    IdleMap map;
  };

  void seal_leaf();
  void add_block(size_t level, int64_t index, const IdleMap& map);
  const IdleMap& block(size_t level, int64_t index) const;
  int64_t advance_in_pieces(IdleWeight& state, int64_t from, int64_t to) const;
  int64_t descend(IdleWeight& state, size_t level, int64_t index) const;
  IdleMap composed(int64_t from, int64_t to) const;

  // Splits [from, to) into the largest blocks of the tree, the tail, and single steps, and calls
  // on_block(map, level, index), on_tail(map) and on_step(step) for them in order.
  template <class OnBlock, class OnTail, class OnStep>
  void walk(int64_t from, int64_t to, OnBlock on_block, OnTail on_tail, OnStep on_step) const;

  // Calls on_step(step) for the steps [from, to) of one leaf, or of the tail.
  template <class OnStep>
  void walk_steps(int64_t from, int64_t to, OnStep on_step) const;

  const IdleRule rule_;
  const IdleDetail detail_;
  int64_t sealed_ = 0;        // number of steps in leaves
  std::vector<double> tail_;  // rates of the steps after the leaves
  IdleMap tail_map_;          // the map of all steps in tail_
  std::deque<LeafRun> leaves_;
  std::deque<double> rates_;  // deques: growing copies nothing and leaves little unused
  std::vector<std::deque<BlockRun>> levels_;
  mutable std::array<Remembered, 256> remembered_;
};

}  // namespace ps

#endif  // PS_OPTIM_TIMELINE_H_
