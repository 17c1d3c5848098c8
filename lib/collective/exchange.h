// Exchange: messages between the ranks of a job, the ground that collective algorithms stand on.  Implemented
// over `net` (collective/net/net_exchange.h) and between threads (collective/thread_communicator.h).
//
// Messages from one rank to another arrive in the order in which they were sent; those of different ranks
// have no order among them.  An algorithm therefore names the rank that it wants to hear next, and its result
// does not depend on who is fast.  Sending never waits for the receiver: two ranks that send to each other
// before they receive cannot block each other, however much they send.
#ifndef PS_COLLECTIVE_EXCHANGE_H_
#define PS_COLLECTIVE_EXCHANGE_H_

#include <cstdint>
#include <span>
#include <string>

#include "base/error.h"
#include "collective/elements.h"
#include "net/buffer_pool.h"
#include "net/loop.h"

namespace ps {

// What the ranks do together.  On the wire: never renumber.
enum class Collective : uint8_t {
  kAllReduce = 1,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kGather,
  kBarrier,
};

const char* collective_name(Collective collective);  // "all-reduce"

// One collective call, as it is checked between ranks: all must call the same ones in the same order.
struct CollectiveCall {
  Collective collective{};
  uint8_t algorithm = 0;  // number in the catalogue; 0 where there is no choice
  uint32_t number = 0;    // of the call, from 1 on

  bool operator==(const CollectiveCall&) const = default;
};

// "all-reduce 12".
std::string to_text(const CollectiveCall& call);

// Throws kUsage unless `found`, which rank `from` is at, is `expected`.
void check_same_call(int from, const CollectiveCall& found, const CollectiveCall& expected);
[[noreturn]] void fail_size(int from, const CollectiveCall& call, uint64_t found, uint64_t expected);

// One owner thread.  After abandon() every begin throws its reason.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual Time now() const = 0;

  // Every collective lies between begin and finish; `timeout` is for both and all in between.  What waits for
  // longer throws kUnavailable and names the rank that is to blame.
  virtual void begin(Collective collective, uint8_t algorithm, Duration timeout) = 0;

  virtual void finish() = 0;

  // The collective has failed here, for this reason: tells the other ranks, which get it as their error.
  virtual void abandon(const Error& reason) = 0;

  // Takes `bytes` for rank `to`.  They must stay as they are until flush() or finish(), or until something
  // has been received that `to` can only have sent after it had received them.
  virtual void send(int to, ConstBytes bytes) = 0;

  // Waits until what was sent may be changed.
  virtual void flush() = 0;

  // The next message of rank `from`, which must have `size` bytes; they begin at a multiple of 64.
  virtual Buffer receive(int from, size_t size) = 0;

  // The same for a message of any size.
  virtual Buffer receive_any_size(int from) = 0;

  // Waits until there is a message of one of these ranks; returns the first of them that has one.
  virtual int await(std::span<const int> from) = 0;

  // Bytes handed to rank `to` since the beginning, with all that travels around them.
  virtual uint64_t bytes_sent(int to) const = 0;
};

}  // namespace ps

#endif  // PS_COLLECTIVE_EXCHANGE_H_
