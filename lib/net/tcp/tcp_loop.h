// A loop over epoll.  Used by make_tcp_transport and its sources alone.
#ifndef PS_NET_TCP_TCP_LOOP_H_
#define PS_NET_TCP_TCP_LOOP_H_

#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "net/loop.h"
#include "net/tcp/asio.h"

namespace ps {

// One owner thread, which runs it; any thread may call post().
class TcpLoop final : public Loop {
 public:
  boost::asio::io_context& context() { return context_; }

  // Runs `task` before the loop waits.  So a system call that only prepares a wait is saved if the loop need
  // not wait.
  void before_waiting(Task task) { before_waiting_.push_back(std::move(task)); }

  Time now() const override { return std::chrono::steady_clock::now().time_since_epoch(); }

  void post(Task task) override { boost::asio::post(context_, std::move(task)); }

  bool run_until(const std::function<bool()>& done, Time deadline) override {
    if (deadline <= now()) return run_ready(done);
    bool late = false;
    Timer limit(*this, [&late] { late = true; });
    limit.start_at(deadline);
    while (!done()) {
      if (late) return false;
      prepare_to_wait();
      context_.run_one();
    }
    return true;
  }

 private:
  // The most events in one poll, in case each event causes another one.
  static constexpr int kMaxReady = 1000;

  bool run_ready(const std::function<bool()>& done) {
    for (int i = 0; i < kMaxReady; ++i) {
      if (done()) return true;
      prepare_to_wait();
      if (context_.poll_one() == 0) return false;
    }
    return done();
  }

  void prepare_to_wait() {
    for (Task& task : before_waiting_) task();
    before_waiting_.clear();
  }

  // If an earlier alarm is set, it stays; when it fires, the next one is asked for.
  void set_alarm(Time time) override {
    if (time <= now()) return boost::asio::post(context_, [this] { fire_timers(); });
    if (alarm_time_ <= time) return;
    alarm_time_ = time;
    alarm_.expires_at(std::chrono::steady_clock::time_point(time));
    alarm_.async_wait([this](boost::system::error_code error) {
      if (error) return;
      alarm_time_ = kNever;
      fire_timers();
    });
  }

  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{context_.get_executor()};
  boost::asio::steady_timer alarm_{context_};
  Time alarm_time_ = kNever;          // the time for which alarm_ is set
  std::vector<Task> before_waiting_;  // tasks that run before the next wait; none of them adds another
};

}  // namespace ps

#endif  // PS_NET_TCP_TCP_LOOP_H_
