# Code for a device.  A kernel is a .cu source over gpu/device.h, which exists twice: lib/gpu/emulated/gpu/device.h and
# lib/gpu/cuda/gpu/device.h.  The path of includes picks one.  lib/NAME/cuda/*.cu is compiled by this build's compiler
# for the emulator always, into ps_NAME; and by nvcc with -DPS_CUDA=ON, into objects of the target cuda_objects.

# The hooks of the emulator for the sanitizer of this build (Sanitize.cmake).
target_sources(ps_gpu PRIVATE ${CMAKE_SOURCE_DIR}/lib/gpu/emulated/hooks_${PS_HOOKS}.cc)
target_include_directories(ps_gpu PUBLIC ${CMAKE_SOURCE_DIR}/lib/gpu/emulated)

# A race detector is to see the accesses of kernels, and not those of the scheduler, which orders the threads.
if(PS_SANITIZE MATCHES "thread")
  file(GLOB scheduler ${CMAKE_SOURCE_DIR}/lib/gpu/emulated/*.cc)
  set_source_files_properties(${scheduler} PROPERTIES COMPILE_OPTIONS "-fno-sanitize=thread;-O1"
                              SKIP_PRECOMPILE_HEADERS ON)
elseif(PS_SANITIZE)
  file(GLOB scheduler ${CMAKE_SOURCE_DIR}/lib/gpu/emulated/*.cc)
  set_source_files_properties(${scheduler} PROPERTIES COMPILE_OPTIONS "-O1" SKIP_PRECOMPILE_HEADERS ON)
endif()

# Has TARGET compile .cu sources for the emulator.
function(ps_emulated_sources target)
  set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES
                              LANGUAGE CXX COMPILE_OPTIONS "-x;c++")
  target_sources(${target} PRIVATE ${ARGN})
endfunction()

# Tables and whatever else is code for a device, emulated: a library of its own beside the one whose folder it is in,
# since the other does not need it.
file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/lib/table/cuda/*.cu)
add_library(ps_table_emulated ${PS_LIBRARY_KIND})
ps_emulated_sources(ps_table_emulated ${kernels})
target_link_libraries(ps_table_emulated PUBLIC ps_gpu ps_optim)

# The kernels of models.
file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/lib/model/cuda/*.cu)
add_library(ps_model_emulated ${PS_LIBRARY_KIND})
ps_emulated_sources(ps_model_emulated ${kernels})
target_link_libraries(ps_model_emulated PUBLIC ps_gpu ps_model)

# The selections of gradients.
file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/lib/codec/cuda/*.cu)
add_library(ps_codec_emulated ${PS_LIBRARY_KIND})
ps_emulated_sources(ps_codec_emulated ${kernels})
target_link_libraries(ps_codec_emulated PUBLIC ps_gpu ps_codec)

# The rows that a trainer has on a device.
file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/lib/device/cuda/*.cu)
ps_emulated_sources(ps_device ${kernels})
target_link_libraries(ps_device PUBLIC ps_table_emulated ps_model_emulated ps_codec_emulated)

# Benchmarks of a device.
file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/lib/bench/cuda/*.cu)
ps_emulated_sources(ps_bench ${kernels})
target_link_libraries(ps_bench PUBLIC ps_table_emulated ps_codec_emulated)

# Objects for CUDA: compute capability 9.0, and PTX for what comes after.  Multiply and add are not fused, as on the CPU.
# ps_device has them, and opens GPUs with them; ps_bench has its own.
option(PS_CUDA "Compile device code for CUDA too, with nvcc, so that programs train on GPUs" OFF)
if(NOT PS_CUDA)
  target_sources(ps_device PRIVATE ${CMAKE_SOURCE_DIR}/lib/device/cuda_absent.cc)
  target_sources(ps_bench PRIVATE ${CMAKE_SOURCE_DIR}/lib/bench/gpu/cuda_absent.cc)
else()
  find_package(CUDAToolkit REQUIRED)
  find_program(PS_NVCC nvcc HINTS ${CUDAToolkit_BIN_DIR} /usr/local/cuda/bin REQUIRED)
  file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/lib/*/cuda/*.cu)
  set(objects)
  # 554: a conversion of Matrix<const T> to itself, which its `requires` removes.  20050: kernels in headers are inline for
  # the emulator.
  foreach(kernel ${kernels} ${CMAKE_SOURCE_DIR}/lib/device/cuda_device.cu ${CMAKE_SOURCE_DIR}/lib/bench/gpu/cuda_gpu.cu)
    file(RELATIVE_PATH object ${CMAKE_SOURCE_DIR}/lib ${kernel})
    string(REPLACE "/" "_" object ${object})
    set(object ${CMAKE_BINARY_DIR}/cuda/${object}.o)
    add_custom_command(OUTPUT ${object} DEPENDS ${kernel} DEPFILE ${object}.d VERBATIM
                       COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/cuda
                       COMMAND ${PS_NVCC} -std=c++20 -O3 -fmad=false "-gencode=arch=compute_90,code=[sm_90,compute_90]"
                               --expt-relaxed-constexpr -diag-suppress 554,20050 -I${CMAKE_SOURCE_DIR}/lib/gpu/cuda -I${CMAKE_SOURCE_DIR}/lib
                               -MD -MF ${object}.d -c -o ${object} ${kernel}
                       COMMENT "nvcc ${kernel}")
    list(APPEND objects ${object})
  endforeach()
  add_custom_target(cuda_objects ALL DEPENDS ${objects})
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  set(bench_objects ${objects})
  list(FILTER bench_objects INCLUDE REGEX "/cuda/bench_")
  list(FILTER objects EXCLUDE REGEX "/cuda/bench_")
  target_sources(ps_bench PRIVATE ${bench_objects})
  target_sources(ps_device PRIVATE ${objects})
  target_link_libraries(ps_device PUBLIC CUDA::cudart_static CUDA::cublas)
endif()
