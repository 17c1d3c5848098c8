// Programs run to their end, and what they took.  Used by benchmarks of whole processes, ours and others'.
#ifndef PS_BENCH_PROCESS_CHILD_H_
#define PS_BENCH_PROCESS_CHILD_H_

#include <sys/types.h>

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

// One that runs beside this process, as a server does.  One owner thread.
class RunningChild {
 public:
  // Starts it; what it prints is read here, and command.output is not used.  Throws as run_child.
  explicit RunningChild(const Command& command);

  // Kills it, if it was not ended.
  ~RunningChild();
  RunningChild(const RunningChild&) = delete;
  RunningChild& operator=(const RunningChild&) = delete;

  // The next line that it prints.  Throws kInternal, with the last line of its errors, when it ends, or a
  // minute goes by, before it has printed one.
  std::string line();

  // Asks it to end, by SIGTERM, and waits until it has.  Throws as run_child.
  Usage end();

 private:
  const Command command_;
  pid_t process_ = -1;
  int output_ = -1;  // read end of a pipe
  std::string read_;
};

// Throws kUnavailable, saying where it comes from, unless there is such a program.
void expect_program(const std::string& name, const std::string& origin);

// The folder that this program is in.
std::string program_folder();

// The path of the program of this name in `folder`.  Throws kUnavailable when it is not there.
std::string program_path(const std::string& folder, const std::string& name);

// Returns true if a benchmark at so many threads keeps its children on one core.  At 1 thread it does, since
// a reader or a writer beside that thread would use another core.
inline bool on_one_core(int threads) {
  return threads == 1;
}

}  // namespace ps

#endif  // PS_BENCH_PROCESS_CHILD_H_
