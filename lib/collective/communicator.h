// Communicator: the ranks of a job, which add and share numbers without a server.  Used by strategies of
// training and by benchmarks.
//
// Implemented over `net`, which is TCP or a simulated network (collective/net_communicator.h), between the
// threads of a process (collective/thread_communicator.h), and over MPI (collective/mpi_communicator.h).
//
// All ranks call the same collectives in the same order, for as many elements of the same type.  A collective
// ends within the communicator's timeout: with its result, or on every rank with an error of kUnavailable
// that names the rank that died, fell silent, or never came.  After an error there is none to go on with:
// later calls throw it again, and who goes on makes a new communicator.
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

// One owner thread, which is also the one that destroys it.  Destroyed by an exception it looks to the others
// like a rank that died; else like one that has left, which only those mind who wait for it.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Replaces `data` by the sum over the ranks: the same bits on all of them, on every run.
  virtual void all_reduce(Elements data) = 0;

  // Part r of `data`, of counts[r] elements, becomes on rank r the sum over the ranks in rank order; the
  // other parts stay as they are.  The counts are the same on all ranks and add up to data.count().
  virtual void reduce_scatter(Elements data, std::span<const size_t> counts) = 0;

  // Part r of `data`, of counts[r] elements, comes on all ranks from rank r.
  virtual void all_gather(Elements data, std::span<const size_t> counts) = 0;

  // `data` comes, on all ranks, from rank `root`.
  virtual void broadcast(Elements data, int root) = 0;

  // What every rank gave, in rank order.
  virtual std::vector<std::string> gather(std::string bytes) = 0;

  // Returns when all ranks have called it.
  virtual void barrier() = 0;

  // Bytes handed to rank `to` for sending since the beginning, with all that travels around them; 0 where
  // that is not known.
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
