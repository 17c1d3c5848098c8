// Exchange: sends messages between the ranks of a job.  Collective algorithms are written on top of it.
// Implemented over `net` (collective/net/net_exchange.h) and between threads
// (tests/support/thread_communicator.h).
//
// Messages from one rank to another arrive in the order in which they were sent; messages of different ranks
// have no order among them.  An algorithm therefore names the rank whose message it wants next, or puts the messages
// that it awaits in order itself, and its result does not depend on the speed of ranks.  Sending never waits for
// the receiver: two ranks that send to each other before they receive do not deadlock, for messages of any size.
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

// The kinds of collectives.  On the wire: never renumber.
enum class Collective : uint8_t {
  kAllReduce = 1,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kGather,
  kBarrier,
  kAllToAll,
};

// Returns true if ranks do not know beforehand how many bytes the others send.
inline bool has_any_size(Collective collective) {
  return collective == Collective::kGather || collective == Collective::kAllToAll;
}

// The identity of a collective call.  Ranks compare it, since all of them must make the same calls in the same
// order.
struct CollectiveCall {
  Collective collective{};
  uint8_t algorithm = 0;  // number in the catalogue; 0 for a collective without a choice
  uint32_t number = 0;    // number of the call, from 1 on

  bool operator==(const CollectiveCall&) const = default;
};

// "all-reduce 12".
std::string to_text(const CollectiveCall& call);

// Throws kUsage unless `found`, the call of rank `from`, is `expected`.
void check_same_call(int from, const CollectiveCall& found, const CollectiveCall& expected);
[[noreturn]] void fail_size(int from, const CollectiveCall& call, uint64_t found, uint64_t expected);

// The mark of a message, for algorithms in which a rank sends another one numbers to be added and sums in no fixed order.
// On the wire: never renumber.
enum class MessageMark : uint8_t { kNone = 0, kContribution, kSum };

// Throws kUsage unless `found`, the mark of a message of rank `from`, is `expected`.
void check_mark(int from, const CollectiveCall& call, MessageMark found, MessageMark expected);

// One owner thread.  After abandon() every begin throws its reason.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual Time now() const = 0;
  virtual int connections() const { return 1; }  // to each other rank

  // Every collective is enclosed in begin and finish; `timeout` is for both and all calls between.  A call
  // that waits longer throws kUnavailable with the rank that is to blame.
  virtual void begin(Collective collective, uint8_t algorithm, Duration timeout) = 0;

  virtual void finish() = 0;

  // Ends a collective that has failed on this rank: sends the reason to the other ranks, which throw it as
  // their error.
  virtual void abandon(const Error& reason) = 0;

  // Sends `bytes` to rank `to`.  They must not change until flush() or finish(), or until a message has been
  // received that `to` can only have sent after it had received them.
  void send(int to, ConstBytes bytes) { send_marked(to, bytes, MessageMark::kNone); }
  virtual void send_marked(int to, ConstBytes bytes, MessageMark mark) = 0;

  // Waits until the bytes of all calls of send may be changed.
  virtual void flush() = 0;

  // Returns the next message of rank `from`, which must have `size` bytes and this mark, at an address that is a
  // multiple of 64.
  Buffer receive(int from, size_t size) { return receive_marked(from, size, MessageMark::kNone); }
  virtual Buffer receive_marked(int from, size_t size, MessageMark mark) = 0;

  // The same for a message of any size, without a mark.
  virtual Buffer receive_any_size(int from) = 0;

  // Waits for the next message of rank `from` and returns its mark, which may be a number that has no name.
  virtual MessageMark next_mark(int from) = 0;

  // Waits until there is a message of one of these ranks; returns the first rank of the list that has one.
  virtual int await(std::span<const int> from) = 0;

  // Throws what a wait for any rank would throw at once, if there is such an error; the others hear of it.
  virtual void check_others() {}

  // As Communicator::may_change_threads.
  virtual bool may_change_threads() const = 0;

  // Returns the bytes sent to rank `to` since the beginning, headers included, without those by which connections were
  // measured.
  virtual uint64_t bytes_sent(int to) const = 0;
};

}  // namespace ps

#endif  // PS_COLLECTIVE_EXCHANGE_H_
