# Builds with sanitizers, PS_SANITIZE, are made to be built soon rather than to run fast.  Not optimised but for kernels,
# where tests spend their time: half the time of -O1 -g.  Headers of third parties compiled once: with clang, since g++
# takes twice as long.
#
#   ps_precompile(TARGET HEADERS...)       compiles these headers, as TARGET is compiled
#   ps_use_precompiled(TARGET FROM)        has TARGET use those of FROM
set(PS_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined or thread")
if(NOT PS_SANITIZE)
  function(ps_precompile)
  endfunction()
  function(ps_use_precompiled)
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
