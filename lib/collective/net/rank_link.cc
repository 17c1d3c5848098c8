#include "collective/net/rank_link.h"

#include <algorithm>
#include <utility>

#include "collective/parts.h"

namespace ps {

namespace {

// The limit of bytes that are written and not yet taken by the system.  It is a few chunks, so that checksums
// are computed just before the bytes are written, while these are in the cache.
constexpr uint64_t kMaxQueuedBytes = 4 * kChunkBytes;

// The limit of bytes of a rank that have arrived and are not yet asked for.  Beyond it the peer is not read, and waits.
// No rank of an all-reduce is this far ahead for long, but the root of a broadcast could be ahead without
// limit.  direct asks for all that comes; what a rank sends it early is a part of the array at most.
constexpr uint64_t kMaxInboxBytes = uint64_t{64} << 20;

// The connection itself has no timeouts.  Collectives decide how long a rank may be silent: between two of them
// a rank may work for long, and its loop does not run then.
ConnectionOptions connection_options() {
  ConnectionOptions options;
  options.max_queued_bytes = kMaxQueuedBytes;
  options.silence_timeout = options.slow_timeout = options.stall_timeout = kNever;
  return options;
}

}  // namespace

RankLink::RankLink(Loop& loop, BufferPool& pool, std::unique_ptr<Stream> stream, Trust trust)
    : trust_(trust),
      max_inbox_bytes_(kMaxInboxBytes),
      connection_(std::make_unique<Connection>(loop, std::move(stream), pool, connection_options(), counters_,
                                               static_cast<Connection::Handler&>(*this))) {}

void RankLink::trust() {
  trust_ = Trust::kTrusted;
  connection_->resume_reading();
}

void RankLink::share_inbox(int num) {
  max_inbox_bytes_ = kMaxInboxBytes / static_cast<uint64_t>(num);
}

// ---- sending

void RankLink::send(RankFrame type, uint64_t request_id, std::shared_ptr<const Payload> payload) {
  if (!open()) return;
  const FrameHeader header{.type = static_cast<uint16_t>(type), .request_id = request_id};
  if (type != RankFrame::kRollCall && type != RankFrame::kPresent)
    bytes_sent_ += kFrameHeaderBytes + (payload != nullptr ? payload->size() : 0);
  outbox_.push_back({header, std::move(payload)});
  pump();
}

void RankLink::send(RankFrame type, std::string body) {
  send(type, 0, std::make_shared<Payload>(std::move(body)));
}

// Moves frames into the connection until it has enough; on_drained goes on.
void RankLink::pump() {
  while (!outbox_.empty() && !blocked_ && connection_->open()) {
    Outgoing next = std::move(outbox_.front());
    outbox_.pop_front();
    blocked_ = !connection_->send(next.header, std::move(next.payload));
  }
}

void RankLink::on_drained() {
  blocked_ = false;
  pump();
}

void RankLink::call_roll() {
  present_.reset();
  send(RankFrame::kRollCall, 0, nullptr);
  // The answer may be behind many frames that have not been asked for, so reading goes on.
  if (std::exchange(paused_, false)) connection_->resume_reading();
}

void RankLink::answer_roll_call() {
  if (waits_for_) send(RankFrame::kPresent, encode_present(waits_for_()));
}

// The frames that still wait are dropped: nobody wants them, and the reason would come behind them.
void RankLink::give_up(const Error& reason) {
  outbox_.clear();
  if (!open()) return;
  const FrameHeader header{.type = static_cast<uint16_t>(RankFrame::kGaveUp), .flags = kFlagError};
  connection_->send(header, std::make_shared<Payload>(encode_error(reason)));
  connection_->close();
}

void RankLink::leave() {
  if (!open()) return;
  connection_->send({.type = static_cast<uint16_t>(RankFrame::kLeaves)}, nullptr);
  connection_->close(kNever);  // say_goodbye limits the time
}

void RankLink::cut() {
  outbox_.clear();
  connection_->fail(Error(Code::kUnavailable, "closed"));
}

// ---- receiving

// A stranger may send a hello or an error, both of which are short.  All other frames are of known peers,
// and bounded by their type.
std::optional<uint64_t> RankLink::max_body_bytes(const FrameHeader& header) {
  const RankFrame type = static_cast<RankFrame>(header.type);
  if (type == RankFrame::kHello) return kMaxHelloBytes;
  if (type == RankFrame::kGaveUp) return kMaxErrorBytes;
  if (trust_ == Trust::kStranger) return std::nullopt;
  switch (type) {
    case RankFrame::kRoster:
      return kMaxRosterBytes;
    case RankFrame::kChunk:
      return has_any_size(decode_call(header.request_id).collective) ? kMaxGatheredBytes : kChunkBytes;
    case RankFrame::kPresent:
      return kMaxPresentBytes;
    case RankFrame::kRollCall:
    case RankFrame::kLeaves:
      return 0;
    default:
      return std::nullopt;
  }
}

void RankLink::on_frame(Frame frame) {
  switch (static_cast<RankFrame>(frame.header.type)) {
    case RankFrame::kRollCall:
      return answer_roll_call();
    // A frame that cannot be decoded ends the connection, since on_frame must not throw.
    case RankFrame::kPresent:
      try {
        present_ = decode_present(text_of(frame.body.bytes()));
      } catch (const Error& error) {
        connection_->fail(error);
      }
      return;
    case RankFrame::kGaveUp:
      gave_up_ = decode_error(frame.body.bytes());
      return;
    case RankFrame::kLeaves:
      left_ = true;
      return;
    default:
      return receive_in_turn(std::move(frame));
  }
}

void RankLink::receive_in_turn(Frame frame) {
  inbox_bytes_ += frame.body.size();
  inbox_.push_back(std::move(frame));
  if (trust_ == Trust::kStranger) return connection_->pause_reading();
  if (inbox_bytes_ <= max_inbox_bytes_) return;
  paused_ = true;
  connection_->pause_reading();
}

// Two ranks that have a processor each work at the same pace: the frame of one is then on its way when the other asks for it,
// and to ask a few times more takes less time than to sleep and be woken.  Where a rank waits for a slower one, or for the
// processor on which the other runs, no later try finds anything, and the tries become few.
void RankLink::receive_now() {
  constexpr int kFewestTries = 2, kMostTries = 16;  // some microseconds
  for (int tries = 1; open(); ++tries) {
    connection_->read_now();
    if (!inbox_.empty()) {
      if (tries > 1) tries_ = kMostTries;
      return;
    }
    if (tries >= tries_) break;
  }
  tries_ = std::max(kFewestTries, tries_ / 2);
}

Frame RankLink::take_frame() {
  Frame frame = std::move(inbox_.front());
  inbox_.pop_front();
  inbox_bytes_ -= frame.body.size();
  // Reading goes on at half of the limit, and not just below it, so that it is not paused for each frame.
  if (paused_ && inbox_bytes_ <= max_inbox_bytes_ / 2) {
    paused_ = false;
    connection_->resume_reading();
  }
  return frame;
}

// Nothing is sent twice, so the connection fails after a damaged frame.
void RankLink::on_refused(const FrameHeader&, const Error& problem) {
  connection_->fail(problem);
}

void RankLink::on_closed(const Error& reason) {
  outbox_.clear();
  closed_ = reason;
}

}  // namespace ps
