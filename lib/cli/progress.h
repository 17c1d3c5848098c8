// A progress bar with rate and time left, on a terminal.  Used by programs that run for more than a moment.
#ifndef PS_CLI_PROGRESS_H_
#define PS_CLI_PROGRESS_H_

#include <functional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "cli/flags.h"

namespace ps {

enum class ProgressMode { kAuto, kAlways, kOff };  // auto: when standard error is a terminal

// --progress of the common flags.
ProgressMode progress_mode(const Flags& flags);

// The task of a progress bar.  `total` is its number of units, or 0 when it is unknown.
struct ProgressTask {
  std::string label;  // "pass 1"
  std::string unit;   // "samples"
  double total = 0;
};

// The line for `done` units after `seconds`, at most `width` columns:
//   pass 1 [=========>          ]  45% 123.4k samples 56.7k/s 0:12 left        (total known)
//   pass 1 123.4k samples 56.7k/s 0:12                                         (unknown: time so far)
std::string progress_line(const ProgressTask& task, double done, double seconds, int width);

// Draws through Log::status, so that other messages pass above it, at most ten times a second.  Owner thread
// only.
class Progress {
 public:
  using Clock = std::function<double()>;  // seconds, from any origin

  Progress(Log& log, ProgressMode mode, ProgressTask task, Clock clock = monotonic_seconds);
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(double done);  // units done so far, in all

  // The same with a new estimate of the total; 0: unknown.
  void update(double done, double total) { task_.total = total, update(done); }

  void finish();  // clears the line

 private:
  Log& log_;
  const bool shown_;
  const int width_;
  const Clock clock_;
  ProgressTask task_;
  double started_, next_draw_;
};

}  // namespace ps

#endif  // PS_CLI_PROGRESS_H_
