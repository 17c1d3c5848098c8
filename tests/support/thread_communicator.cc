#include "support/thread_communicator.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "collective/blame.h"

namespace ps {

namespace {

// A message between two ranks.
struct Message {
  CollectiveCall call;
  MessageMark mark;
  Buffer body;
};

// The state of a rank that the other ranks can see.
struct Member {
  std::condition_variable changed;            // wakes its thread
  std::vector<std::deque<Message>> inbox;     // by rank of the sender: its messages
  std::optional<std::vector<int>> waits_for;  // nullopt: it is in no collective
  bool left = false;
};

// The state that all ranks of a team share.
struct Team {
  explicit Team(int size) : members(static_cast<size_t>(size)) {
    for (Member& member : members) member.inbox.resize(members.size());
  }

  Member& at(int rank) { return members[static_cast<size_t>(rank)]; }

  // Sets the error of all ranks, unless there is one.  The mutex must be held.
  void fail(const Error& reason) {
    if (!error) error = reason;
    for (Member& member : members) member.changed.notify_all();
  }

  std::mutex mutex;  // guards all members that follow, except the pool
  std::vector<Member> members;
  std::optional<Error> error;
  BufferPool pool;
};

// The Exchange of one rank.  One owner thread; the state that other ranks see is in the team, under its mutex.
class ThreadExchange final : public Exchange {
 public:
  ThreadExchange(std::shared_ptr<Team> team, int rank)
      : team_(std::move(team)), own_(team_->at(rank)), rank_(rank), sent_(team_->members.size()) {}

  ~ThreadExchange() override {
    std::lock_guard lock(team_->mutex);
    own_.left = true;
    if (std::uncaught_exceptions() > exceptions_) {
      team_->fail(Error(Code::kUnavailable, cat("rank ", rank_, " died")));
    }
    for (Member& member : team_->members) member.changed.notify_all();
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(team_->members.size()); }
  Time now() const override { return std::chrono::steady_clock::now().time_since_epoch(); }
  bool may_change_threads() const override { return true; }
  uint64_t bytes_sent(int to) const override { return sent_[static_cast<size_t>(to)]; }

  void begin(Collective collective, uint8_t algorithm, Duration timeout) override {
    std::lock_guard lock(team_->mutex);
    if (team_->error) throw *team_->error;
    call_ = {collective, algorithm, call_.number + 1};
    timeout_ = timeout;
    deadline_ = add_time(now(), timeout);
    own_.waits_for.emplace();
  }

  void flush() override {}  // messages are copies

  void finish() override {
    std::lock_guard lock(team_->mutex);
    own_.waits_for.reset();
  }

  void abandon(const Error& reason) override {
    std::lock_guard lock(team_->mutex);
    own_.waits_for.reset();
    team_->fail(reason);
  }

  void send_marked(int to, ConstBytes bytes, MessageMark mark) override {
    Message message{call_, mark, team_->pool.take(bytes.size())};
    std::ranges::copy(bytes, message.body.data());
    sent_[static_cast<size_t>(to)] += bytes.size();
    std::lock_guard lock(team_->mutex);
    Member& member = team_->at(to);
    member.inbox[static_cast<size_t>(rank_)].push_back(std::move(message));
    member.changed.notify_one();
  }

  Buffer receive_marked(int from, size_t size, MessageMark mark) override {
    Buffer body = take(from, mark);
    if (body.size() != size) fail_size(from, call_, body.size(), size);
    return body;
  }

  Buffer receive_any_size(int from) override { return take(from, MessageMark::kNone); }

  MessageMark next_mark(int from) override {
    std::unique_lock lock(team_->mutex);
    wait(lock, {&from, 1});
    const Message& message = own_.inbox[static_cast<size_t>(from)].front();
    check_same_call(from, message.call, call_);
    return message.mark;
  }

  int await(std::span<const int> from) override {
    std::unique_lock lock(team_->mutex);
    return wait(lock, from);
  }

 private:
  Buffer take(int from, MessageMark mark) {
    check_mark(from, call_, next_mark(from), mark);
    std::lock_guard lock(team_->mutex);
    std::deque<Message>& inbox = own_.inbox[static_cast<size_t>(from)];
    Message message = std::move(inbox.front());
    inbox.pop_front();
    return std::move(message.body);
  }

  std::optional<int> first_heard(std::span<const int> from) const {
    for (int rank : from) {
      if (!own_.inbox[static_cast<size_t>(rank)].empty()) return rank;
    }
    return std::nullopt;
  }

  bool all_left(std::span<const int> from) const {
    return std::ranges::all_of(from, [&](int rank) { return team_->at(rank).left; });
  }

  // Waits until one of these ranks has sent a message, and returns the first one that has.  Sets the error of
  // the team if all of them have left, or the deadline has passed.
  int wait(std::unique_lock<std::mutex>& lock, std::span<const int> from) {
    if (std::optional<int> heard = first_heard(from)) return *heard;
    own_.waits_for->assign(from.begin(), from.end());
    const auto until = std::chrono::steady_clock::time_point(deadline_);
    const bool in_time = own_.changed.wait_until(
        lock, until, [&] { return first_heard(from) || team_->error || all_left(from); });
    if (std::optional<int> heard = first_heard(from)) {
      own_.waits_for->clear();
      return *heard;
    }
    // Under the same lock: this rank no longer waits, and another rank could otherwise find it to blame.
    if (!team_->error) team_->fail(in_time ? left_error(from) : late_error(from));
    throw *team_->error;
  }

  Error left_error(std::span<const int> from) const {
    return Error(Code::kUnavailable, cat(ranks_text(from), " has left before ", to_text(call_)));
  }

  Error late_error(std::span<const int> from) const {
    const Blame blame = find_blame(rank_, from, [&](int rank) { return team_->at(rank).waits_for; });
    return Error(Code::kUnavailable,
                 cat(ranks_text(blame.ranks), blame.ranks.size() == 1 ? " is " : " are ", blame.what, ": ",
                     to_text(call_), " took more than ", to_seconds(timeout_), " s"));
  }

  const std::shared_ptr<Team> team_;
  Member& own_;
  const int rank_;
  const int exceptions_ = std::uncaught_exceptions();
  std::vector<uint64_t> sent_;  // bytes by rank; owner thread only, like all members that follow
  CollectiveCall call_;
  Duration timeout_{};
  Time deadline_{};
};

}  // namespace

std::vector<std::unique_ptr<ExchangeCommunicator>> make_thread_communicators(
    const ThreadCommunicatorOptions& options) {
  auto team = std::make_shared<Team>(options.size);
  std::vector<std::unique_ptr<ExchangeCommunicator>> out;
  for (int rank = 0; rank < options.size; ++rank) {
    auto exchange = std::make_unique<ThreadExchange>(team, rank);
    out.push_back(
        std::make_unique<ExchangeCommunicator>(std::move(exchange), options.algorithm, options.timeout));
  }
  return out;
}

}  // namespace ps
