// MemoryReserve: memory that is given up when there is no other.  Used by run_main, for every program.
//
// When `operator new` finds no memory for the first time, the reserve is freed and the call tried again; from then on it
// throws std::bad_alloc.  Code that runs while that exception unwinds, or while a program ends, then finds some memory: the
// destructors of nlohmann's JSON allocate, and an exception that leaves a destructor ends the program.
#ifndef PS_BASE_MEMORY_RESERVE_H_
#define PS_BASE_MEMORY_RESERVE_H_

namespace ps {

// One at a time, since the language has one handler (std::set_new_handler) for the process, without arguments.
class MemoryReserve {
 public:
  // Without memory for the reserve there is none.
  MemoryReserve();
  ~MemoryReserve();
  MemoryReserve(const MemoryReserve&) = delete;
  MemoryReserve& operator=(const MemoryReserve&) = delete;
};

}  // namespace ps

#endif  // PS_BASE_MEMORY_RESERVE_H_
