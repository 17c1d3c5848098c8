// Communicator: collectives among the ranks of a job, without a server.  Used by strategies of training and
// by benchmarks.
//
// Implemented over `net`, which is TCP or a simulated network (collective/net_communicator.h), between the
// threads of a process (tests/support/thread_communicator.h, for tests), and over MPI (collective/mpi_communicator.h).
//
// All ranks call the same collectives in the same order, for as many elements of the same type.  A collective
// ends within the communicator's timeout: with its result, or on every rank with a kUnavailable error that
// names the rank that died, fell silent, or never came.  After an error, later calls throw it again; to
// continue, a caller must make a new communicator.
#ifndef PS_COLLECTIVE_COMMUNICATOR_H_
#define PS_COLLECTIVE_COMMUNICATOR_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collective/elements.h"
#include "collective/parts.h"

namespace ps {

// One owner thread, which also destroys it.  If an exception destroys it, the other ranks treat this rank as
// dead; otherwise as a rank that has left, which is an error only for ranks that wait for it.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Replaces `data` by the sum over the ranks, with the same bits on all ranks and in every run.
  virtual void all_reduce(Elements data) = 0;

  // Sets part r of `data`, of counts[r] elements, on rank r to the sum over the ranks in rank order; the
  // other parts stay unchanged.  The counts must be the same on all ranks and add up to data.count().
  virtual void reduce_scatter(Elements data, std::span<const size_t> counts) = 0;

  // Copies part r of `data`, of counts[r] elements, from rank r to all ranks.
  virtual void all_gather(Elements data, std::span<const size_t> counts) = 0;

  // Copies `data` from rank `root` to all ranks.
  virtual void broadcast(Elements data, int root) = 0;

  // Returns the bytes that each rank gave, in rank order.
  virtual std::vector<std::string> gather(std::string bytes) = 0;

  // Gives bytes[r] to rank r.  Returns the bytes that each rank gave this one, in rank order.
  virtual std::vector<std::string> all_to_all(std::vector<std::string> bytes) = 0;

  // Returns the seconds of an all-to-all exchange in which each rank sends every other one `num` messages of so many
  // bytes, one right behind the other.  For measuring links.
  virtual double exchange_seconds(size_t num, size_t bytes);

  // Returns when all ranks have called it.
  virtual void barrier() = 0;

  // For a caller that waits for something else while it runs the loop: throws kUnavailable if another rank is
  // known to have died.  Some implementations know it only inside collectives.
  virtual void check_others() {}

  // Returns true if collectives may be called on another thread than before.  Only one thread at a time may use
  // the communicator, and everything else that runs on the loop of its connections.
  virtual bool may_change_threads() const { return false; }

  // Returns the number of connections to each other rank over which large messages go; 1 if that is unknown.
  virtual int connections() const { return 1; }

  // Returns the bytes sent to rank `to` since the beginning, headers included; 0 if that is unknown.
  virtual uint64_t bytes_sent(int to) const = 0;

  // The same with parts of even_parts(data.count(), size()).
  void reduce_scatter(Elements data) { reduce_scatter(data, even_counts(data)); }
  void all_gather(Elements data) { all_gather(data, even_counts(data)); }

 private:
  std::vector<size_t> even_counts(Elements data) const {
    std::vector<size_t> counts;
    for (const ElementRange& part : even_parts(data.count(), size())) counts.push_back(part.count());
    return counts;
  }
};

}  // namespace ps

#endif  // PS_COLLECTIVE_COMMUNICATOR_H_
