#include "net/sim/proxy.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>

namespace ps {

namespace {

constexpr size_t kReadBytes = size_t{64} << 10;
constexpr size_t kMaxWaiting = 4 * kReadBytes;  // bytes that wait, unless a fault needs a whole frame

}  // namespace

// One direction of a connection: from one stream into `in_`, past the script into `out_`, into the other
// stream.
class Proxy::Pump {
 public:
  Pump(Proxy& proxy, Pipe& pipe, ProxyDirection direction, Stream& from, Stream& to)
      : proxy_(proxy),
        pipe_(pipe),
        direction_(direction),
        from_(from),
        to_(to),
        delay_timer_(proxy.transport_.loop(), [this] {
          delayed_ = false;
          out_ += std::exchange(aside_, {});
          advance();
        }) {}

  void read();
  void advance();
  void flush();
  void release() { held_ = false, advance(); }
  bool ended() const { return ended_ && in_.empty() && out_.empty() && aside_.empty(); }

 private:
  bool needs_whole_frame() const {
    return fault_.kind == ProxyFault::kDuplicate || fault_.kind == ProxyFault::kSwap;
  }
  bool stopped() const { return held_ || delayed_; }
  void process();
  bool process_frame();
  bool begin_frame();
  void pass(uint64_t bytes);
  void pass_whole_frame();
  void do_fault();

  Proxy& proxy_;
  Pipe& pipe_;
  const ProxyDirection direction_;
  Stream& from_;
  Stream& to_;
  std::string in_, out_;
  std::string aside_;  // a frame that waits for the next one
  bool ended_ = false, end_passed_ = false, held_ = false, delayed_ = false;
  bool raw_ = false;  // the bytes are no frames

  // The frame that is passing; 0 bytes: none.
  uint64_t frame_bytes_ = 0, passed_ = 0;
  ProxyFault fault_;
  Timer delay_timer_;
};

// A client's connection and the one to the target.
class Proxy::Pipe {
 public:
  Pipe(Proxy& proxy, uint64_t number, std::unique_ptr<Stream> client)
      : proxy_(proxy),
        number_(number),
        client_(std::move(client)),
        end_timer_(proxy.transport_.loop(), [this] { proxy_.pipes_.erase(number_); }) {
    attempt_ = proxy.transport_.connect(proxy.target_, std::chrono::seconds(5),
                                        [this](std::unique_ptr<Stream> target, std::optional<Error>) {
                                          attempt_.reset();
                                          target ? connected(std::move(target)) : end();
                                        });
  }

  // Ends the pipe from the loop, since the caller may be one of its own functions.
  void end() { end_timer_.start_at(proxy_.transport_.loop().now()); }
  bool ending() const { return end_timer_.started(); }
  void end_if_done() {
    if (to_target_->ended() && to_client_->ended()) end();
  }

  void release() {
    if (to_target_) to_target_->release(), to_client_->release();
  }

 private:
  struct Side final : Stream::Events {
    void on_readable() override { reader->read(); }
    void on_writable() override { writer->flush(); }
    Pump* reader = nullptr;
    Pump* writer = nullptr;
  };

  void connected(std::unique_ptr<Stream> target) {
    target_ = std::move(target);
    to_target_ = std::make_unique<Pump>(proxy_, *this, ProxyDirection::kToTarget, *client_, *target_);
    to_client_ = std::make_unique<Pump>(proxy_, *this, ProxyDirection::kToClient, *target_, *client_);
    client_side_.reader = target_side_.writer = to_target_.get();
    target_side_.reader = client_side_.writer = to_client_.get();
    client_->set_events(&client_side_);
    target_->set_events(&target_side_);
    client_->wait_readable();
    target_->wait_readable();
  }

