#include "net/frame_reader.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace ps {

namespace {

// A body of at most so many bytes is hashed in one piece when it is complete: it is in the core's cache then, and one
// piece is hashed more than twice as fast as many.
constexpr uint64_t kHashedWhole = uint64_t{256} << 10;

}  // namespace

// A frame is read in steps, and a step that has to wait is tried again by the next call:
//  read_header    until has_header_: the header comes into ahead_, and is decoded
//  accept_header  until has_body_: the limits are checked, and memory is found for the body
//  read_body      until received_ is the length of the body, which is skipped if problem_ is set
//  finish_body    checks the sum, hands out the frame and resets both flags
ReadState FrameReader::next(Stream& stream, Frame& frame) {
  if (!has_header_) {
    if (ReadState state = read_header(stream); state != ReadState::kFrame) return state;
  }
  if (!has_body_) {
    if (ReadState state = accept_header(); state != ReadState::kFrame) return state;
  }
  if (ReadState state = read_body(stream); state != ReadState::kFrame) return state;
  return finish_body(frame);
}

// The first bytes are compared with the magic before the whole header has come: a peer of another protocol
// may send few bytes and wait.
ReadState FrameReader::read_header(Stream& stream) {
  while (end_ - begin_ < kFrameHeaderBytes) {
    if (!begins_header({ahead_.data() + begin_, end_ - begin_})) {
      return break_off(ReadState::kBroken, "the peer speaks another protocol");
    }
    const bool guesses = guess_.body_bytes > 0 && begin_ == end_;
    const ReadState state = guesses ? fill_guess(stream) : fill(stream, {});
    if (state != ReadState::kFrame) return state;
  }
  std::span<const char, kFrameHeaderBytes> bytes(ahead_.data() + begin_, kFrameHeaderBytes);
  HeaderFault fault = decode_header(bytes, header_);
  begin_ += kFrameHeaderBytes;
  has_header_ = true;
  return judge(fault);
}

// After a wrong magic, checksum or length the next frame cannot be found, and the stream is broken.  After
// a wrong version or wrong flags the length is right: problem_ is set, and the body is skipped.
ReadState FrameReader::judge(HeaderFault fault) {
  problem_.reset();
  switch (fault) {
    case HeaderFault::kMagic:
      return break_off(ReadState::kBroken, "the peer speaks another protocol");
    case HeaderFault::kChecksum:
      return break_off(ReadState::kBroken, "the header of a frame was damaged on the way");
    case HeaderFault::kLength:
      return break_off(ReadState::kBroken, "a frame claims more than any frame may have");
    case HeaderFault::kVersion:
      problem_.emplace(Code::kUsage, cat("frame version ", header_.version, ", expected ", kFrameVersion));
      break;
    case HeaderFault::kFlags:
      problem_.emplace(Code::kUsage, cat("flags ", header_.flags, " are none of a frame"));
      break;
    case HeaderFault::kNone:
      break;
  }
  return ReadState::kFrame;
}

// Checks the header, and decides if the body is kept or skipped.
void FrameReader::check_header() {
  std::optional<uint64_t> limit = limit_(header_);
  if (!limit) {
    problem_.emplace(Code::kUsage, cat("unknown type ", header_.type, " of a frame"));
  } else if (header_.body_bytes > *limit) {
    problem_.emplace(Code::kUsage, cat("a frame of type ", header_.type, " has ", header_.body_bytes,
                                       " bytes, expected at most ", *limit));
  } else if (!pool_.fits(header_.body_bytes)) {
    problem_.emplace(Code::kUsage,
                     cat("a frame of ", header_.body_bytes, " bytes is more than the memory for all frames"));
  }
}

// Finds memory for the body.  Returns false if there is none at the moment.
bool FrameReader::find_room() {
  // A body that has come whole is taken as it is.  One that must be waited for has to leave room beside it,
  // by the account of its peer, so that a peer that sends slowly cannot hold all memory.
  const uint64_t size = header_.body_bytes, spare = account_ && !at_once_ ? account_->spare_beside(size) : 0;
  try {
    std::optional<Buffer> room = pool_.try_take(size, spare);
    if (!room) return false;
    body_ = std::move(*room);
    if (!at_once_) coming_ = AccountedBytes(account_, size);
  } catch (const Error& error) {
    problem_ = error;  // the system has no memory
  }
  return true;
}

ReadState FrameReader::accept_header() {
  if (!problem_) check_header();
  const std::optional<uint64_t> guessed = settle_guess();
  received_ = guessed.value_or(0);
  // A short body often lies behind its header already.  It is not counted on the account, since it is there at
  // once.
  at_once_ = received_ + (end_ - begin_) >= header_.body_bytes;
  if (!problem_ && !guessed && !find_room()) return ReadState::kNoRoom;
  has_body_ = true;
  if (in_pieces() && !problem_) {
    hasher_.reset();
    hasher_.update(text_of(body_.bytes().first(received_)));
  }
  use_ahead();
  return ReadState::kFrame;
}

bool FrameReader::in_pieces() const {
  return !at_once_ && header_.body_bytes > kHashedWhole;
}

// Returns the bytes of the body that have come to where they stay, if the guess was right.  After a wrong one the bytes
// that came are those behind the header in the area ahead.
std::optional<uint64_t> FrameReader::settle_guess() {
  Guess guess = std::exchange(guess_, Guess());
  if (!problem_ && guess.room.size() > 0 && guess.room.size() == header_.body_bytes) {
    body_ = std::move(guess.room);
    return guess.received;
  }
  const auto came = guess.room.bytes().first(guess.received);
  ahead_.insert(ahead_.begin() + static_cast<ptrdiff_t>(begin_), came.begin(), came.end());
  end_ += came.size();
  return std::nullopt;
}

