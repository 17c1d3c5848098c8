// Memory of this process as the system counts it.  Used by benchmarks that tell how much a thing takes.
#ifndef PS_BENCH_RESIDENT_H_
#define PS_BENCH_RESIDENT_H_

#include <cstdint>

#include "bench/pages.h"

namespace ps {

uint64_t resident_bytes();

// Gives free memory back to the system and begins a new peak, so that what comes next is measured alone;
// returns resident_bytes().
//
// A child's peak, too: the system counts what a process held before it became another program, and a child
// starts with what its parent holds.
uint64_t begin_peak();

// Takes so much memory, or half of what is free, and gives it back, for who wants huge pages next.  On a
// virtual machine the first touch of memory that its host has not given yet costs 60 times as much as of
// other memory (5 ms instead of 0.09 ms for 2 MiB); what is measured afterwards is then the program, and not
// the host.
void warm_free_memory(uint64_t bytes);

// The same, for a run of a second or two: what became free before has been taken back by then, 2 s later, and
// not in the middle of the run.  Takes 2.5 s, unless it is but little.
void warm_quiet_memory(uint64_t bytes);

// Memory that a virtual machine's host gives once, free for whoever wants it in small pages while this lives.
// Free memory in pieces of 2 MiB a host takes back, 2 s after they became free, and all processors stand
// still for up to 40 ms while it does; so one page of each half of MiB is held, and the pieces stay smaller.
class WarmMemory {
 public:
  // Touches so many bytes, or half of the free memory if that is less.
  explicit WarmMemory(uint64_t bytes);

 private:
  const Pages held_;
};

// The most memory of trainers, servers and the system's message buffers in a benchmark of this scale.
inline uint64_t served_bytes(double scale) {
  return static_cast<uint64_t>(1e9 * scale);
}

}  // namespace ps

#endif  // PS_BENCH_RESIDENT_H_
