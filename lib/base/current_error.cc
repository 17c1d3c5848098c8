#include "base/current_error.h"

#include <new>

namespace ps {

Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(Code::kExhausted, "out of memory");
  } catch (const std::exception& error) {
    return Error(Code::kInternal, error.what());
  }
}

}  // namespace ps
