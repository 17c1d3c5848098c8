// Consistency: the number of steps by which trainers may be apart.  Used by shards and by RemoteStore.
#ifndef PS_PS_WIRE_CONSISTENCY_H_
#define PS_PS_WIRE_CONSISTENCY_H_

#include <cstdint>

namespace ps {

struct Consistency {
  bool async = false;     // every push is a step of its own
  int64_t staleness = 0;  // not async: steps by which the weights of a step may be behind; 0: synchronous
  // Async: gradients of weights that are older than so many steps are dropped; 0: none are.
  int64_t max_lag = 0;
  int64_t ahead =
      0;  // synchronous, of a trainer alone that keeps copies of the rows in use (AheadStore), or of
          // readers whose compute trainer does (SharedCopies), or async, of readers with several
          // batches on their way: steps that a trainer may push before it hears that the one
          // before is applied

  // Steps that a trainer may have pushed and that are not applied yet, beside the last.
  uint64_t lead() const { return static_cast<uint64_t>((async ? 0 : staleness) + ahead); }
};

}  // namespace ps

#endif  // PS_PS_WIRE_CONSISTENCY_H_
