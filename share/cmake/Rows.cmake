# The rows of the library, written once: a library says which libraries of lower rows it uses, and includes no other.
# Within a library that has folders by subject, a folder says which folders beside it it uses.
# tests/cli/rows_test.sh reads the calls below, one a line, and fails on an include that breaks them.
#
#   ps_library(NAME ROW n [COLD] [COLD_FOLDERS folders...] [USES libraries...] [PARTIES third parties...])
#                                                           builds lib/NAME/**/*.cc into libps_NAME
#   ps_folder(NAME/FOLDER [USES folders...])                                of that library, for the test alone
#
# A COLD library, or cold folder of one, runs once a program or once a minute: it is compiled at -O1, which takes three quarters of the time of -O3.
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
    ps_join_sources(${kernels} ${name}_kernels)
    target_sources(ps_${name} PRIVATE $<TARGET_OBJECTS:${kernels}>)
  endforeach()
endfunction()

function(ps_library name)
  cmake_parse_arguments(arg "COLD" "ROW" "COLD_FOLDERS;USES;PARTIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/lib/${name}/*.cc ${CMAKE_SOURCE_DIR}/lib/${name}/*/*.cc)
  list(FILTER sources EXCLUDE REGEX "/cuda/|/kernels/|/cpu_features_|/hooks_|/cuda_absent|/mpi_communicator")
  add_library(ps_${name} ${PS_LIBRARY_KIND} ${sources})
  target_link_libraries(ps_${name} PUBLIC ps_flags ${arg_PARTIES})
  foreach(other ${arg_USES})
    get_target_property(row ps_${other} PS_ROW)
    if(NOT row LESS arg_ROW)
      message(FATAL_ERROR "lib/${name} (row ${arg_ROW}) cannot use lib/${other} (row ${row})")
    endif()
    target_link_libraries(ps_${name} PUBLIC ps_${other})
  endforeach()
  ps_kernels(${name} ${arg_PARTIES})
  list(TRANSFORM arg_COLD_FOLDERS PREPEND "${name}/")
  ps_join_sources(ps_${name} ${name} ${arg_COLD_FOLDERS})
  if(arg_COLD)
    target_compile_options(ps_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(NOT name STREQUAL base)
    ps_use_precompiled(ps_${name} ps_base)
  endif()
  set_target_properties(ps_${name} PROPERTIES PS_ROW ${arg_ROW} DEFINE_SYMBOL "")
endfunction()

function(ps_folder)
endfunction()

ps_library(base ROW 0 PARTIES Boost::context Threads::Threads PkgConfig::zstd PkgConfig::xxhash ZLIB::ZLIB)
target_sources(ps_base PRIVATE ${CMAKE_SOURCE_DIR}/lib/base/cpu_features_${PS_CPU_FEATURES}.cc)
set(PS_COMMON_HEADERS <algorithm> <array> <atomic> <bit> <chrono> <cmath> <condition_variable> <cstring> <deque>
    <filesystem> <fstream> <functional> <map> <memory> <mutex> <numeric> <optional> <set> <span> <string> <string_view>
    <thread> <vector> <nlohmann/json.hpp>)
ps_precompile(ps_base ${PS_COMMON_HEADERS})
include(Fiber)
ps_library(math ROW 1 USES base PARTIES Eigen3::Eigen)
ps_library(config ROW 1 COLD USES base PARTIES nlohmann_json::nlohmann_json)
ps_library(net ROW 1 COLD_FOLDERS http auth handshake sim USES base PARTIES Boost::headers OpenSSL::SSL)
ps_library(chunk ROW 1 USES base)
ps_library(gpu ROW 1 USES base PARTIES Eigen3::Eigen)
ps_library(cli ROW 1 COLD USES base PARTIES Boost::program_options)
ps_library(data ROW 2 USES base config)
ps_library(optim ROW 2 USES base config math)
ps_library(membership ROW 2 COLD USES base config net)
ps_library(collective ROW 2 USES base net PARTIES ${CMAKE_DL_LIBS})
ps_library(table ROW 3 USES base gpu math optim)
ps_library(model ROW 3 USES base collective config data gpu math optim PARTIES Eigen3::Eigen)
ps_library(checkpoint ROW 4 USES base chunk config data math table)
ps_library(feed ROW 4 USES base data math model)
ps_library(codec ROW 4 USES base config gpu math optim table)
ps_library(store ROW 5 USES base checkpoint codec collective config math membership optim table)
ps_library(ps ROW 6 USES base checkpoint codec config data math membership net optim store table)
ps_folder(ps/wire)
ps_folder(ps/status USES ps/wire)
ps_folder(ps/log USES ps/wire ps/status)
ps_folder(ps/server USES ps/wire ps/status ps/log)
ps_folder(ps/client USES ps/wire)
ps_library(device ROW 6 USES base checkpoint codec collective config gpu math model optim store table)
ps_library(strategy ROW 7 COLD USES base codec collective config device math net optim ps store)
ps_library(train ROW 7 USES base checkpoint cli config data feed math model optim store)
ps_library(heter ROW 7 USES base config data feed math model net optim ps store)
ps_library(job ROW 8 COLD USES base checkpoint cli codec collective config data device feed heter math membership model net optim ps store strategy table train)
ps_library(simulate ROW 8 COLD USES base codec collective config data device math model net optim ps store)
ps_library(bench ROW 9 COLD_FOLDERS accuracy all_reduce checkpoint datagen gpu link plan process pull_push train USES base checkpoint cli codec collective config data device feed gpu job math model net optim ps simulate store strategy table train)
include(Gpu)