// Moves the bytes of this body that were read ahead into it, or skips them.
void FrameReader::use_ahead() {
  size_t taken = std::min<uint64_t>(end_ - begin_, header_.body_bytes - received_);
  if (!problem_ && taken != 0) {
    std::memcpy(body_.data() + received_, ahead_.data() + begin_, taken);
    if (in_pieces()) hasher_.update({ahead_.data() + begin_, taken});
  }
  begin_ += taken;
  received_ += taken;
}

// A wanted body is read to its place, past the area ahead, which then has what follows it.  A body that is
// skipped goes through the area ahead and needs no memory.
ReadState FrameReader::read_body(Stream& stream) {
  while (received_ < header_.body_bytes) {
    MutableBytes rest;
    if (!problem_) rest = body_.bytes().subspan(received_);
    uint64_t before = bytes_received_;
    if (ReadState state = fill(stream, rest); state != ReadState::kFrame) return state;
    if (problem_) {
      use_ahead();
      continue;
    }
    size_t got = std::min<uint64_t>(bytes_received_ - before, rest.size());
    if (in_pieces()) hasher_.update(text_of(rest.first(got)));  // the bytes are in the cache now
    received_ += got;
  }
  return ReadState::kFrame;
}

// The flags are reset first, so that the next call begins a new frame after a refused one too.
ReadState FrameReader::finish_body(Frame& frame) {
  has_header_ = has_body_ = false;
  coming_ = AccountedBytes();
  if (!problem_) {
    uint64_t checksum = in_pieces() ? hasher_.digest() : hash_bytes(text_of(body_.bytes()));
    if (checksum != header_.body_checksum) {
      problem_.emplace(Code::kUnavailable, "the body of a frame was damaged on the way");
    }
  }
  if (problem_) return body_ = Buffer(), ReadState::kRefused;
  frame.header = header_;
  frame.body = std::move(body_);
  return ReadState::kFrame;
}

void FrameReader::expect(uint64_t body_bytes) {
  // A body that the area ahead has room for costs one system call in any case.
  const bool of_use = !has_header_ && !account_ && kFrameHeaderBytes + body_bytes > kAheadBytes;
  guess_.body_bytes = of_use ? body_bytes : 0;
}

// Reads into `body`, and what follows it into the area ahead, which is empty then; or, without a body, more
// of a header behind what is there.
ReadState FrameReader::fill(Stream& stream, MutableBytes body) {
  if (drained_) return ReadState::kBlocked;
  // The unused bytes move to the front, so that the rest of the area is free for one read.
  if (begin_ != 0) {
    std::memmove(ahead_.data(), ahead_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (ahead_.size() > kAheadBytes) ahead_.resize(std::max(kAheadBytes, end_));
  MutableBytes ahead = MutableBytes(ahead_).subspan(end_);
  std::array<MutableBytes, 2> into{body, ahead};
  const IoResult result = stream.read(std::span(into).subspan(body.empty() ? 1 : 0));
  const ReadState state = count(result, body.size() + ahead.size());
  if (result.bytes > body.size()) end_ += result.bytes - body.size();
  return state;
}

bool FrameReader::find_guess_room() try {
  if (guess_.room.size() == guess_.body_bytes) return true;
  std::optional<Buffer> room = pool_.try_take(guess_.body_bytes);
  if (room) guess_.room = std::move(*room);
  return room.has_value();
} catch (const Error&) {
  return false;  // the system has no memory; the body itself may be shorter
}

// Reads a header into the area ahead, which is empty, the body behind it into the room of the guess, and what follows
// into the area ahead again.
ReadState FrameReader::fill_guess(Stream& stream) {
  if (drained_) return ReadState::kBlocked;
  if (!find_guess_room()) return guess_ = Guess(), fill(stream, {});
  begin_ = end_ = 0;
  const MutableBytes area(ahead_), body = guess_.room.bytes();
  std::array<MutableBytes, 3> into{area.first(kFrameHeaderBytes), body, area.subspan(kFrameHeaderBytes)};
  const IoResult result = stream.read(into);
  const ReadState state = count(result, area.size() + body.size());
  end_ = std::min(result.bytes, kFrameHeaderBytes);
  guess_.received = std::min(result.bytes - end_, body.size());
  end_ = result.bytes - guess_.received;
  return state;
}

// Counts what a read of `asked` bytes brought, and tells how it ended.
ReadState FrameReader::count(const IoResult& result, size_t asked) {
  if (result.blocked()) return drained_ = true, ReadState::kBlocked;
  if (result.error != 0) return problem_.emplace(io_error(result.error)), ReadState::kLost;
  if (result.ended()) {
    if (!inside_frame()) return ReadState::kEnded;
    return break_off(ReadState::kBroken, "the connection ended inside a frame");
  }
  // A read that did not fill everything has emptied the stream: another one would only return EAGAIN.
  drained_ = result.bytes < asked;
  bytes_received_ += result.bytes;
  return ReadState::kFrame;
}

ReadState FrameReader::break_off(ReadState state, std::string problem) {
  problem_.emplace(Code::kUnavailable, std::move(problem));
  return state;
}

}  // namespace ps
