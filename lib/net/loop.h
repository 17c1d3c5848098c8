// Loop: the clock, timers and tasks of the thread on which all objects of `net` run.  Used by all code that
// waits.
//
// A Loop belongs to one thread, the one that calls run or run_until; only post and stop may be called from
// others.  A shard runs one for good.  A trainer's thread drives one just while it waits for an answer
// (run_until), so that a request costs no hand-over between threads.  The clock never goes back and is not
// the time of day; in tests it is simulated (net/sim/sim_network.h).
#ifndef PS_NET_LOOP_H_
#define PS_NET_LOOP_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

namespace ps {

using Duration = std::chrono::nanoseconds;
using Time = std::chrono::nanoseconds;  // since a beginning that the loop chooses

inline constexpr Time kNever = Time::max();

// A duration in seconds, and back.
constexpr Duration seconds_duration(double seconds) {
  return Duration(static_cast<int64_t>(seconds * 1e9));
}
constexpr double to_seconds(Duration duration) {
  return static_cast<double>(duration.count()) / 1e9;
}

// `time` + `duration`, kNever when that is beyond the clock.
constexpr Time add_time(Time time, Duration duration) {
  return duration >= kNever - time ? kNever : time + duration;
}

class Timer;

class Loop {
 public:
  using Task = std::function<void()>;

  virtual ~Loop() = default;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  virtual Time now() const = 0;

  // Runs `task` on the loop's thread, soon, never inside this call.  Tasks run in the order in which they
  // were posted.  Any thread.
  virtual void post(Task task) = 0;

  // Handles events until done() returns true, and returns true; done() is called at once and after every event.
  // Returns false when `deadline` has come.  An exception of a handler comes out here, and the loop can be run
  // again.
  virtual bool run_until(const std::function<bool()>& done, Time deadline) = 0;

  // Returns true if another thread may run the loop, as long as the threads take turns in using the loop and
  // all objects that belong to it.
  virtual bool may_change_threads() const { return true; }

  // Handles the events that have happened already, without waiting.
  void poll() {
    run_until([] { return false; }, now());
  }

  // Runs until stop(), which any thread may call, also before run().
  void run();
  void stop();

 protected:
  Loop() = default;

  // For implementations: asks that fire_timers() be called at `time`, or as soon as possible when that has
  // passed; a later time than the last one asked for may be ignored.
  virtual void set_alarm(Time time) = 0;

  // Runs the timers that are due, and sets the alarm for the next one.
  void fire_timers();

 private:
  friend class Timer;

  void arm();
  void insert(Timer* timer);
  void remove(Timer* timer);
  void set_position(size_t position, Timer* timer);
  void sift_up(size_t position);
  void sift_down(size_t position);

  std::vector<Timer*> timers_;  // a binary heap, the earliest first
  uint64_t num_started_ = 0;    // so that timers of the same time fire in the order of their start
  Time alarm_ = kNever;         // the earliest time asked for and not yet come
  bool stopped_ = false;
};

// Calls `fire` on the loop's thread when its time has come; not before, and once for each start.
//
// Starting and stopping a timer makes no system call unless it becomes the loop's earliest, so that a timer
// for every request is cheap.  The loop must outlive it.  `fire` may start, stop or destroy any timer, this
// one too.
class Timer {
 public:
  Timer(Loop& loop, std::function<void()> fire) : loop_(loop), fire_(std::move(fire)) {}
  ~Timer() { stop(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Starting a started timer moves it.  kNever stops it.
  void start_at(Time time);
  void start_after(Duration duration) { start_at(add_time(loop_.now(), duration)); }
  void stop();

  bool started() const { return position_ != kStopped; }
  Time time() const { return time_; }  // time at which a started timer fires

 private:
  friend class Loop;
  static constexpr size_t kStopped = SIZE_MAX;

  Loop& loop_;
  const std::function<void()> fire_;
  Time time_{};
  uint64_t order_ = 0;
  size_t position_ = kStopped;  // index in the loop's heap
};

}  // namespace ps

#endif  // PS_NET_LOOP_H_
