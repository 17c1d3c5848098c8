// EvenWindow: how many chunks a rank sends each other rank before the first of their sums has come back, as many to each.
// Used by direct, in which every rank sends to all others at once; send_window.h says why few chunks are best.
//
// Sums wait for the chunks of all ranks.  If some ranks had more chunks on the way than others, these would wait in the
// queues of the links, and the others, whose chunks wait behind them, would send less and hold up the sums of all.  So
// windows are not left to grow wherever a queue is short for a moment: they stay at the least, on all ranks alike, unless
// hardly anything waits, and they shrink again as soon as more does.
#ifndef PS_COLLECTIVE_ALGORITHMS_EVEN_WINDOW_H_
#define PS_COLLECTIVE_ALGORITHMS_EVEN_WINDOW_H_

#include <algorithm>
#include <cstddef>
#include <deque>
#include <vector>

#include "collective/algorithms/send_window.h"

namespace ps {

// The window of one rank towards each of several others, its ways, in one collective.  One owner thread.
class EvenWindow {
 public:
  // `least` is the number of chunks on each way at first, and the least later.
  EvenWindow(size_t num_ways, size_t least) : least_(least), size_(least), ways_(num_ways) {}

  bool open(size_t way) const { return ways_[way].sent_at.size() < size_; }

  void on_sent(size_t way, Time now) { ways_[way].sent_at.push_back(now); }

  // Called when the sum of the earliest chunk of this way has come; a chunk must have been sent.
  //
  // 1 - least / last is the share of the time that the chunk has waited in queues (send_window.h).  Once in a window's
  // sums of all ways the mean of these shares decides: below an eighth the window grows, above a third it shrinks.
  void on_sum(size_t index, Time now) {
    Way& way = ways_[index];
    const Duration last = now - way.sent_at.front();
    way.sent_at.pop_front();
    way.least = std::min(way.least, last);
    shares_ += last > way.least ? 1 - to_seconds(way.least) / to_seconds(last) : 0;
    if (++sums_ < size_ * ways_.size()) return;
    const double share = shares_ / static_cast<double>(sums_);
    // The first sums may have waited for ranks that came late, and tell nothing but the least times.
    if (rounds_++ > 0) {
      if (share < 1.0 / 8) size_ = std::max(least_, std::min(size_ * 2, kMost));
      if (share > 1.0 / 3) size_ = std::max(least_, size_ - 1);
    }
    shares_ = 0;
    sums_ = 0;
  }

 private:
  struct Way {
    std::deque<Time> sent_at;  // when the chunks on the way were sent, the earliest first
    Duration least = kNever;   // the shortest time from a chunk to its sum
  };

  // The most chunks on a way, which the other rank keeps when it waits for a rank that comes late: 64 MiB.
  static constexpr size_t kMost = 512;

  const size_t least_;
  size_t size_;  // chunks on each way
  std::vector<Way> ways_;
  // Since the window was last decided.
  double shares_ = 0;
  size_t sums_ = 0;
  size_t rounds_ = 0;
};

}  // namespace ps

#endif  // PS_COLLECTIVE_ALGORITHMS_EVEN_WINDOW_H_
