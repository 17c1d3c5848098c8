# With PS_JOIN the sources of a library are compiled together, up to PS_JOINED_SOURCES at a time, so that the headers that
# they share are read once: programs are built from nothing in less than 40 % of the time.  So the names in unnamed
# namespaces of a library differ; a unit test, whose helpers have common names, lies in a namespace of its own, ps::FILE.  The presets dev and clang do without: they recompile less after a change, and find a
# source that does not include what it uses.
#
#   ps_join_sources(TARGET NAME [COLD_FOLDERS...])   joins its sources into joined/NAME_*.cc; those of cold folders apart,
#                                                    which are compiled at -O1
option(PS_JOIN "Compile the sources of a folder together" ON)
set(PS_JOINED_SOURCES 44)

# Sources of these folders have compile options of their own (Fiber.cmake, Gpu.cmake, Peers.cmake), which a joined source would not
# have.
set(PS_SEPARATE_FOLDERS base/fiber gpu/emulated bench/peers)

function(ps_join_sources target name)
  if(NOT PS_JOIN)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  foreach(source ${sources})
    get_filename_component(folder ${source} DIRECTORY)
    file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR}/lib ${folder})
    if(folder IN_LIST ARGN)
      list(APPEND cold ${source})
    elseif(NOT folder IN_LIST PS_SEPARATE_FOLDERS)
      list(APPEND warm ${source})
    endif()
  endforeach()
  ps_write_joined(${target} ${name} "" ${warm})
  ps_write_joined(${target} ${name}_cold $<$<CONFIG:Release>:-O1> ${cold})
  # g++ takes a joined source for a header, in which a member of a type without a name outside would be a mistake.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

# Writes sources that include the given ones, as many each as fit under the limit evenly.
function(ps_write_joined target name options)
  list(LENGTH ARGN number)
  math(EXPR groups "(${number} + ${PS_JOINED_SOURCES} - 1) / ${PS_JOINED_SOURCES}")
  foreach(group RANGE 1 ${groups})
    if(NOT number)
      return()
    endif()
    math(EXPR begin "(${group} - 1) * ${number} / ${groups}")
    math(EXPR size "${group} * ${number} / ${groups} - ${begin}")
    list(SUBLIST ARGN ${begin} ${size} sources)
    set(text "")
    foreach(source ${sources})
      # Named from lib, not from the root of the file system: what a compiler cache holds is then good for every clone.
      file(RELATIVE_PATH include ${CMAKE_SOURCE_DIR}/lib ${source})
      string(APPEND text "#include \"${include}\"\n")
    endforeach()
    set_source_files_properties(${sources} PROPERTIES HEADER_FILE_ONLY ON)
    set(joined ${CMAKE_BINARY_DIR}/joined/${name}_${group}.cc)
    file(CONFIGURE OUTPUT ${joined} CONTENT "${text}" @ONLY)
    set_source_files_properties(${joined} PROPERTIES COMPILE_OPTIONS "${options}")
    target_sources(${target} PRIVATE ${joined})
  endforeach()
endfunction()

# Headers of third parties that most sources read are compiled once.  Like joined sources they would hide a missing
# include, so the presets that do without the one do without the other.  g++ 12 forgets that these headers are the
# system's, and would report what it takes for writes beyond the end in the code of std::string (GCC bug 105651); the
# preset dev keeps those warnings.
#
#   ps_precompile(TARGET HEADERS...)       compiles these headers, as TARGET is compiled
#   ps_use_precompiled(TARGET FROM)        has TARGET use those of FROM
set(PS_PRECOMPILED_OPTIONS
    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread>)

function(ps_precompile target)
  if(PS_JOIN)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    target_compile_options(${target} PRIVATE "${PS_PRECOMPILED_OPTIONS}")
  endif()
endfunction()

function(ps_use_precompiled target from)
  if(PS_JOIN)
    target_precompile_headers(${target} REUSE_FROM ${from})
    target_compile_options(${target} PRIVATE "${PS_PRECOMPILED_OPTIONS}")
  endif()
endfunction()
