// The Exchange between processes.  Used by make_net_communicator.
#ifndef PS_COLLECTIVE_NET_NET_EXCHANGE_H_
#define PS_COLLECTIVE_NET_NET_EXCHANGE_H_

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collective/blame.h"
#include "collective/exchange.h"
#include "collective/net/rank_lanes.h"

namespace ps {

// Every two ranks have connections, so that each rank learns at once that another one has died: it has died when any
// of them is lost.
//
// A collective that does not go on for three quarters of its time holds a roll call (collective/blame.h).  The
// rest of the time is for answers, and for telling the other ranks.  One owner thread, which runs the loop.
class NetExchange final : public Exchange {
 public:
  // links[r] has the connections to rank r, which use the loop and the pool; the own one is null.  `patient` and `stop`
  // are as in NetCommunicatorOptions.
  NetExchange(Loop& loop, std::unique_ptr<BufferPool> pool, int rank,
              std::vector<std::unique_ptr<RankLanes>> links, bool patient, std::function<bool()> stop);
  ~NetExchange() override;

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(links_.size()); }
  Time now() const override { return loop_.now(); }
  int connections() const override;

  // Uses so many of the connections to each rank for later collectives.  All ranks call it between the same two.
  void use_connections(int num);

  // Counts the bytes of bytes_sent from now on.
  void forget_bytes_sent();

  void begin(Collective collective, uint8_t algorithm, Duration timeout) override;
  void finish() override;
  void abandon(const Error& reason) override;
  void send_marked(int to, ConstBytes bytes, MessageMark mark) override;
  void flush() override;
  Buffer receive_marked(int from, size_t size, MessageMark mark) override;
  Buffer receive_any_size(int from) override;
  MessageMark next_mark(int from) override;
  int await(std::span<const int> from) override;
  void check_others() override;
  bool may_change_threads() const override { return loop_.may_change_threads(); }
  uint64_t bytes_sent(int to) const override {
    return to == rank_ ? 0 : link(to).bytes_sent() - forgotten_bytes_[static_cast<size_t>(to)];
  }

 private:
  RankLanes& link(int rank) const { return *links_[static_cast<size_t>(rank)]; }
  std::optional<int> first_heard(std::span<const int> from) const;
  Buffer take(int from, MessageMark mark);

  void wait(std::vector<int> awaited, const std::function<bool()>& done);
  bool run_until(const std::function<bool()>& done, Time deadline);
  std::optional<Error> trouble() const;
  bool hold_roll_call(const std::function<bool()>& done);
  Blame blame() const;
  [[noreturn]] void fail_late() const;

  Loop& loop_;
  const std::unique_ptr<BufferPool> pool_;
  const int rank_;
  const int exceptions_ = std::uncaught_exceptions();
  const std::vector<std::unique_ptr<RankLanes>> links_;
  std::vector<uint64_t> forgotten_bytes_;  // by rank: bytes that bytes_sent does not count
  const bool patient_;
  const std::function<bool()> stop_;  // null: never

  CollectiveCall call_;
  // Start of the wait; it moves on after every roll call after which this rank goes on waiting.
  Time begun_{};
  Duration timeout_{};
  std::vector<int> waits_for_;  // ranks that this rank waits for; empty if it does not wait
  // The error after which no collective can begin.
  std::optional<Error> broken_;
};

}  // namespace ps

#endif  // PS_COLLECTIVE_NET_NET_EXCHANGE_H_