  Proxy& proxy_;
  const uint64_t number_;
  Side client_side_, target_side_;
  std::unique_ptr<Stream> client_, target_;
  std::unique_ptr<Pump> to_target_, to_client_;
  std::unique_ptr<ConnectAttempt> attempt_;
  Timer end_timer_;
};

// An error of the stream ends the pipe at once; its end is passed on only behind the bytes that still wait.
void Proxy::Pump::read() {
  if (pipe_.ending()) return;
  size_t before = in_.size();
  in_.resize(before + kReadBytes);
  MutableBytes into(in_.data() + before, kReadBytes);
  IoResult result = from_.read({&into, 1});
  in_.resize(before + result.bytes);
  if (result.ended()) {
    ended_ = true;
  } else if (result.error != 0 && !result.blocked()) {
    return pipe_.end();
  }
  advance();
}

// Moves bytes on as far as possible, and asks for more unless enough of them wait.  A fault that needs a
// whole frame may exceed that limit, as it could otherwise never have the frame.
void Proxy::Pump::advance() {
  if (pipe_.ending()) return;
  process();
  flush();
  bool full = in_.size() + out_.size() >= kMaxWaiting && !(needs_whole_frame() && frame_bytes_ != 0);
  if (!ended_ && !full && !pipe_.ending()) from_.wait_readable();
}

// Bytes pass as they are if there is no script, if they are no frames, or if the connection has ended
// inside a header.
void Proxy::Pump::process() {
  while (!in_.empty() && !stopped() && !pipe_.ending()) {
    if (!proxy_.script_ || raw_ || (ended_ && in_.size() < kFrameHeaderBytes)) {
      pass(in_.size());
    } else if (!process_frame()) {
      break;
    }
  }
}

// Handles the next step of a frame.  Returns false if more of its bytes must come first.
bool Proxy::Pump::process_frame() {
  if (frame_bytes_ == 0) return begin_frame();
  if (needs_whole_frame()) {
    if (in_.size() < frame_bytes_ && !ended_) return false;
    pass_whole_frame();
    return true;
  }
  // The frame passes up to the byte of its fault, which do_fault then applies; after that it has no fault
  // any more.
  uint64_t left = frame_bytes_ - passed_;
  if (fault_.kind != ProxyFault::kNone) {
    left = std::min(left, fault_.at_byte - passed_);
    if (left == 0) return do_fault(), true;
  }
  uint64_t bytes = std::min<uint64_t>(left, in_.size());
  passed_ += bytes;
  pass(bytes);
  if (passed_ == frame_bytes_) {
    frame_bytes_ = 0;
    out_ += std::exchange(aside_, {});
  }
  return true;
}

bool Proxy::Pump::begin_frame() {
  if (in_.size() < kFrameHeaderBytes) return false;
  FrameHeader header;
  std::span<const char, kFrameHeaderBytes> bytes(in_.data(), kFrameHeaderBytes);
  HeaderFault problem = decode_header(bytes, header);
  raw_ = problem != HeaderFault::kNone;
  if (raw_) return true;
  frame_bytes_ = kFrameHeaderBytes + header.body_bytes;
  passed_ = 0;
  fault_ = proxy_.script_(direction_, header);
  fault_.at_byte = std::min(fault_.at_byte, frame_bytes_ - 1);
  return true;
}

void Proxy::Pump::pass(uint64_t bytes) {
  out_.append(in_, 0, bytes);
  in_.erase(0, bytes);
  proxy_.bytes_passed_ += bytes;
}

// A frame that is to be swapped is taken out of `out_` again and waits in `aside_`, until the next frame
// has passed (process_frame) or the delay is over.
void Proxy::Pump::pass_whole_frame() {
  ++proxy_.num_faults_;
  std::string frame = in_.substr(0, frame_bytes_);
  pass(frame.size());
  if (fault_.kind == ProxyFault::kDuplicate) {
    out_ += frame;
    out_ += std::exchange(aside_, {});
  } else {
    out_.resize(out_.size() - frame.size());
    aside_ += frame;
    delay_timer_.start_after(fault_.delay);
  }
  frame_bytes_ = 0;
}

// Applies the fault at its byte, which is the first of in_.
void Proxy::Pump::do_fault() {
  ++proxy_.num_faults_;
  switch (std::exchange(fault_.kind, ProxyFault::kNone)) {
    case ProxyFault::kCut:
      flush();  // what came before has passed
      return pipe_.end();
    case ProxyFault::kHold:
      held_ = true;
      return;
    case ProxyFault::kDelay:
      delayed_ = true;
      return delay_timer_.start_after(fault_.delay);
    case ProxyFault::kFlip:
      in_[0] = static_cast<char>(in_[0] ^ 1);
      return;
    case ProxyFault::kNone:
    case ProxyFault::kDuplicate:
    case ProxyFault::kSwap:
      return;
  }
}

void Proxy::Pump::flush() {
  while (!out_.empty()) {
    ConstBytes rest(out_);
    IoResult result = to_.write({&rest, 1});
    if (result.blocked()) return to_.wait_writable();
    if (result.error != 0) return pipe_.end();
    out_.erase(0, result.bytes);
    if (!ended_) from_.wait_readable();
  }
  // The end of one direction is passed on after its last byte; the pipe ends with the second of them.
  if (ended() && !std::exchange(end_passed_, true)) {
    to_.shutdown_write();
    pipe_.end_if_done();
  }
}

Proxy::Proxy(Transport& transport, const Address& listen_on, const Address& target, Script script)
    : transport_(transport), target_(target), script_(std::move(script)) {
  listener_ =
      transport.listen(listen_on, [this](std::unique_ptr<Stream> client) { accept(std::move(client)); });
}

Proxy::~Proxy() = default;

void Proxy::accept(std::unique_ptr<Stream> client) {
  uint64_t number = ++num_accepted_;
  pipes_.emplace(number, std::make_unique<Pipe>(*this, number, std::move(client)));
}

void Proxy::cut() {
  for (auto& [number, pipe] : pipes_) pipe->end();
}

void Proxy::release() {
  for (auto& [number, pipe] : pipes_) pipe->release();
}

}  // namespace ps
