# Third parties, each under the one name that Rows.cmake uses. All are Debian 12's.
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS context program_options)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(OpenSSL 3 REQUIRED COMPONENTS SSL)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd>=1.5)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash>=0.8)
# The header that has XXH3 choose its kernels when the program runs: the library has it on x86 alone.
find_path(PS_XXHASH_DISPATCH xxh_x86dispatch.h)
set(PS_XXHASH_HEADER xxhash.h)
if(PS_XXHASH_DISPATCH AND PS_CPU_FEATURES STREQUAL x86)
  set(PS_XXHASH_HEADER xxh_x86dispatch.h)
endif()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/base/xxhash_kernels.h
     CONTENT "#include <${PS_XXHASH_HEADER}>\n")
