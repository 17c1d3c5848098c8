#include "net/loop.h"

#include <utility>

namespace ps {

void Loop::run() {
  run_until([this] { return std::exchange(stopped_, false); }, kNever);
}

void Loop::stop() {
  post([this] { stopped_ = true; });
}

void Loop::arm() {
  if (timers_.empty() || timers_.front()->time_ >= alarm_) return;
  alarm_ = timers_.front()->time_;
  set_alarm(alarm_);
}

void Loop::fire_timers() {
  struct ArmAtTheEnd {  // also after an exception
    Loop& loop;
    ~ArmAtTheEnd() { loop.arm(); }
  } arm_at_the_end{*this};
  alarm_ = kNever;
  // A timer that is started anew while others fire waits for the next round: a timer of no delay must not
  // keep the loop from its sockets.
  Time now_time = now();
  uint64_t round = num_started_;
  while (!timers_.empty()) {
    Timer* timer = timers_.front();
    if (timer->time_ > now_time || timer->order_ > round) break;
    remove(timer);
    timer->fire_();
  }
}

// The alarm is only ever moved forward: a timer that is stopped leaves it where it is, and costs one wake-up
// too many instead of a system call each time.
void Loop::insert(Timer* timer) {
  timer->order_ = ++num_started_;
  timers_.push_back(timer);
  timer->position_ = timers_.size() - 1;
  sift_up(timer->position_);
  arm();
}

// The last timer of the heap takes the place of the removed one, and moves up or down to where it belongs;
// one of the two calls does nothing.
void Loop::remove(Timer* timer) {
  size_t position = std::exchange(timer->position_, Timer::kStopped);
  Timer* last = timers_.back();
  timers_.pop_back();
  if (last == timer) return;
  set_position(position, last);
  sift_up(position);
  sift_down(last->position_);
}

void Loop::set_position(size_t position, Timer* timer) {
  timers_[position] = timer;
  timer->position_ = position;
}

namespace {

bool earlier(Time time, uint64_t order, Time other_time, uint64_t other_order) {
  return time != other_time ? time < other_time : order < other_order;
}

}  // namespace

// Moves the timer at `position` up while it is earlier than its parent.  Parents move down into the hole
// that it leaves, and it is written once, at the end.
void Loop::sift_up(size_t position) {
  Timer* timer = timers_[position];
  while (position > 0) {
    size_t parent = (position - 1) / 2;
    Timer* above = timers_[parent];
    if (!earlier(timer->time_, timer->order_, above->time_, above->order_)) break;
    set_position(position, above);
    position = parent;
  }
  set_position(position, timer);
}

// Moves the timer at `position` down while one of its children is earlier; the earlier of the two moves up.
void Loop::sift_down(size_t position) {
  Timer* timer = timers_[position];
  for (size_t child; (child = 2 * position + 1) < timers_.size(); position = child) {
    Timer* below = timers_[child];
    if (child + 1 < timers_.size()) {
      Timer* other = timers_[child + 1];
      if (earlier(other->time_, other->order_, below->time_, below->order_)) below = other, ++child;
    }
    if (!earlier(below->time_, below->order_, timer->time_, timer->order_)) break;
    set_position(position, below);
  }
  set_position(position, timer);
}

void Timer::start_at(Time time) {
  stop();
  if (time == kNever) return;
  time_ = time;
  loop_.insert(this);
}

void Timer::stop() {
  if (started()) loop_.remove(this);
}

}  // namespace ps
