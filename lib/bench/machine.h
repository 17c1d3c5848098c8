// Describes the machine of a measurement, without which numbers mean nothing.  Used by reports.
#ifndef PS_BENCH_MACHINE_H_
#define PS_BENCH_MACHINE_H_

#include <cstdint>
#include <string>

#include "base/cpu.h"
#include "config/fwd.h"

namespace ps {

struct Machine {
  std::string processor;    // "AMD EPYC 9B45"
  int cores = 0;            // that this process may use
  std::string cpu_level;    // of its kernels: "avx2"
  uint64_t memory = 0;      // bytes
  std::string huge_pages;   // "madvise"
  std::string kernel;       // "Linux 6.1.0-18-amd64"
  std::string compiler;     // "GNU 12.2.0, -O3 …"
  std::string program;      // "0.1.0 (git 1a2b3c4)"
  std::string device = {};  // "NVIDIA H100, 79 GiB, …", where one is measured; else empty

  Json json() const;

  // Throws Json::exception for another object than json() makes.
  static Machine from_json(const Json& json);
};

// `cpu` is the level of its kernels.
Machine this_machine(CpuLevel cpu = best_cpu_level());

}  // namespace ps

#endif  // PS_BENCH_MACHINE_H_
