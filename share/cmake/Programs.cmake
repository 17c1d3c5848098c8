# The programs: one file in cmd/ each, all over the whole library.  It runs once, and is compiled as a COLD library is.
file(GLOB programs CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cmd/ps-*.cc)
set(PS_PROGRAMS)
foreach(source ${programs})
  get_filename_component(program ${source} NAME_WE)
  add_executable(${program} ${source})
  target_link_libraries(${program} PRIVATE ps_job)
  ps_use_precompiled(${program} ps_base)
  target_compile_options(${program} PRIVATE $<$<CONFIG:Release>:-O1>)
  list(APPEND PS_PROGRAMS ${program})
endforeach()

# Only this one: what benchmarks are set beside is no part of the other programs.
target_link_libraries(ps-bench PRIVATE ps_bench)

# All programs, and no tests.
add_custom_target(programs DEPENDS ${PS_PROGRAMS})
