// The communicator over MPI, with which a site can use its own MPI library under the same job.  Used by
// programs that mpirun starts.
//
// mpi_communicator.cc is compiled if CMake finds Open MPI (share/cmake/Mpi.cmake), otherwise its twin
// mpi_communicator_absent.cc.
#ifndef PS_COLLECTIVE_MPI_COMMUNICATOR_H_
#define PS_COLLECTIVE_MPI_COMMUNICATOR_H_

#include <memory>

#include "collective/communicator.h"

namespace ps {

// Makes a communicator of all processes of MPI_COMM_WORLD, with their ranks.  It initialises MPI, and finalises
// it when the communicator is destroyed, unless the process has initialised MPI itself.  If it does so, a
// process can have only one such communicator in its life.  Throws kUnavailable if MPI was not installed when
// this was built.
//
// MPI decides the order of sums, and so their bits.  It also handles ranks that die: mpirun then ends all.  If
// an exception destroys the communicator, it leaves MPI as it is, so that a process that then ends looks like
// one that died.  MPI has no deadline, and it spins while it waits.
std::unique_ptr<Communicator> make_mpi_communicator();

}  // namespace ps

#endif  // PS_COLLECTIVE_MPI_COMMUNICATOR_H_
