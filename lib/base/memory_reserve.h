// MemoryReserve: memory that is given up when there is no other.  Used by run_main, for every program.
//
// When `operator new` finds no memory for the first time, the reserve is freed and the call tried again; from then on it
// throws std::bad_alloc.  Code that runs while that exception unwinds, or while a program ends, then finds some memory: the
// destructors of nlohmann's JSON allocate, and an exception that leaves a destructor ends the program.
#ifndef PS_BASE_MEMORY_RESERVE_H_
#define PS_BASE_MEMORY_RESERVE_H_

namespace ps {

// At most one object exists at a time, since the process has one handler (std::set_new_handler), which takes no
// arguments.  The owner is main; the handler may run on any thread.
class MemoryReserve {
 public:
  // If there is no memory for the reserve, the program runs without one.
  MemoryReserve();
  ~MemoryReserve();
  MemoryReserve(const MemoryReserve&) = delete;
  MemoryReserve& operator=(const MemoryReserve&) = delete;
};

}  // namespace ps

#endif  // PS_BASE_MEMORY_RESERVE_H_
