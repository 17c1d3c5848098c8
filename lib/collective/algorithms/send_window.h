// SendWindow: how many chunks a rank sends before the first of their sums has come back.  Used by the algorithms in which
// chunks follow one another.
//
// A sum waits for the slowest of its ranks.  If all ranks sent all that they have, TCP would divide the link into a rank
// unevenly, the fast ones would fill queues with chunks that nobody can add yet, and acknowledgements would wait in these
// queues.  Few chunks on the way also stay in the processor's cache.
//
// The window grows as that of TCP Vegas does (Brakmo, O'Malley and Peterson, SIGCOMM 1994): of n chunks on the way, n (1 -
// least / last) wait in queues, where `least` and `last` are the shortest and the latest time from a chunk to its sum.  If
// these are less than one, or than a quarter of many, the time passes on the way and not in queues, and the sum lets two
// chunks follow instead of one.  So a long round trip is filled after few of them.
#ifndef PS_COLLECTIVE_ALGORITHMS_SEND_WINDOW_H_
#define PS_COLLECTIVE_ALGORITHMS_SEND_WINDOW_H_

#include <algorithm>
#include <cstddef>
#include <deque>

#include "collective/exchange.h"
#include "net/loop.h"

namespace ps {

// The window of one rank in one collective.  One owner thread.
class SendWindow {
 public:
  // The window of a rank towards another one.
  explicit SendWindow(const Exchange& exchange) : size_(least(exchange)) {}

  // The fewest chunks on the way to a rank: on each connection one on its way in, and one whose sum is on its way out.
  static size_t least(const Exchange& exchange) { return 2 * static_cast<size_t>(exchange.connections()); }

  bool open() const { return sent_at_.size() < size_; }

  void on_sent(Time now) { sent_at_.push_back(now); }

  // Called when the sum of the earliest chunk has come; a chunk must have been sent.
  void on_sum(Time now) {
    const Duration last = now - sent_at_.front();
    least_ = std::min(least_, last);
    const auto on_the_way = static_cast<double>(sent_at_.size());
    const double waiting = last > least_ ? on_the_way * (1 - to_seconds(least_) / to_seconds(last)) : 0;
    if (!open() && waiting < std::max(1.0, on_the_way / 4)) ++size_;
    sent_at_.pop_front();
  }

 private:
  std::deque<Time> sent_at_;  // when the chunks on the way were sent, the earliest first
  size_t size_;
  Duration least_ = kNever;
};

}  // namespace ps

#endif  // PS_COLLECTIVE_ALGORITHMS_SEND_WINDOW_H_
