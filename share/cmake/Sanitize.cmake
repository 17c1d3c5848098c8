# Builds with sanitizers, PS_SANITIZE, are made to be built soon rather than to run fast.  Not optimised but for kernels,
# where tests spend their time: half the time of -O1 -g.
set(PS_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined or thread")
set(PS_LIBRARY_KIND STATIC)
if(PS_SANITIZE)
  # Libraries are shared: some hundred tests with a copy of the instrumented library each would take 20 GB of disk.
  set(PS_LIBRARY_KIND SHARED)
  set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")
  add_compile_options(-fsanitize=${PS_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -fPIC)
  add_link_options(-fsanitize=${PS_SANITIZE} -fuse-ld=lld)
  string(APPEND CMAKE_EXE_LINKER_FLAGS " -no-pie")
endif()

# Fibres tell the sanitizer of this build what they do: hooks_${PS_HOOKS}.cc.
set(PS_HOOKS plain)
if(PS_SANITIZE MATCHES "address")
  set(PS_HOOKS address)
elseif(PS_SANITIZE MATCHES "thread")
  set(PS_HOOKS thread)
endif()
