// Programs run to their end, and what they took.  Used by benchmarks of whole processes, ours and others'.
#ifndef PS_BENCH_PROCESS_CHILD_H_
#define PS_BENCH_PROCESS_CHILD_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ps {

struct Command {
  std::vector<std::string> words;    // the program, a path or a name on PATH, and its arguments
  std::string output = "/dev/null";  // file that its standard output goes to
  std::string errors = "/dev/null";  // file that its standard error goes to
  bool one_core = false;             // keep it on one core, whatever it starts
};

struct Usage {
  double cpu_seconds = 0;   // of all its threads, in the program and in the system
  uint64_t peak_bytes = 0;  // resident; at least what this process held when the child began
};

// Runs it, with no standard input, to its end.  Throws kUnavailable when there is no such program; kInternal,
// with the last line of `errors`, when it did not end with status 0.
Usage run_child(const Command& command);

// Throws kUnavailable, saying where it comes from, unless there is such a program.
void expect_program(const std::string& name, const std::string& origin);

// The folder that this program is in.
std::string program_folder();

// Whether a benchmark at so many threads keeps its children on one core: at 1 it does, since a reader or a
// writer beside the one thread would work on another.
inline bool on_one_core(int threads) {
  return threads == 1;
}

}  // namespace ps

#endif  // PS_BENCH_PROCESS_CHILD_H_
