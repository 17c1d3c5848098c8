#include "base/error.h"
#include "collective/mpi_communicator.h"

namespace ps {

std::unique_ptr<Communicator> make_mpi_communicator() {
  fail(Code::kUnavailable, "MPI was not installed when this was built");
}

}  // namespace ps
