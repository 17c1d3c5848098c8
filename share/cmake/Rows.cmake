# The rows of the library, written once: a library includes only libraries of lower rows, never sideways.
# tests/cli/rows_test.sh reads the calls below and fails on an include that breaks them.
#
#   ps_library(NAME ROW n [USES third parties...])   builds lib/NAME/*.cc into libps_NAME.a
#
# Kernels, lib/NAME/kernels/*.cc, are compiled once for each level of instruction sets, PS_CPU_NAMESPACE being cpu_LEVEL.
# All that such a source defines must lie in that namespace, headers' inline functions included: the linker keeps one
# copy of an inline function for all, and it must not be one with instructions that a processor may lack.  Eigen, all
# inline, gets a namespace of each level by a macro in place of its name.
# tests/cli/cpu_test.sh looks at the objects.

function(ps_kernels name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/lib/${name}/kernels/*.cc)
  if(NOT sources)
    return()
  endif()
  foreach(level ${PS_CPU_LEVELS})
    set(kernels ps_${name}_cpu_${level})
    add_library(${kernels} OBJECT ${sources})
    target_link_libraries(${kernels} PRIVATE ps_flags ${ARGN})
    target_compile_options(${kernels} PRIVATE ${PS_CPU_FLAGS_${level}})
    if(PS_SANITIZE)
      target_compile_options(${kernels} PRIVATE -O1)
    endif()
    target_compile_definitions(${kernels} PRIVATE PS_CPU_NAMESPACE=cpu_${level} Eigen=Eigen_${level})
    target_sources(ps_${name} PRIVATE $<TARGET_OBJECTS:${kernels}>)
  endforeach()
endfunction()

function(ps_library name)
  cmake_parse_arguments(arg "" "ROW" "USES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/lib/${name}/*.cc ${CMAKE_SOURCE_DIR}/lib/${name}/*/*.cc)
  list(FILTER sources EXCLUDE REGEX "/cuda/|/kernels/|/cpu_features_")
  if(NOT sources)
    return()
  endif()
  add_library(ps_${name} STATIC ${sources})
  target_link_libraries(ps_${name} PUBLIC ps_flags ${arg_USES})
  get_property(libraries GLOBAL PROPERTY PS_LIBRARIES)
  foreach(lower ${libraries})
    get_target_property(row ${lower} PS_ROW)
    if(row LESS arg_ROW)
      target_link_libraries(ps_${name} PUBLIC ${lower})
    endif()
  endforeach()
  ps_kernels(${name} ${arg_USES})
  ps_join_sources(ps_${name})
  if(NOT name STREQUAL base)
    ps_use_precompiled(ps_${name} ps_base)
  endif()
  set_target_properties(ps_${name} PROPERTIES PS_ROW ${arg_ROW})
  set_property(GLOBAL APPEND PROPERTY PS_LIBRARIES ps_${name})
endfunction()

ps_library(base       ROW 0 USES Threads::Threads PkgConfig::zstd PkgConfig::xxhash ZLIB::ZLIB)
target_sources(ps_base PRIVATE ${CMAKE_SOURCE_DIR}/lib/base/cpu_features_${PS_CPU_FEATURES}.cc)
set(PS_COMMON_HEADERS <algorithm> <array> <atomic> <bit> <chrono> <cmath> <condition_variable> <cstring> <deque>
    <filesystem> <fstream> <functional> <map> <memory> <mutex> <numeric> <optional> <set> <span> <string> <string_view>
    <thread> <vector> <nlohmann/json.hpp>)
ps_precompile(ps_base ${PS_COMMON_HEADERS})
ps_library(math       ROW 1 USES Eigen3::Eigen)
ps_library(config     ROW 1 USES nlohmann_json::nlohmann_json)
ps_library(net        ROW 1 USES Boost::headers)
ps_library(chunk      ROW 1)
ps_library(cli        ROW 1 USES Boost::program_options)
ps_library(data       ROW 2)
ps_library(optim      ROW 2)
ps_library(codec      ROW 2)
ps_library(table      ROW 3)
ps_library(model      ROW 3)
ps_library(checkpoint ROW 4)
ps_library(ps         ROW 5)
ps_library(train      ROW 6)
ps_library(job        ROW 7)
ps_library(bench      ROW 8)
