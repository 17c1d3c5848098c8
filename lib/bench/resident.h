// The memory of this process as the system counts it.  Used by benchmarks that report how much memory a thing
// takes.
#ifndef PS_BENCH_RESIDENT_H_
#define PS_BENCH_RESIDENT_H_

#include <cstdint>

#include "bench/pages.h"

namespace ps {

uint64_t resident_bytes();

// Gives free memory back to the system and begins a new peak, so that what follows is measured alone.
// Returns resident_bytes().
//
// The peak of a child needs this too: the system counts the memory that a process held before it became
// another program, and a child starts with the memory of its parent.
uint64_t begin_peak();

// Takes `bytes` of memory, or half of what is free if that is less, and gives it back, so that the caller's
// next huge pages come from it.  On a virtual machine the first touch of memory that its host has not given
// yet costs 60 times as much as that of other memory (5 ms instead of 0.09 ms for 2 MiB); later measurements
// then time the program, and not the host.
void warm_free_memory(uint64_t bytes);

// Does the same as warm_free_memory, for a run of a second or two.  A host takes memory back 2 s after it
// became free; this waits until that is over, so that it does not happen in the middle of the run.  Takes 2.5
// s, unless `bytes` is less than 500 MB.
void warm_quiet_memory(uint64_t bytes);

// Memory that the host of a virtual machine gives once, and that stays free for small pages as long as this
// object lives.  A host takes back free memory in pieces of 2 MiB, 2 s after they became free, and stops all
// processors for up to 40 ms while it does so.  This object therefore holds one page of every 512 KiB, so
// that no free piece is as large as that.  One owner thread.
class WarmMemory {
 public:
  // Touches `bytes`, or half of the free memory if that is less.
  explicit WarmMemory(uint64_t bytes);

 private:
  const Pages held_;
};

// Returns the most memory that trainers, servers and the system's message buffers take in a benchmark of this
// scale.
inline uint64_t served_bytes(double scale) {
  return static_cast<uint64_t>(1e9 * scale);
}

}  // namespace ps

#endif  // PS_BENCH_RESIDENT_H_
