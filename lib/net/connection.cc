#include "net/connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <new>
#include <utility>

namespace ps {

namespace {

// A connection reads this number of bytes, or works on them for this time, before it is the turn of the others.
constexpr uint64_t kTurnBytes = uint64_t{1} << 20;
constexpr Duration kTurn = std::chrono::milliseconds(5);

// When this number of bytes is queued, they are written before the turn ends: the peer can work on them, and
// they are still in this core's cache.
constexpr uint64_t kWorthWriting = uint64_t{64} << 10;

}  // namespace

Connection::Connection(Loop& loop, std::unique_ptr<Stream> stream, BufferPool& pool,
                       const ConnectionOptions& options, NetCounters& counters, Handler& handler)
    : loop_(loop),
      options_(options),
      counters_(counters),
      handler_(handler),
      stream_(std::move(stream)),
      peer_(stream_->peer()),
      access_(stream_->access()),
      watch_(options),
      reader_(pool, [this](const FrameHeader& header) { return limit(header); }),
      read_timer_(loop, [this] { guarded([this] { read_frames(); }); }),
      tick_timer_(loop, [this] { guarded([this] { tick(); }); }),
      close_timer_(loop, [this] {
        if (stream_) fail(Error(Code::kUnavailable, "closed"));
        close_timer_.stop();
        Error reason = *end_.reason;  // outlives the connection, which may go now
        handler_.on_closed(reason);
      }) {
  ++counters_.connections_opened;
  stream_->set_events(this);
  stream_->wait_readable();
  tick_timer_.start_after(watch_.tick_interval());
}

// Calls body().  If there is no memory, this connection ends, instead of the loop with all connections.
template <class Body>
void Connection::guarded(Body&& body) {
  try {
    body();
  } catch (const std::bad_alloc&) {
    reading_ = false;
    fail(Error(Code::kUnavailable, "out of memory"));
  }
}

// ---- reading

void Connection::on_readable() {
  guarded([this] {
    if (end_.begun) return discard();
    reader_.resume();
    read_frames();
  });
}

void Connection::resume_reading() {
  paused_ = false;
  if (open() && !reading_) read_timer_.start_at(loop_.now());
}

void Connection::retry_starved() {
  if (open() && starved_) read_timer_.start_at(loop_.now());
}

// Handles frames until there are no more, the owner pauses reading, or the turn is over.  After a full turn
// the timer continues at once but after the events of other connections.  While reading_ is set, send only
// queues small frames and close leaves the last writes to the end of this function, which writes everything
// together.
void Connection::read_frames() {
  uint64_t before = reader_.bytes_received();
  const Time turn_ends = add_time(loop_.now(), kTurn);
  reading_ = true;
  starved_ = false;
  while (wants_frames() && read_frame()) {
    if (reader_.bytes_received() - before < kTurnBytes && loop_.now() < turn_ends) continue;
    read_timer_.start_at(loop_.now());
    break;
  }
  reading_ = false;
  counters_.bytes_received += reader_.bytes_received() - before;
  end_.begun ? end_writing() : flush();
}

// Reads and handles one frame.  Returns false if no whole frame has come yet, or if none will.
bool Connection::read_frame() {
  Frame frame;
  switch (reader_.next(*stream_, frame)) {
    case ReadState::kFrame:
      receive(std::move(frame));
      return true;
    case ReadState::kRefused:
      refuse();
      return true;
    case ReadState::kBlocked:
      stream_->wait_readable();
      return false;
    case ReadState::kNoRoom:
      starved_ = true;
      return false;
    case ReadState::kEnded:
      fail(Error(Code::kUnavailable, "closed by the peer"));
      return false;
    case ReadState::kLost:
      fail(reader_.problem());
      return false;
    case ReadState::kBroken:
      ++counters_.streams_broken;
      fail(reader_.problem());
      return false;
  }
  return false;
}

void Connection::receive(Frame frame) {
  ++counters_.frames_received;
  if (frame.header.type == kFrameAlive) return;
  if (frame.header.type == kFrameNotice) return fail(decode_error(frame.body.bytes()));
  handler_.on_frame(std::move(frame));
}

void Connection::refuse() {
  ++counters_.frames_refused;
  FrameHeader header = reader_.header();
  handler_.on_refused(header, reader_.problem());
  if (header.version != kFrameVersion) close();
}

// Returns the longest body of a frame of this type.  The connection knows its own types, and asks the
// handler about the others; errors of any known type have kMaxErrorBytes.
std::optional<uint64_t> Connection::limit(const FrameHeader& header) {
  if (header.type == kFrameAlive) return 0;
  if (header.type == kFrameNotice) return kMaxErrorBytes;
  if (header.type < kFirstUserType) return std::nullopt;
  std::optional<uint64_t> most = handler_.max_body_bytes(header);
  return most && header.is_error() ? kMaxErrorBytes : most;
}

// Reads and drops bytes while closing, until the peer ends too.
void Connection::discard() {
  std::array<char, 8192> nothing;
  MutableBytes into(nothing);
  IoResult result;
  for (uint64_t turn = 0; turn < kTurnBytes; turn += result.bytes) {
    // A peer that goes on sending gets no more than a turn, as in read_frames; close_timer_ ends it at
    // last.
    result = stream_->read({&into, 1});
    if (result.bytes == 0) break;
  }
  if (result.bytes != 0 || result.blocked()) return stream_->wait_readable();
  end_.peer_ended = true;
  if (writer_.empty() || result.error != 0) fail(Error(Code::kUnavailable, "closed"));
}

// ---- writing

bool Connection::send(const FrameHeader& header, std::shared_ptr<const Payload> payload) {
  if (!open()) return true;
  ++counters_.frames_sent;
  writer_.add(header, std::move(payload));
  // During a turn of reading, small answers are collected and written together.
  if (!reading_ || writer_.queued_bytes() >= kWorthWriting) flush();
  if (writer_.queued_bytes() <= options_.max_queued_bytes) return true;
  // The owner stops now and is called by on_drained at half of the limit, not for every frame that leaves.
  drain_waits_ = true;
  return false;
}

void Connection::send_notice(const Error& reason) {
  FrameHeader header{.type = kFrameNotice, .flags = kFlagError};
  send(header, std::make_shared<Payload>(encode_error(reason)));
}

void Connection::flush() {
  if (!stream_ || write_waits_ || writer_.empty()) return;
  uint64_t before = writer_.bytes_sent();
  int error = writer_.flush(*stream_);
  counters_.bytes_sent += writer_.bytes_sent() - before;
  if (error == EAGAIN) {
    // The stream calls on_writable once; until then further frames are queued without a try to write them.
    write_waits_ = true;
    stream_->wait_writable();
  } else if (error != 0) {
    fail(io_error(error));
  }
}

void Connection::on_writable() {
  guarded([this] {
    write_waits_ = false;
    flush();
    if (!stream_) return;
    if (end_.begun) return end_writing();
    if (drain_waits_ && writer_.queued_bytes() <= options_.max_queued_bytes / 2) {
      drain_waits_ = false;
      handler_.on_drained();
    }
  });
}

// ---- closing

void Connection::close(Duration timeout) {
  if (!open()) return;
  end_.begun = true;
  tick_timer_.stop();
  read_timer_.stop();
  close_timer_.start_after(timeout);
  // Inside read_frames the queue is written at the end of the turn.
  if (!reading_) end_writing();
}

// Ends the own direction when everything is written, and waits for the peer to do the same, since closing at
// once could destroy bytes that the peer has not read yet.
void Connection::end_writing() {
  flush();
  if (!stream_ || !writer_.empty()) return;
  if (end_.peer_ended) return fail(Error(Code::kUnavailable, "closed"));
  stream_->shutdown_write();
  stream_->wait_readable();
}

void Connection::fail(Error reason) {
  if (!stream_) return;
  ++counters_.connections_closed;
  end_.reason = std::move(reason);
  stream_.reset();
  writer_.clear();
  tick_timer_.stop();
  read_timer_.stop();
  // The loop calls on_closed, so that the connection does not disappear during a call of its owner.
  close_timer_.start_at(loop_.now());
}

// ---- time

// Each check may end the connection, so open() is asked after every one of them.  The counts of this tick
// are kept last, since the checks compare with those of the tick before.
void Connection::tick() {
  tick_timer_.start_after(watch_.tick_interval());
  // Bytes that arrived while the loop did not run show that the peer lives.
  if (!starved_ && wants_frames()) on_readable();
  if (!open()) return;
  const bool wanted = !paused_ && !starved_;
  time_out(watch_.check_reading(reader_.bytes_received(), wanted, reader_.inside_frame()));
  if (!open()) return;
  time_out(watch_.check_writing(writer_.bytes_sent(), !writer_.empty()));
  if (!open()) return;
  if (writer_.empty() && watch_.sent_nothing(writer_.bytes_sent())) send({.type = kFrameAlive}, nullptr);
  if (open()) watch_.end_tick(reader_.bytes_received(), writer_.bytes_sent());
}

// Ends the connection if there is a reason to take the peer for dead.
void Connection::time_out(const std::string& reason) {
  if (reason.empty()) return;
  ++counters_.peers_timed_out;
  fail(Error(Code::kUnavailable, reason));
}

}  // namespace ps
