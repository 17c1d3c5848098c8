#include "cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/text.h"

namespace ps {

namespace {

constexpr double kDrawPeriodSeconds = 0.1;  // a faster bar would flicker
constexpr int kDefaultWidth = 80;

bool is_shown(ProgressMode mode) {
  return mode == ProgressMode::kAlways || (mode == ProgressMode::kAuto && isatty(STDERR_FILENO));
}

int terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kDefaultWidth;
}

// "950", "12.3k", "4.56M": three significant digits.
std::string short_count(double value) {
  static constexpr const char* kSuffixes[] = {"", "k", "M", "G", "T"};
  size_t suffix = 0;
  while (value >= 999.5 && suffix + 1 < std::size(kSuffixes)) value /= 1000, ++suffix;
  char buffer[32];
  int decimals = suffix == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  std::snprintf(buffer, sizeof buffer, "%.*f%s", decimals, value, kSuffixes[suffix]);
  return buffer;
}

// "0:07", "12:34", "1:02:03".
std::string clock_time(double seconds) {
  int64_t whole = static_cast<int64_t>(std::min(seconds, 359999.0));
  int hours = static_cast<int>(whole / 3600), minutes = static_cast<int>(whole / 60 % 60);
  int rest = static_cast<int>(whole % 60);
  char buffer[48];
  if (hours > 0) {
    std::snprintf(buffer, sizeof buffer, "%d:%02d:%02d", hours, minutes, rest);
  } else {
    std::snprintf(buffer, sizeof buffer, "%d:%02d", minutes, rest);
  }
  return buffer;
}

std::string bar(double fraction, int columns) {
  int filled = static_cast<int>(fraction * columns);
  std::string out(static_cast<size_t>(filled), '=');
  if (filled < columns) out += '>';
  out.resize(static_cast<size_t>(columns), ' ');
  return cat("[", out, "]");
}

}  // namespace

ProgressMode progress_mode(const Flags& flags) {
  std::string mode = flags.text("progress").value_or("auto");
  if (mode == "always") return ProgressMode::kAlways;
  return mode == "never" ? ProgressMode::kOff : ProgressMode::kAuto;
}

// A line has the form "label count unit rate/s time", with the time so far, if the total is unknown; else
// it is
//   label [===>   ] percent% count unit rate/s time left
// The bar takes the columns that the rest leaves, at most 40, and is left out below 4.
std::string progress_line(const ProgressTask& task, double done, double seconds, int width) {
  double rate = seconds > 0 ? done / seconds : 0;
  std::string counts = cat(short_count(done), " ", task.unit, " ", short_count(rate), "/s ");
  std::string out;
  if (task.total <= 0) {
    out = cat(task.label, " ", counts, clock_time(seconds));
  } else {
    double fraction = std::clamp(done / task.total, 0.0, 1.0);
    std::string left = rate > 0 ? clock_time((task.total - std::min(done, task.total)) / rate) : "-:--";
    std::string tail = cat(significant(static_cast<int>(100 * fraction), 3), "% ", counts, left, " left");
    int columns = std::min(40, width - static_cast<int>(task.label.size() + tail.size()) - 4);
    out = cat(task.label, " ", columns >= 4 ? bar(fraction, columns) + " " : "", tail);
  }
  return out.substr(0, static_cast<size_t>(std::max(width, 0)));
}

Progress::Progress(Log& log, ProgressMode mode, ProgressTask task, Clock clock)
    : log_(log),
      shown_(is_shown(mode)),
      width_(shown_ ? terminal_width() - 1 : 0),  // a full line would wrap
      clock_(std::move(clock)),
      task_(std::move(task)),
      started_(clock_()),
      next_draw_(started_ + kDrawPeriodSeconds) {}

void Progress::update(double done) {
  if (!shown_) return;
  double now = clock_();
  if (now < next_draw_) return;
  next_draw_ = now + kDrawPeriodSeconds;
  log_.status(progress_line(task_, done, now - started_, width_));
}

void Progress::finish() {
  if (shown_) log_.status("");
}

}  // namespace ps
