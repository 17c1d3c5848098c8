# The values that --version prints: the version, the commit if this is a git tree, and the versions of
# libraries.
set(PS_REVISION "")
find_package(Git QUIET)
if(GIT_FOUND AND EXISTS ${CMAKE_SOURCE_DIR}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --short HEAD WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
                  OUTPUT_VARIABLE PS_REVISION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  # Every commit appends to this file, so that a new one is noticed.
  if(EXISTS ${CMAKE_SOURCE_DIR}/.git/logs/HEAD)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/.git/logs/HEAD)
  endif()
endif()
set(PS_LIBRARY_VERSIONS "boost ${Boost_VERSION_STRING}, eigen ${Eigen3_VERSION}, nlohmann-json ${nlohmann_json_VERSION}, \
zstd ${zstd_VERSION}, zlib ${ZLIB_VERSION_STRING}, xxhash ${xxhash_VERSION}")
# The flags that decide how fast a program is, without those for warnings.
string(TOUPPER "CMAKE_CXX_FLAGS_${CMAKE_BUILD_TYPE}" build_flags)
get_target_property(PS_COMPILER ps_flags INTERFACE_COMPILE_OPTIONS)
list(FILTER PS_COMPILER EXCLUDE REGEX "^-W")
string(STRIP "${CMAKE_CXX_FLAGS} ${${build_flags}}" build_flags)
string(JOIN " " PS_COMPILER "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}," ${build_flags} ${PS_COMPILER})
configure_file(${CMAKE_SOURCE_DIR}/share/cmake/version.cc.in ${CMAKE_BINARY_DIR}/generated/version.cc @ONLY)
target_sources(ps_cli PRIVATE ${CMAKE_BINARY_DIR}/generated/version.cc)
