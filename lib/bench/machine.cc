#include "bench/machine.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>

#include "base/text.h"
#include "cli/version.h"
#include "config/json.h"

namespace ps {

namespace {

// Returns the text after "model name :" in /proc/cpuinfo.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

// Returns the cores that the process may use, which in a container are fewer than the machine has.
int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

// Returns the chosen word of "always [madvise] never".
std::string huge_page_mode() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line;
  std::getline(file, line);
  size_t begin = line.find('['), end = line.find(']');
  if (begin == std::string::npos || end == std::string::npos) return "none";
  return line.substr(begin + 1, end - begin - 1);
}

std::string kernel_name() {
  utsname names{};
  if (uname(&names) != 0) return "unknown";
  return cat(names.sysname, " ", names.release);
}

}  // namespace

Machine this_machine(CpuLevel cpu) {
  Machine machine;
  machine.processor = processor_name();
  machine.cores = usable_cores();
  machine.cpu_level = cpu_level_name(cpu);
  machine.memory =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  machine.huge_pages = huge_page_mode();
  machine.kernel = kernel_name();
  machine.compiler = kCompiler;
  machine.program = *kRevision == '\0' ? std::string(kVersion) : cat(kVersion, " (git ", kRevision, ")");
  return machine;
}

Json Machine::json() const {
  Json out = {{"processor", processor}, {"cores", cores},           {"cpu_level", cpu_level},
              {"memory_bytes", memory}, {"huge_pages", huge_pages}, {"kernel", kernel},
              {"compiler", compiler},   {"program", program}};
  if (!device.empty()) out["device"] = device;
  return out;
}

Machine Machine::from_json(const Json& json) {
  Machine machine;
  json.at("processor").get_to(machine.processor);
  json.at("cores").get_to(machine.cores);
  json.at("cpu_level").get_to(machine.cpu_level);
  json.at("memory_bytes").get_to(machine.memory);
  json.at("huge_pages").get_to(machine.huge_pages);
  json.at("kernel").get_to(machine.kernel);
  json.at("compiler").get_to(machine.compiler);
  json.at("program").get_to(machine.program);
  if (json.contains("device")) json.at("device").get_to(machine.device);
  return machine;
}

}  // namespace ps
