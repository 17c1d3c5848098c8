# Open MPI, where it is installed: lib/collective/mpi_communicator.cc is compiled, else its twin mpi_communicator_absent.cc.
# Programs that do not use it are not linked with it.
pkg_check_modules(ompi QUIET IMPORTED_TARGET ompi-c)
get_target_property(sources ps_collective SOURCES)
set(unused mpi_communicator.cc)
if(ompi_FOUND)
  set(unused mpi_communicator_absent.cc)
  target_link_libraries(ps_collective PRIVATE -Wl,--push-state,--as-needed PkgConfig::ompi -Wl,--pop-state)
endif()
list(REMOVE_ITEM sources ${CMAKE_SOURCE_DIR}/lib/collective/${unused})
set_target_properties(ps_collective PROPERTIES SOURCES "${sources}")
