# Flags of every target. A warning is an error. Contraction of a*b+c is off, so that a result does not
# depend on where the compiler chose to fuse.
add_library(ps_flags INTERFACE)
target_compile_options(ps_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
                       -Wnon-virtual-dtor -Woverloaded-virtual -Werror -ffp-contract=off -fno-math-errno -fno-trapping-math)
target_include_directories(ps_flags INTERFACE ${CMAKE_SOURCE_DIR}/lib)
# By default g++ collects its garbage each time its memory has doubled, which takes a tenth of its time.
add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:SHELL:--param ggc-min-heapsize=1048576>")
set(CMAKE_CXX_FLAGS_RELEASE "-O3")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g")
if(PS_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
# ccache keeps what is compiled with precompiled headers when it is told that their definitions and times do not matter.
find_program(PS_CCACHE ccache)
if(PS_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${PS_CCACHE})
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess> "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

# The levels of instruction sets that kernels (lib/*/kernels/*.cc) are compiled for, each with its flags: the words of
# --cpu, in the order of CpuLevel.  lib/base/cpu.cc knows what a processor must have for each.
set(PS_CPU_LEVELS baseline)
set(PS_CPU_FEATURES absent)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  set(PS_CPU_LEVELS baseline avx2 avx512)
  set(PS_CPU_FEATURES x86)
  set(PS_CPU_FLAGS_avx2 -mavx2 -mfma -mbmi -mbmi2)
  # g++ 12 takes the undefined values within its own avx512fintrin.h for a mistake (GCC bug 105593).
  set(PS_CPU_FLAGS_avx512 ${PS_CPU_FLAGS_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512
      $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-uninitialized>)
endif()
list(TRANSFORM PS_CPU_LEVELS REPLACE "(.+)" " X(cpu_\\1)" OUTPUT_VARIABLE cpu_level_list)
list(JOIN cpu_level_list "" cpu_level_list)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/base/cpu_levels.h
     CONTENT "#define PS_FOR_CPU_LEVELS(X)${cpu_level_list}\n")
target_include_directories(ps_flags INTERFACE ${CMAKE_BINARY_DIR}/generated)

# Programs compute models and optimizers with floats.  Tests do it with doubles too, so that finite differences are exact
# enough; the double of a kernel takes as long to compile as the kernel.
set(real_types "X(float)")
set(with_doubles false)
if(PS_TESTS OR PS_FUZZ)
  set(real_types "X(float) X(double)")
  set(with_doubles true)
endif()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/base/reals.h CONTENT
     "#pragma once\n#define PS_FOR_REALS(X) ${real_types}\nnamespace ps {\ninline constexpr bool kDoubles = ${with_doubles};\n}\n")
