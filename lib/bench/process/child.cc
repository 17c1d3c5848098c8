#include "bench/process/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <utility>

#include "base/error.h"
#include "base/file.h"

extern char** environ;

namespace ps {

namespace {

constexpr uint64_t kMostErrors = uint64_t{16} << 20;  // most bytes of messages that are read
constexpr size_t kMostUnread = size_t{1} << 20;  // bytes of output that wait for line(); others are dropped

// Keeps the calling thread, and with it the children that it starts, on one core as long as this object
// exists.  The calling thread owns it.
class OneCore {
 public:
  explicit OneCore(bool wanted) : wanted_(wanted) {
    if (!wanted_) return;
    sched_getaffinity(0, sizeof before_, &before_);
    int core = 0;
    while (core < CPU_SETSIZE - 1 && !CPU_ISSET(core, &before_)) ++core;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~OneCore() {
    if (wanted_) sched_setaffinity(0, sizeof before_, &before_);
  }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;

 private:
  const bool wanted_;
  cpu_set_t before_{};
};

// Starts a child by posix_spawn rather than fork, so that no page table is copied, however much memory this
// process has.  `output` is a file to write to, or -1 for command.output.
int spawn(const Command& command, pid_t& process, int output = -1) {
  std::vector<std::string> words = command.words;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  constexpr int kReplace = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (output >= 0) {
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, command.output.c_str(), kReplace, 0644);
  }
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, command.errors.c_str(), kReplace, 0644);
  OneCore pinned(command.one_core);
  int error = posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

std::string last_line(const std::string& path) {
  if (path == "/dev/null") return "";
  std::string text = read_file(path, kMostErrors);
  text.erase(text.find_last_not_of('\n') + 1);
  return text.substr(text.rfind('\n') + 1);
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// Waits for the end of the child.  wait4 gives its own usage, not that of all children so far, and the peak
// of its memory in KiB.
Usage wait_for(const Command& command, pid_t process) {
  int status = 0;
  rusage usage{};
  while (wait4(process, &status, 0, &usage) < 0) {
    if (errno != EINTR) fail_errno(Code::kInternal, "cannot wait for", command.words[0], errno);
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    std::string how =
        WIFEXITED(status) ? cat("with status ", WEXITSTATUS(status)) : cat("by signal ", WTERMSIG(status));
    fail(Code::kInternal, quote(join(command.words, " ")), " ended ", how, ": ", last_line(command.errors));
  }
  return {seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
          static_cast<uint64_t>(usage.ru_maxrss) * 1024};
}

}  // namespace

Usage run_child(const Command& command) {
  pid_t process = -1;
  if (int error = spawn(command, process); error != 0) {
    fail_errno(Code::kUnavailable, "cannot start", command.words[0], error);
  }
  return wait_for(command, process);
}

// The child gets the write end of a pipe, which is closed here at once: the read end then comes to its end
// when the child does.
RunningChild::RunningChild(const Command& command) : command_(command) {
  int ends[2], stop[2];
  if (pipe2(ends, O_CLOEXEC) < 0)
    fail_errno(Code::kExhausted, "cannot make a pipe for", command.words[0], errno);
  output_ = ends[0];
  int error = pipe2(stop, O_CLOEXEC) < 0 ? errno : 0;
  if (error != 0) {
    close(output_), close(ends[1]);
    fail_errno(Code::kExhausted, "cannot make a pipe for", command.words[0], error);
  }
  ending_ = stop[0], end_ = stop[1];
  error = spawn(command_, process_, ends[1]);
  close(ends[1]);
  if (error == 0) {
    reader_ = std::thread([this] { read_output(); });
    return;
  }
  for (int file : {output_, ending_, end_}) close(file);
  fail_errno(Code::kUnavailable, "cannot start", command.words[0], error);
}

// The reader is told to end, since a process that the child has started may keep the pipe open.
RunningChild::~RunningChild() {
  if (process_ >= 0) {
    kill(process_, SIGKILL);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  close(end_);
  reader_.join();
  close(output_), close(ending_);
}

// The reader's loop.  It reads on when nobody takes lines, and drops what is too much to keep.
void RunningChild::read_output() {
  char bytes[4096];
  for (;;) {
    pollfd ready[] = {{output_, POLLIN, 0}, {ending_, POLLIN, 0}};
    if (poll(ready, 2, -1) < 0 && errno == EINTR) continue;
    const ssize_t count = ready[1].revents == 0 ? read(output_, bytes, sizeof bytes) : 0;
    if (count < 0 && errno == EINTR) continue;
    std::lock_guard lock(mutex_);
    has_ended_ = count <= 0;
    if (count > 0 && read_.size() < kMostUnread) read_.append(bytes, static_cast<size_t>(count));
    has_read_.notify_all();
    if (has_ended_) return;
  }
}

// The wait is limited to a minute, so that a child which hangs is an error.
std::string RunningChild::line() {
  std::unique_lock lock(mutex_);
  has_read_.wait_for(lock, std::chrono::minutes(1),
                     [this] { return has_ended_ || read_.find('\n') != std::string::npos; });
  const size_t end = read_.find('\n');
  if (end == std::string::npos) {
    fail(Code::kInternal, quote(join(command_.words, " ")), " printed nothing: ", last_line(command_.errors));
  }
  std::string line = read_.substr(0, end);
  read_.erase(0, end + 1);
  return line;
}

Usage RunningChild::end() {
  kill(process_, SIGTERM);
  return wait_for(command_, std::exchange(process_, -1));
}

// The child's end is waited for, whatever its status: some programs do not know --version.
void expect_program(const std::string& name, const std::string& origin) {
  pid_t process = -1;
  if (spawn({.words = {name, "--version"}}, process) != 0) {
    fail(Code::kUnavailable, quote(name), " is not installed; ", origin);
  }
  while (waitpid(process, nullptr, 0) < 0 && errno == EINTR) continue;
}

std::string program_folder() {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  PS_CHECK(length > 0);
  std::string text(path, static_cast<size_t>(length));
  return text.substr(0, text.rfind('/'));
}

std::string program_path(const std::string& folder, const std::string& name) {
  std::string path = join_path(folder, name);
  if (!exists(path))
    fail(Code::kUnavailable, "there is no ", quote(path), "; build it, or install all programs");
  return path;
}

}  // namespace ps
