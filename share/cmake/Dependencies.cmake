# Third parties, each under the one name that Rows.cmake uses. All are Debian 12's.
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS program_options)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd>=1.5)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash>=0.8)
