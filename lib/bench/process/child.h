// Runs programs to their end, and measures what they take.  Used by benchmarks of whole processes, of pskit
// and of others.
#ifndef PS_BENCH_PROCESS_CHILD_H_
#define PS_BENCH_PROCESS_CHILD_H_

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace ps {

// A program to run.
struct Command {
  std::vector<std::string> words;    // the program, as a path or a name on PATH, and its arguments
  std::string output = "/dev/null";  // file that its standard output goes to
  std::string errors = "/dev/null";  // file that its standard error goes to
  bool one_core = false;             // keep the program and its children on one core
};

// The resources that a program has used.
struct Usage {
  double cpu_seconds = 0;   // processor time of all its threads, in the program and in the system
  uint64_t peak_bytes = 0;  // most resident memory; at least what this process held when the child began
};

// Runs the program, without standard input, to its end.  Throws kUnavailable when there is no such program;
// kInternal, with the last line of `errors`, when it did not end with status 0.
Usage run_child(const Command& command);

// A program that runs beside this process, as a server does.  One owner thread, and a thread that reads all that
// the program prints, so that a full pipe never holds it up.
class RunningChild {
 public:
  // Starts the program.  line() returns its output, so command.output is not used.  Throws as run_child does.
  explicit RunningChild(const Command& command);

  // Kills the program unless end() was called.
  ~RunningChild();
  RunningChild(const RunningChild&) = delete;
  RunningChild& operator=(const RunningChild&) = delete;

  // Returns the next line that the program prints.  Throws kInternal, with the last line of its errors, when
  // it ends or a minute passes before the line is there.
  std::string line();

  // Asks the program to end, by SIGTERM, and waits until it has ended.  Throws as run_child does.
  Usage end();

 private:
  void read_output();

  const Command command_;
  pid_t process_ = -1;
  int output_ = -1;  // read end of the pipe that the program prints into; the reader's, like ending_
  int ending_ = -1;  // read end of a pipe that is closed when the reader is to end
  int end_ = -1;     // its other end
  std::mutex mutex_;
  std::condition_variable has_read_;  // there is more in read_, or the output has ended
  std::string read_;                  // what came after the last line; guarded by mutex_
  bool has_ended_ = false;            // the output has ended; guarded by mutex_
  std::thread reader_;
};

// Throws kUnavailable, with `origin`, which says where it comes from, unless there is a program of this name.
void expect_program(const std::string& name, const std::string& origin);

// Returns the folder of the running program.
std::string program_folder();

// Returns the path of the program of this name in `folder`.  Throws kUnavailable when it is not there.
std::string program_path(const std::string& folder, const std::string& name);

// Returns true if a benchmark with so many threads keeps its children on one core.  With 1 thread it does,
// since a reader or a writer beside that thread would use another core.
inline bool on_one_core(int threads) {
  return threads == 1;
}

}  // namespace ps

#endif  // PS_BENCH_PROCESS_CHILD_H_
