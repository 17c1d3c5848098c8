# Builds with sanitizers, PS_SANITIZE, are made to be built soon rather than to run fast.  Not optimised but for kernels,
# where tests spend their time: half the time of -O1 -g.  Headers of third parties compiled once, and the sources of a
# library many at a time: a third of what is left.  Other builds do none of this in lib/ and cmd/: they find a source that
# does not include what it uses.  With clang: g++ takes twice as long, and has warnings for what it finds in joined sources.
#
#   ps_precompile(TARGET HEADERS...)       compiles these headers, as TARGET is compiled
#   ps_use_precompiled(TARGET FROM)        has TARGET use those of FROM
#   ps_join_sources(TARGET)                joins its sources; not those in a folder within the library's, which are all
#                                          of one kind and may use the same names
set(PS_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined or thread")
if(NOT PS_SANITIZE)
  function(ps_precompile)
  endfunction()
  function(ps_use_precompiled)
  endfunction()
  function(ps_join_sources)
  endfunction()
  return()
endif()

set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")
add_compile_options(-fsanitize=${PS_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
add_link_options(-fsanitize=${PS_SANITIZE} -fuse-ld=lld)

function(ps_precompile target)
  target_precompile_headers(${target} PRIVATE ${ARGN})
endfunction()

function(ps_use_precompiled target from)
  target_precompile_headers(${target} REUSE_FROM ${from})
endfunction()

function(ps_join_sources target)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "lib/[^/]+/[^/]+/")
  set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
endfunction()
