// Consistency: the number of steps by which trainers may be apart.  Used by shards and by RemoteStore.
#ifndef PS_PS_WIRE_CONSISTENCY_H_
#define PS_PS_WIRE_CONSISTENCY_H_

#include <cstdint>

namespace ps {

struct Consistency {
  bool async = false;     // every push is a step of its own
  int64_t staleness = 0;  // not async: steps by which weights may be behind; 0: synchronous
  // If async, gradients are dropped whose weights are older than this number of steps; 0: none are dropped.
  int64_t max_lag = 0;
  // Steps that a trainer may push before it learns that the last one is applied.  Three kinds of jobs set it: a
  // synchronous trainer that keeps copies of the rows in use (AheadStore), synchronous readers whose compute
  // trainer keeps them (SharedCopies), and asynchronous readers with several batches on their way.
  int64_t ahead = 0;

  // Returns the number of steps, beside the last one, that a trainer may have pushed and that are not applied
  // yet.
  uint64_t lead() const { return static_cast<uint64_t>((async ? 0 : staleness) + ahead); }
};

}  // namespace ps

#endif  // PS_PS_WIRE_CONSISTENCY_H_
