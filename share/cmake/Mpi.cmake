# Open MPI, where it is installed: lib/collective/mpi_communicator.cc is compiled, else its twin mpi_communicator_absent.cc.
# Programs that do not use it are not linked with it.
pkg_check_modules(ompi QUIET IMPORTED_TARGET ompi-c)
set(communicator mpi_communicator_absent.cc)
if(ompi_FOUND)
  set(communicator mpi_communicator.cc)
  target_link_libraries(ps_collective PRIVATE -Wl,--push-state,--as-needed PkgConfig::ompi -Wl,--pop-state)
endif()
target_sources(ps_collective PRIVATE ${CMAKE_SOURCE_DIR}/lib/collective/${communicator})
