// The description of the machine that a measurement ran on, without which its numbers mean nothing.  Used by
// reports.
#ifndef PS_BENCH_MACHINE_H_
#define PS_BENCH_MACHINE_H_

#include <cstdint>
#include <string>

#include "base/cpu.h"
#include "config/fwd.h"

namespace ps {

struct Machine {
  std::string processor;    // "AMD EPYC 9B45"
  int cores = 0;            // number of processors that this process may use
  std::string cpu_level;    // instructions that kernels use: "avx2"
  uint64_t memory = 0;      // bytes
  std::string huge_pages;   // "madvise"
  std::string kernel;       // "Linux 6.1.0-18-amd64"
  std::string compiler;     // "GNU 12.2.0, -O3 …"
  std::string program;      // "0.1.0 (git 1a2b3c4)"
  std::string device = {};  // "NVIDIA H100, 79 GiB, …"; empty if no device is measured

  Json json() const;

  // Reads what json() wrote.  Throws Json::exception for any other object.
  static Machine from_json(const Json& json);
};

// Describes this machine.  `cpu` is the level of instructions that kernels use.
Machine this_machine(CpuLevel cpu = best_cpu_level());

}  // namespace ps

#endif  // PS_BENCH_MACHINE_H_
