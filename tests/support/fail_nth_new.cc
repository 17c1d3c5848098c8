// operator new for programs with the address sanitizer, whose own asks for no std::new_handler and ends the program where
// there is no memory.  It fails as fail_nth.cc says: an allocation that is counted as memory is tried again when the handler
// has given memory up, as the language has it; one that is counted as an exception throws at once, as when the handler had
// nothing left to give.
//
// An allocation of the destructor of nlohmann's JSON does not throw, since that ends the program; for it the reserve of
// base/memory_reserve.h is there.
#include <dlfcn.h>
#include <unwind.h>

#include <cstring>
#include <new>

#include "support/fail_nth.h"

namespace {

// Sets *found, a bool, when the frame is one of that destructor.
_Unwind_Reason_Code look_at(_Unwind_Context* frame, void* found) {
  Dl_info function;
  if (dladdr(reinterpret_cast<void*>(_Unwind_GetIP(frame)), &function) == 0) return _URC_NO_REASON;
  if (function.dli_sname == nullptr || std::strstr(function.dli_sname, "json_value7destroy") == nullptr)
    return _URC_NO_REASON;
  *static_cast<bool*>(found) = true;
  return _URC_END_OF_STACK;
}

// Without backtrace(), which loads a library, and so leaves memory behind.
bool destroys_json() {
  bool found = false;
  _Unwind_Backtrace(look_at, &found);
  return found;
}

template <class Allocate>
void* allocate(size_t size, const Allocate& real) {
  if (ps::failing::fails(ps::failing::Kind::kExceptions) && !destroys_json()) throw std::bad_alloc();
  while (ps::failing::has_no_memory(size)) {
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
  return real();
}

}  // namespace

// The forms with std::nothrow stay the sanitizer's.
void* operator new(size_t size) {
  return allocate(size, [&] { return operator new(size, std::nothrow); });
}
void* operator new[](size_t size) {
  return allocate(size, [&] { return operator new[](size, std::nothrow); });
}
void* operator new(size_t size, std::align_val_t alignment) {
  return allocate(size, [&] { return operator new(size, alignment, std::nothrow); });
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return allocate(size, [&] { return operator new[](size, alignment, std::nothrow); });
}
