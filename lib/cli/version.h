// Version, compiler and libraries of this build.  The values come from CMake (share/cmake/Version.cmake).
// Used by --version and by reports of benchmarks.
#ifndef PS_CLI_VERSION_H_
#define PS_CLI_VERSION_H_

namespace ps {

extern const char* const kVersion;    // "0.1.0"
extern const char* const kRevision;   // short git hash, or empty
extern const char* const kCompiler;   // "GNU 12.2.0, -O3 -ffp-contract=off …"
extern const char* const kLibraries;  // "boost 1.81.0, eigen 3.4.0, …"

}  // namespace ps

#endif  // PS_CLI_VERSION_H_
