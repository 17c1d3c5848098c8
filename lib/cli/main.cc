#include "cli/main.h"

#include <fcntl.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/memory_reserve.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/completion.h"
#include "cli/help.h"
#include "cli/launcher.h"
#include "cli/manual.h"
#include "cli/variables.h"

namespace ps {

namespace {

bool has_flag(const Program& program, std::string_view name) {
  for (const Flag& flag : program.flags) {
    if (flag.name == name) return true;
  }
  return false;
}

LogLevel log_level(const Program& program, const Flags& flags) {
  if (!has_flag(program, "log-level")) return LogLevel::kInfo;
  std::string level = flags.text("log-level").value_or("info");
  if (level == "error") return LogLevel::kError;
  if (level == "warning") return LogLevel::kWarning;
  return level == "debug" ? LogLevel::kDebug : LogLevel::kInfo;
}

// Returns the output of --help and similar flags; empty when none is given.
std::string answer(const Program& program, const Flags& flags) {
  if (flags.on("help-all")) return help_text(program);
  if (flags.on("help")) return brief_help_text(program);
  if (flags.on("version")) return version_line(program);
  if (flags.on("dump-man-options")) return manual_options(program);
  if (flags.given("dump-completion")) return completion(program, *flags.text("dump-completion"));
  return "";
}

int run(const Program& program, const std::vector<std::string>& arguments, const Body& body) {
  Flags flags = Flags::parse(program, arguments, process_environment());
  std::string text = answer(program, flags);
  if (!text.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  }
  Log log(program.name, log_level(program, flags));
  warn_of_unknown_variables(program, process_variables(), log);
  return body(flags, log);
}

// Runs the body, and reports its errors.  Debug builds of the standard library and Boost throw many types:
// all are caught.
template <class Run>
int run_and_report(const std::string& name, Run&& run_program) {
  auto report = [&](const std::string& what, Code code) {
    std::fflush(stdout);  // results so far come before the message when both go to one place
    std::fprintf(stderr, "%s: %s\n", name.c_str(), printable(what).c_str());
    return static_cast<int>(code);
  };
  try {
    return run_program();
  } catch (const Error& error) {
    return report(error.message(), error.code());
  } catch (const std::bad_alloc&) {
    return report("out of memory", Code::kExhausted);
  } catch (const std::exception& error) {
    return report(cat("internal error: ", error.what()), Code::kInternal);
  } catch (...) {
    return report("internal error: unknown exception", Code::kInternal);
  }
}

// Opens those of standard input, output and error that whoever started the program has closed.  Else the next files to
// be opened would get their numbers, and messages would go into these.  Each is opened for the direction that nobody
// uses, so that reading and writing fail as they do where a number is closed.
void open_closed_streams() {
  for (int number = 0; number <= 2; ++number) {
    if (fcntl(number, F_GETFD) < 0) open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY);
  }
}

// Writes buffered output, and returns false if that fails: a full disk may not show any earlier.
bool flush_standard_output() {
  std::cout.flush();
  bool flushed = std::fflush(stdout) == 0;
  return flushed && !std::ferror(stdout) && !std::cout.fail();
}

}  // namespace

// A parent may have left SIGPIPE ignored; by default it ends a program that nobody reads.  Output is
// flushed last, after the body and its message: only then it is known that all of it was written.
int run_main(const std::function<Program()>& program, int argc, const char* const* argv, const Body& body) {
  open_closed_streams();
  std::signal(SIGPIPE, SIG_DFL);
  const MemoryReserve reserve;
  const std::string_view path = argc > 0 ? argv[0] : "";
  std::string name(
      path.substr(path.rfind('/') + 1));  // until the program is there; so short that it needs no memory
  const int status = run_and_report(name, [&] {
    const Program made = program();
    name = made.name;
    return run(made, std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc), body);
  });
  if (flush_standard_output()) return status;
  std::fprintf(stderr, "%s: cannot write standard output (is the disk full?)\n", name.c_str());
  return status != 0 ? status : static_cast<int>(Code::kExhausted);
}

}  // namespace ps
