#include "collective/net/net_exchange.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "collective/net/rendezvous.h"

namespace ps {

NetExchange::NetExchange(Loop& loop, std::unique_ptr<BufferPool> pool, int rank,
                         std::vector<std::unique_ptr<RankLanes>> links, bool patient,
                         std::function<bool()> stop)
    : loop_(loop),
      pool_(std::move(pool)),
      rank_(rank),
      links_(std::move(links)),
      forgotten_bytes_(links_.size()),
      patient_(patient),
      stop_(std::move(stop)) {
  for (const auto& each : links_) {
    if (each != nullptr) each->on_roll_call([this] { return waits_for_; });
  }
}

// If an exception ends this rank, it sends no farewell, so that the others see that it has failed.
NetExchange::~NetExchange() {
  if (broken_ || std::uncaught_exceptions() > exceptions_) return;
  for (const auto& each : links_) {
    if (each != nullptr) each->leave();
  }
  say_goodbye(loop_, links_, kNever);
}

void NetExchange::begin(Collective collective, uint8_t algorithm, Duration timeout) {
  if (broken_) throw *broken_;
  call_ = {collective, algorithm, call_.number + 1};
  begun_ = loop_.now();
  timeout_ = timeout;
}

void NetExchange::finish() {
  flush();
}

// The farewell has the rest of the collective's time, so that slow links still carry the reason.
void NetExchange::abandon(const Error& reason) {
  broken_ = reason;
  for (const auto& each : links_) {
    if (each != nullptr) each->give_up(reason);
  }
  say_goodbye(loop_, links_, add_time(begun_, timeout_));
}

int NetExchange::connections() const {
  return size() == 1 ? 1 : link(rank_ == 0 ? 1 : 0).num_used();
}

void NetExchange::use_connections(int num) {
  for (const auto& each : links_) {
    if (each != nullptr) each->use_lanes(num);
  }
}

void NetExchange::forget_bytes_sent() {
  for (size_t rank = 0; rank < links_.size(); ++rank) {
    if (links_[rank] != nullptr) forgotten_bytes_[rank] = links_[rank]->bytes_sent();
  }
}

// ---- messages

void NetExchange::send_marked(int to, ConstBytes bytes, MessageMark mark) {
  auto payload = std::make_shared<Payload>();
  if (!bytes.empty()) payload->parts.push_back(bytes);
  link(to).send(RankFrame::kChunk, encode_call(call_, mark), std::move(payload));
}

Buffer NetExchange::receive_marked(int from, size_t size, MessageMark mark) {
  if (!link(from).has_frame()) link(from).expect_body(size);
  Buffer body = take(from, mark);
  if (body.size() != size) fail_size(from, call_, body.size(), size);
  return body;
}

Buffer NetExchange::receive_any_size(int from) {
  return take(from, MessageMark::kNone);
}

// A chunk names its call in its request_id.  The check comes before the frame is taken, and makes a program
// whose ranks call different collectives fail instead of adding wrong numbers.
MessageMark NetExchange::next_mark(int from) {
  await({&from, 1});
  const FrameHeader& header = link(from).first_header();
  if (header.type != static_cast<uint16_t>(RankFrame::kChunk)) {
    fail(Code::kUsage, rank_text(from, link(from)), " sent a frame of type ", header.type, " in ",
         to_text(call_));
  }
  check_same_call(from, decode_call(header.request_id), call_);
  return decode_mark(header.request_id);
}

Buffer NetExchange::take(int from, MessageMark mark) {
  check_mark(from, call_, next_mark(from), mark);
  return std::move(link(from).take_frame().body);
}

std::optional<int> NetExchange::first_heard(std::span<const int> from) const {
  for (int rank : from) {
    if (link(rank).has_frame()) return rank;
  }
  return std::nullopt;
}

// Two ranks send at about the same time, so that a message has often come by the time at which it is wanted, or comes
// soon after.  To try to read it costs less than to ask the loop and to sleep (RankLink::receive_now).  With more connections than
// one, the loop watches the others too, and would report later what was read without it.
int NetExchange::await(std::span<const int> from) {
  if (std::optional<int> heard = first_heard(from)) return *heard;
  if (size() == 2 && connections() == 1) {
    waits_for_ = {from[0]};  // for a roll call among what is read
    link(from[0]).receive_now();
    waits_for_.clear();
    if (link(from[0]).has_frame()) return from[0];
  }
  wait({from.begin(), from.end()}, [&] { return first_heard(from).has_value(); });
  return *first_heard(from);
}

// Waits for one rank after the other: a rank that has received everything may leave while others are still
// written to.
void NetExchange::flush() {
  for (int rank = 0; rank < size(); ++rank) {
    if (rank == rank_ || link(rank).flushed()) continue;
    wait({rank}, [this, rank] { return link(rank).flushed(); });
  }
}

// ---- waiting

// Waits for done() three quarters of the timeout, then holds a roll call.  If no rank can be blamed but busy
// ones, and this exchange is patient, it begins to wait again.
void NetExchange::wait(std::vector<int> awaited, const std::function<bool()>& done) {
  waits_for_ = std::move(awaited);
  while (!run_until(done, add_time(begun_, timeout_ / 4 * 3)) && !hold_roll_call(done)) {
    if (!patient_ || !blame().busy) fail_late();
    begun_ = loop_.now();
  }
  waits_for_.clear();
}

// Returns true if done() became true before the deadline.  Throws if it cannot become true any more.
bool NetExchange::run_until(const std::function<bool()>& done, Time deadline) {
  if (loop_.run_until([&] { return done() || trouble(); }, deadline) && !done()) throw *trouble();
  return done();
}

// begun_ moves to the present, since the last collective may have begun long ago, and would leave no time
// for the farewell of abandon.
void NetExchange::check_others() {
  if (broken_) throw *broken_;
  const std::optional<Error> error = trouble();
  if (!error) return;
  begun_ = loop_.now();
  abandon(*error);
  throw *error;
}

// If another rank has reported the cause, its report is thrown rather than the loss of its connection.
std::optional<Error> NetExchange::trouble() const {
  // A reason that a rank gave comes before any lost connection, and a rank that has left is trouble only
  // for ranks that wait for it.
  if (stop_ && stop_()) return Error(Code::kUnavailable, "ended while it waited for others");
  for (int rank = 0; rank < size(); ++rank) {
    if (rank != rank_ && link(rank).gave_up()) {
      return link(rank).gave_up()->within(rank_text(rank, link(rank)));
    }
  }
  for (int rank = 0; rank < size(); ++rank) {
    if (rank != rank_ && link(rank).lost()) {
      return Error(Code::kUnavailable,
                   cat(rank_text(rank, link(rank)), " is gone: ", link(rank).loss().message()));
    }
  }
  for (int rank : waits_for_) {
    if (link(rank).left()) {
      return Error(Code::kUnavailable, cat(rank_text(rank, link(rank)), " has left before ", to_text(call_)));
    }
  }
  return std::nullopt;
}

// Asks all ranks, including those that they wait for.  Returns true if done() became true meanwhile.
bool NetExchange::hold_roll_call(const std::function<bool()>& done) {
  auto answered = [](const auto& each) { return each == nullptr || !each->open() || each->present(); };
  for (const auto& each : links_) {
    if (each != nullptr) each->call_roll();
  }
  // Answers have an eighth of the collective's time, up to 7/8 of it; the last eighth is for telling the
  // others.
  run_until([&] { return done() || std::ranges::all_of(links_, answered); },
            add_time(begun_, timeout_ / 8 * 7));
  return done();
}

Blame NetExchange::blame() const {
  return find_blame(rank_, waits_for_, [&](int rank) { return link(rank).present(); });
}

void NetExchange::fail_late() const {
  const Blame found = blame();
  std::string who =
      found.ranks.size() == 1 ? rank_text(found.ranks[0], link(found.ranks[0])) : ranks_text(found.ranks);
  fail(Code::kUnavailable, who, found.ranks.size() == 1 ? " is " : " are ", found.what, ": ", to_text(call_),
       " took more than ", to_seconds(timeout_ / 4 * 3), " s");
}

}  // namespace ps
