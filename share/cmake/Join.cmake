# With PS_JOIN the sources of each folder of a library are compiled together, up to PS_JOINED_SOURCES at a time, so that
# the headers that they share are read once: programs are built from nothing in less than 40 % of the time.  So the names in
# unnamed namespaces of a folder differ.  The presets dev and clang do without: they recompile less after a change, and
# find a source that does not include what it uses.
#
#   ps_join_sources(TARGET [COLD_FOLDERS...])   joins its sources, those of each folder among themselves; a cold folder
#                                              is compiled at -O1
option(PS_JOIN "Compile the sources of a folder together" ON)
set(PS_JOINED_SOURCES 32)

# Sources of these folders have compile options of their own (Gpu.cmake, Peers.cmake), which a joined source would not
# have.
set(PS_SEPARATE_FOLDERS gpu/emulated bench/peers)

function(ps_join_sources target)
  if(NOT PS_JOIN)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  foreach(source ${sources})
    get_filename_component(folder ${source} DIRECTORY)
    file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR}/lib ${folder})
    if(folder IN_LIST PS_SEPARATE_FOLDERS)
      continue()
    endif()
    string(MAKE_C_IDENTIFIER ${folder} folder)
    list(APPEND sources_of_${folder} ${source})
    list(LENGTH sources_of_${folder} number)
    math(EXPR group "(${number} - 1) / ${PS_JOINED_SOURCES}")
    # Named from lib, not from the root of the file system: what a compiler cache holds is then good for every clone.
    file(RELATIVE_PATH include ${CMAKE_SOURCE_DIR}/lib ${source})
    string(APPEND text_of_${folder}_${group} "#include \"${include}\"\n")
    list(APPEND groups ${folder}_${group})
    set_source_files_properties(${source} PROPERTIES HEADER_FILE_ONLY ON)
  endforeach()
  list(REMOVE_DUPLICATES groups)
  foreach(group ${groups})
    set(joined ${CMAKE_BINARY_DIR}/joined/${group}.cc)
    string(REGEX REPLACE "_[0-9]+$" "" folder ${group})
    if(folder IN_LIST ARGN)
      set_source_files_properties(${joined} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
    endif()
    file(CONFIGURE OUTPUT ${joined} CONTENT "${text_of_${group}}" @ONLY)
    target_sources(${target} PRIVATE ${joined})
  endforeach()
  # g++ takes a joined source for a header, in which a member of a type without a name outside would be a mistake.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
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
