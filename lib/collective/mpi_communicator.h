// The communicator over MPI: a site's own engine under the same job.  Used by programs that mpirun starts.
//
// mpi_communicator.cc is compiled where CMake finds Open MPI (share/cmake/Mpi.cmake), else its twin
// mpi_communicator_absent.cc.
#ifndef PS_COLLECTIVE_MPI_COMMUNICATOR_H_
#define PS_COLLECTIVE_MPI_COMMUNICATOR_H_

#include <memory>

#include "collective/communicator.h"

namespace ps {

// All processes of MPI_COMM_WORLD, with their ranks; MPI is initialised, and finalised with the communicator,
// unless that is done outside.  One in a process's life where it is not.  Throws kUnavailable where MPI was not
// installed when this was built.
//
// The order of sums, and so their bits, is MPI's affair, and so are ranks that die: mpirun then ends all.  Destroyed
// by an exception it leaves MPI as it is, so that a process that ends then looks like one that died.  MPI
// has no deadline; it spins while it waits.
std::unique_ptr<Communicator> make_mpi_communicator();

}  // namespace ps

#endif  // PS_COLLECTIVE_MPI_COMMUNICATOR_H_
