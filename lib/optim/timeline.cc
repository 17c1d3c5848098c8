#include "optim/timeline.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "optim/kernels/arithmetic.h"

namespace ps {

namespace {

// Returns the last run that begins at or before `index`.
template <class Run>
const Run& run_of(const std::deque<Run>& runs, int64_t index) {
  auto after = std::upper_bound(runs.begin(), runs.end(), index,
                                [](int64_t i, const Run& run) { return i < run.first; });
  return *(after - 1);
}

}  // namespace

namespace {

// Collects runs of steps with the same rate, for save.  One owner thread.
class RateRuns {
 public:
  void add(double rate, int64_t steps) {
    if (runs_.empty() || runs_.back().first != rate) runs_.emplace_back(rate, 0);
    runs_.back().second += steps;
  }

  void write(std::string& out) const {
    put(out, static_cast<uint64_t>(runs_.size()));
    for (const auto& [rate, steps] : runs_) {
      put(out, rate);
      put(out, steps);
    }
  }

 private:
  std::vector<std::pair<double, int64_t>> runs_;
};

}  // namespace

Timeline::Timeline(const IdleRule& rule, bool sums)
    : rule_(rule),
      detail_(sums                 ? IdleDetail::kFull
              : rule.l1 == 0       ? IdleDetail::kLinear
              : rule.momentum == 0 ? IdleDetail::kDecay
                                   : IdleDetail::kFull) {}

void Timeline::append(double rate) {
  if (rule_.l1 == 0 && rule_.l2 == 0) rate = 0;  // without decay the rate has no effect: all steps are equal
  IdleStep step(rule_, rate);
  if (step.keep < 0) {
    fail(Code::kUsage, "optimizer: learning rate ", rate, " times l2 ", rule_.l2,
         " makes weights change sign at every step; lower one of them");
  }
  tail_.push_back(rate);
  tail_map_.append(step, detail_);
  if (static_cast<int64_t>(tail_.size()) == kLeafSteps) seal_leaf();
}

// Turns the full tail into leaf `index`.  A leaf whose steps have different rates keeps them in rates_; one
// of a single rate keeps nothing if the leaf before it has that rate too, since a run of leaves ends where
// the next begins.
void Timeline::seal_leaf() {
  int64_t index = sealed_ / kLeafSteps;
  bool constant = std::all_of(tail_.begin(), tail_.end(), [&](double rate) { return rate == tail_[0]; });
  if (!constant) {
    leaves_.push_back({index, 0, static_cast<int64_t>(rates_.size())});
    rates_.insert(rates_.end(), tail_.begin(), tail_.end());
  } else if (leaves_.empty() || leaves_.back().offset >= 0 || leaves_.back().rate != tail_[0]) {
    leaves_.push_back({index, tail_[0], -1});
  }
  add_block(0, index, tail_map_);
  sealed_ += kLeafSteps;
  tail_.clear();
  tail_map_ = IdleMap();
}

// Appends block `index` of a level.  When it is the second of a pair, the pair is composed into one block of
// the level above, like the carry of a binary counter: a step costs a constant number of compositions on
// average.
void Timeline::add_block(size_t level, int64_t index, const IdleMap& map) {
  if (level == levels_.size()) levels_.emplace_back();
  std::deque<BlockRun>& runs = levels_[level];
  if (runs.empty() || !(runs.back().map == map)) runs.push_back({index, map});
  if (index % 2 == 0) return;
  IdleMap pair = block(level, index - 1);
  pair.append(map, detail_);
  add_block(level + 1, index / 2, pair);
}

const IdleMap& Timeline::block(size_t level, int64_t index) const {
  return run_of(levels_[level], index).map;
}

// Finds the rates of the steps: in the tail, in the rate of a run of equal leaves, or in rates_.  The
// caller does not cross the end of a leaf, so that one look-up serves all steps.
template <class OnStep>
void Timeline::walk_steps(int64_t from, int64_t to, OnStep on_step) const {
  if (from >= sealed_) {
    for (int64_t t = from; t < to; ++t) on_step(IdleStep(rule_, tail_[static_cast<size_t>(t - sealed_)]));
    return;
  }
  const LeafRun& run = run_of(leaves_, from / kLeafSteps);
  if (run.offset < 0) {
    IdleStep step(rule_, run.rate);
    for (int64_t t = from; t < to; ++t) on_step(step);
    return;
  }
  auto rate = rates_.begin() + run.offset + from % kLeafSteps;
  for (int64_t t = from; t < to; ++t) on_step(IdleStep(rule_, *rate++));
}

// From `from` on, takes the largest piece that begins there, again and again.  The tail is a piece if all
// of it is wanted.  Up to the next multiple of kLeafSteps, where the rest is shorter than a leaf, and in
// the tail, the pieces are single steps.  At a leaf's beginning a block of level l has size = 64 2^l steps;
// it doubles while `from` is a multiple of the doubled size, since blocks begin at multiples of their size,
// and while the block ends by `to` and within the leaves.  Sizes first grow and then shrink, hence the two
// blocks of each level.
template <class OnBlock, class OnTail, class OnStep>
void Timeline::walk(int64_t from, int64_t to, OnBlock on_block, OnTail on_tail, OnStep on_step) const {
  PS_CHECK(0 <= from && to <= steps());
  while (from < to) {
    if (from == sealed_ && to == steps()) return on_tail(tail_map_);
    int64_t size = kLeafSteps;
    int64_t leaf_end = from - from % size + size;
    if (from % size != 0 || leaf_end > std::min(to, sealed_)) {
      int64_t end = std::min(to, leaf_end);
      walk_steps(from, end, on_step);
      from = end;
      continue;
    }
    size_t level = 0;
    while (from % (2 * size) == 0 && from + 2 * size <= std::min(to, sealed_)) size *= 2, ++level;
    on_block(block(level, from / size), level, from / size);
    from += size;
  }
}

// Composes the maps of steps [from, to) anew.
IdleMap Timeline::composed(int64_t from, int64_t to) const {
  IdleMap out;
  auto append_map = [&](const IdleMap& map) { out.append(map, detail_); };
  walk(
      from, to, [&](const IdleMap& map, size_t, int64_t) { append_map(map); }, append_map,
      [&](const IdleStep& step) { out.append(step, detail_); });
  return out;
}

// A batch asks for the same few ranges for many rows, so a small cache, indexed by `from`, keeps composed
// maps.  An entry is claimed with a compare-and-swap, filled, and published with a release; a thread that
// finds another range in its entry, or one that is not ready, composes its own map and returns it.
IdleMap Timeline::between(int64_t from, int64_t to) const {
  Remembered& entry = remembered_[static_cast<size_t>(from) % remembered_.size()];
  int64_t claimed = 2 * steps(), ready = claimed + 1;
  int64_t state = entry.state.load(std::memory_order_acquire);
  if (state == ready && entry.from == from && entry.to == to) return entry.map;
  IdleMap map = composed(from, to);
  if (state < claimed && entry.state.compare_exchange_strong(state, claimed, std::memory_order_relaxed)) {
    entry.from = from;
    entry.to = to;
    entry.map = map;
    entry.state.store(ready, std::memory_order_release);
  }
  return map;
}

// There are three cases, from the cheap to the general.  With L1 but neither momentum nor averages, a
// weight that has come to zero stays there, so that one map holds for every weight.  Without L1 the map is
// linear, and holds for every weight too.  Else it depends on the weight if a map holds.
int64_t Timeline::advance(IdleWeight& state, int64_t from, int64_t to) const {
  if (!std::isfinite(state.weight) || !std::isfinite(state.momentum)) return 0;
  if (detail_ == IdleDetail::kDecay) {
    IdleMap map = between(from, to);
    state.weight = soft_threshold(map.ww * state.weight, map.wc);
    return 1;
  }
  if (rule_.l1 == 0) return between(from, to).apply_linear(state), 1;
  return advance_in_pieces(state, from, to);
}

// Applies the largest possible maps in order; a block or a tail in which the sign may change is applied in
// smaller pieces.  Returns the number of maps and steps that were looked at.
int64_t Timeline::advance_in_pieces(IdleWeight& state, int64_t from, int64_t to) const {
  int64_t looked_at = 0;
  auto on_step = [&](const IdleStep& step) {
    step.apply(state);
    ++looked_at;
  };
  auto on_tail = [&](const IdleMap& map) {
    ++looked_at;
    if (!map.apply(state)) walk_steps(sealed_, steps(), on_step);
  };
  auto on_block = [&](const IdleMap&, size_t level, int64_t index) {
    looked_at += descend(state, level, index);
  };
  walk(from, to, on_block, on_tail, on_step);
  return looked_at;
}

// Applies a block to a weight: as a whole if its map proves that the weight keeps its sign; otherwise the two
// halves one after the other, down to single steps at level 0.  A weight changes its sign seldom, so few
// blocks are divided.  Returns the number of maps and steps applied.
int64_t Timeline::descend(IdleWeight& state, size_t level, int64_t index) const {
  if (block(level, index).apply(state)) return 1;
  if (level > 0) {
    int64_t left = descend(state, level - 1, 2 * index);
    return 1 + left + descend(state, level - 1, 2 * index + 1);
  }
  int64_t begin = index * kLeafSteps;
  walk_steps(begin, begin + kLeafSteps, [&](const IdleStep& step) { step.apply(state); });
  return 1 + kLeafSteps;
}

int64_t Timeline::num_pieces(int64_t from, int64_t to) const {
  int64_t pieces = 0;
  walk(
      from, to, [&](const IdleMap&, size_t, int64_t) { ++pieces; }, [&](const IdleMap&) { ++pieces; },
      [&](const IdleStep&) { ++pieces; });
  return pieces;
}

// timeline := runs:u64 (rate:f64 steps:i64)[runs]
void Timeline::save(std::string& out) const {
  RateRuns runs;
  for (size_t l = 0; l < leaves_.size(); ++l) {
    const LeafRun& run = leaves_[l];
    const int64_t end = l + 1 < leaves_.size() ? leaves_[l + 1].first : sealed_ / kLeafSteps;
    if (run.offset < 0) {
      runs.add(run.rate, (end - run.first) * kLeafSteps);
    } else {
      auto rate = rates_.begin() + run.offset;
      for (int64_t t = 0; t < (end - run.first) * kLeafSteps; ++t) runs.add(*rate++, 1);
    }
  }
  for (double rate : tail_) runs.add(rate, 1);
  runs.write(out);
}

// The rates are appended one by one, which builds the tree anew: maps are not stored.  A file that is cut
// short or has impossible rates ends the loop early, and the number of steps tells.
void Timeline::load(ByteReader& in, int64_t steps) {
  PS_CHECK(this->steps() == 0);
  const uint64_t runs = in.get<uint64_t>();
  for (uint64_t r = 0; r < runs && in.ok(); ++r) {
    const double rate = in.get<double>();
    const int64_t count = in.get<int64_t>();
    if (!in.ok() || !std::isfinite(rate) || count <= 0 || count > steps - this->steps()) break;
    if (IdleStep(rule_, rate).keep < 0) break;
    for (int64_t t = 0; t < count; ++t) append(rate);
  }
  if (this->steps() != steps) {
    fail(Code::kCorrupt, "rates of ", this->steps(), " steps, expected those of ", steps);
  }
}

uint64_t Timeline::memory_bytes() const {
  uint64_t bytes = sizeof *this + tail_.capacity() * sizeof(double) + rates_.size() * sizeof(double);
  bytes += leaves_.size() * sizeof(LeafRun) + levels_.capacity() * sizeof levels_[0];
  for (const auto& runs : levels_) bytes += runs.size() * sizeof(BlockRun);
  return bytes;
}

}  // namespace ps
