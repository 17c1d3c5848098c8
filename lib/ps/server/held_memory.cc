#include "ps/server/held_memory.h"

#include "base/error.h"

namespace ps {

void HeldMemory::refuse(uint64_t bytes, uint64_t chunk_bytes) {
  ++counters_.refused_for_memory;
  fail(Code::kExhausted, "what waits for other trainers takes ",
       human_bytes(pool_.bytes_in_use() + chunk_bytes), " already, and has no room for ", human_bytes(bytes),
       " more; give ps-serve more with --max-memory, or the job more servers");
}

}  // namespace ps
