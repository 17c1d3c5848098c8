# Flags of every target. A warning is an error. Contraction of a*b+c is off, so that a result does not
# depend on where the compiler chose to fuse.
add_library(ps_flags INTERFACE)
target_compile_options(ps_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
                       -Wnon-virtual-dtor -Woverloaded-virtual -Werror -ffp-contract=off -fno-math-errno -fno-trapping-math)
target_include_directories(ps_flags INTERFACE ${CMAKE_SOURCE_DIR}/lib)
set(CMAKE_CXX_FLAGS_RELEASE "-O3")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g")
if(PS_SANITIZE)
  add_compile_options(-fsanitize=${PS_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g)
  add_link_options(-fsanitize=${PS_SANITIZE})
endif()
if(PS_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
find_program(PS_CCACHE ccache)
if(PS_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PS_CCACHE})
endif()
