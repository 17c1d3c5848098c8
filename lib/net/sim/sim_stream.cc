#include "net/sim/sim_stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace ps {

SimSide::SimSide(SimConnection& connection, SimPlace& place, SimSide& peer)
    : connection_(connection), place_(place), peer_(peer) {}

void SimSide::open() {
  has_stream_ = true;
  place_.sides().insert(this);
}

// Closes as systems do: with unread bytes of the peer it sends a reset, else the end of the stream.
void SimSide::close() {
  has_stream_ = false;
  events_ = nullptr;
  place_.sides().erase(this);
  if (reset_) return;
  inbox_begin_ < inbox_.size() ? send_reset() : shutdown_write();
}

// The bytes that are read are reported to the peer as credit, which arrives after the latency: as with
// TCP's window, a writer may have window_bytes on the way and unread.
IoResult SimSide::read(std::span<const MutableBytes> into) {
  size_t available = inbox_.size() - inbox_begin_, taken = 0;
  if (available == 0) {
    if (reset_) return {.error = ECONNRESET};
    return {.error = peer_ended_ ? 0 : EAGAIN};
  }
  for (MutableBytes span : into) {
    size_t part = std::min(span.size(), available - taken);
    if (part != 0) std::memcpy(span.data(), inbox_.data() + inbox_begin_ + taken, part);
    taken += part;
  }
  inbox_begin_ += taken;
  if (inbox_begin_ == inbox_.size()) inbox_.clear(), inbox_begin_ = 0;
  carry(0, [taken](SimSide& peer) { peer.receive_credit(taken); });
  return {.bytes = taken};
}

// Returns the number of the offered bytes that are accepted at once.  On a splitting link it may be any number.
uint64_t SimSide::acceptable(uint64_t offered) {
  SimLinks& links = place_.links();
  const SimLink& link = links.link(place_, peer_place());
  uint64_t room = link.window_bytes - std::min(link.window_bytes, num_unread_);
  uint64_t most = std::min(offered, room);
  bool less = most > 1 && link.split && links.random().below(2) == 0;
  return less ? 1 + links.random().below(most) : most;
}

// Takes as many of the bytes as the window allows.  num_unread_ counts them until the peer reports that it
// has read them.
IoResult SimSide::write(std::span<const ConstBytes> from) {
  if (reset_) return {.error = ECONNRESET};
  if (write_ended_) return {.error = EPIPE};
  uint64_t offered = 0;
  for (ConstBytes span : from) offered += span.size();
  uint64_t taken = acceptable(offered);
  if (taken == 0) return {.error = EAGAIN};
  std::string bytes;
  for (ConstBytes span : from)
    bytes.append(span.data(), std::min<uint64_t>(span.size(), taken - bytes.size()));
  num_unread_ += taken;
  send(std::move(bytes));
  return {.bytes = taken};
}

// Sends the bytes.  A splitting link divides them into up to three parts, which may have one byte or none.
void SimSide::send(std::string bytes) {
  SimLinks& links = place_.links();
  if (links.link(place_, peer_place()).split) {
    for (int i = 0; i < 2 && bytes.size() > 1; ++i) {
      std::string part = bytes.substr(0, 1 + links.random().below(bytes.size() - 1));
      bytes.erase(0, part.size());
      carry(part.size(), [part](SimSide& peer) { peer.receive(part); });
    }
  }
  carry(bytes.size(), [bytes](SimSide& peer) { peer.receive(bytes); });
}

void SimSide::carry(uint64_t bytes, std::function<void(SimSide&)> task) {
  last_arrival_ = place_.links().carry(
      place_, peer_place(), bytes, last_arrival_,
      [connection = connection_.shared_from_this(), &peer = peer_, task = std::move(task)] { task(peer); });
}

void SimSide::shutdown_write() {
  if (std::exchange(write_ended_, true)) return;
  carry(0, [](SimSide& peer) { peer.receive_end(); });
}

void SimSide::send_reset() {
  reset_ = true;
  carry(0, [](SimSide& peer) { peer.receive_reset(); });
}

// Bytes for a stream that is closed are answered with a reset, as systems do.
void SimSide::receive(const std::string& bytes) {
  if (reset_) return;
  if (!has_stream_) return send_reset();
  inbox_ += bytes;
  tell_readable();
}

void SimSide::receive_end() {
  peer_ended_ = true;
  tell_readable();
}

// The owner may destroy its stream in on_readable, so on_writable comes in an event of its own.
void SimSide::receive_reset() {
  reset_ = true;
  tell_later(&SimSide::tell_writable);
  tell_readable();
}

void SimSide::receive_credit(uint64_t bytes) {
  num_unread_ -= std::min(num_unread_, bytes);
  tell_writable();
}

void SimSide::cut() {
  for (SimSide* side : {this, &peer_}) {
    side->reset_ = true;
    side->tell_later(&SimSide::tell_readable);
    side->tell_later(&SimSide::tell_writable);
  }
}

void SimSide::wait_readable() {
  waits_readable_ = true;
  if (inbox_begin_ < inbox_.size() || peer_ended_ || reset_) tell_later(&SimSide::tell_readable);
}

void SimSide::wait_writable() {
  waits_writable_ = true;
  uint64_t window = place_.links().link(place_, peer_place()).window_bytes;
  if (num_unread_ < window || reset_) tell_later(&SimSide::tell_writable);
}

// The event is due at once, but outside of this call: the rules of Stream forbid to call its owner inside a
// call.
void SimSide::tell_later(void (SimSide::*tell)()) {
  place_.links().schedule(Time(0), &place_,
                          [this, tell, connection = connection_.shared_from_this()] { (this->*tell)(); });
}

void SimSide::tell_readable() {
  if (events_ != nullptr && std::exchange(waits_readable_, false)) events_->on_readable();
}

void SimSide::tell_writable() {
  if (events_ != nullptr && std::exchange(waits_writable_, false)) events_->on_writable();
}

}  // namespace ps
