#include "base/memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "base/text.h"

namespace ps {

namespace {

// Returns the number in a file that holds one; nullopt when the file is missing or says "max".
std::optional<uint64_t> read_number(const char* path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return parse_uint(word);
}

// A field of /proc/meminfo or /proc/self/status, in bytes.
std::optional<uint64_t> read_field(const char* path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name + ":")) continue;
    size_t first = line.find_first_of("0123456789"), last = line.find_last_of("0123456789");
    if (first == std::string::npos) return std::nullopt;
    std::optional<uint64_t> kib = parse_uint(line.substr(first, last - first + 1));
    return kib ? std::optional(*kib * 1024) : std::nullopt;
  }
  return std::nullopt;
}

// Returns the memory that a limit leaves; it is unlimited if either number is unknown.
uint64_t rest(std::optional<uint64_t> limit, std::optional<uint64_t> used) {
  if (!limit || !used) return UINT64_MAX;
  return *limit > *used ? *limit - *used : 0;
}

}  // namespace

uint64_t available_memory_bytes() {
  // Three limits may hold, of which the narrowest counts: the machine's memory, that of the control group
  // (version 2), and the address space of the process.
  uint64_t available = read_field("/proc/meminfo", "MemAvailable").value_or(UINT64_MAX);
  available = std::min(available, rest(read_number("/sys/fs/cgroup/memory.max"),
                                       read_number("/sys/fs/cgroup/memory.current")));
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    available = std::min(available, rest(limit.rlim_cur, read_field("/proc/self/status", "VmSize")));
  }
  return available;
}

uint64_t resident_memory_bytes() {
  return read_field("/proc/self/status", "VmRSS").value_or(0);
}

uint64_t peak_memory_bytes() {
  if (std::optional<uint64_t> peak = read_field("/proc/self/status", "VmHWM")) return *peak;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace ps
