#include "net/shaped_transport.h"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <utility>
#include <vector>

namespace ps {

namespace {

constexpr size_t kPieceBytes = size_t{64} << 10;  // what is sent together arrives together
// Without a rate, what may be on a link of some latency.
constexpr uint64_t kUnlimitedLineBytes = uint64_t{64} << 20;

// The bytes that are on the line: what has left the bucket and travels, and a little that waits for it.
uint64_t line_bytes(const LinkShape& shape) {
  if (shape.bytes_per_second <= 0) return kUnlimitedLineBytes;
  double travelling = shape.bytes_per_second * to_seconds(shape.latency);
  return static_cast<uint64_t>(travelling + shape.burst_bytes) + 2 * kPieceBytes;
}

class ShapedStream final : public Stream, private Stream::Events {
 public:
  ShapedStream(Loop& loop, std::unique_ptr<Stream> behind, const LinkShape& shape,
               std::shared_ptr<TokenBucket> bucket)
      : loop_(loop),
        behind_(std::move(behind)),
        latency_(shape.latency),
        max_bytes_(line_bytes(shape)),
        bucket_(std::move(bucket)),
        due_timer_(loop, [this] { release(); }),
        room_timer_(loop, [this] { tell_room(); }) {
    behind_->set_events(this);
  }

  IoResult read(std::span<const MutableBytes> into) override { return behind_->read(into); }
  void wait_readable() override { behind_->wait_readable(); }

  // Takes bytes until the line is full, in pieces that each get their own time of arrival: so a long write
  // arrives bit by bit at the rate of the link, and not all at its end.
  IoResult write(std::span<const ConstBytes> from) override {
    if (error_ != 0) return {.error = error_};
    size_t taken = 0;
    for (ConstBytes span : from) {
      while (!span.empty() && bytes_ < max_bytes_) {
        size_t part = std::min({span.size(), kPieceBytes, static_cast<size_t>(max_bytes_ - bytes_)});
        put(span.first(part));
        span = span.subspan(part);
        taken += part;
      }
    }
    return {.bytes = taken, .error = taken != 0 ? 0 : EAGAIN};
  }

  void wait_writable() override {
    waits_writable_ = true;
    if (has_room()) room_timer_.start_at(loop_.now());
  }

  uint64_t held_bytes() const override { return bytes_ + behind_->held_bytes(); }
  uint64_t undelivered_bytes() const override { return bytes_ + behind_->undelivered_bytes(); }

  void shutdown_write() override {
    ending_ = true;
    if (line_.empty()) behind_->shutdown_write();
  }

  void set_events(Stream::Events* events) override { events_ = events; }
  const std::string& peer() const override { return behind_->peer(); }
  Access access() const override { return behind_->access(); }

 private:
  struct Piece {
    Time due;
    std::vector<char> bytes;
  };

  // After an error a write does not wait any more, but returns the error.
  bool has_room() const { return bytes_ < max_bytes_ || error_ != 0; }

  void put(ConstBytes bytes) {
    // The bucket gives the time at which the piece has left at the rate; the latency comes on top of it.
    // Pieces are due in the order of the line, so the timer is set for the first one alone.
    Time now = loop_.now();
    Time due = (bucket_ ? bucket_->take(now, bytes.size()) : now) + latency_;
    line_.push_back({due, std::vector<char>(bytes.begin(), bytes.end())});
    bytes_ += bytes.size();
    if (line_.size() == 1) due_timer_.start_at(due);
  }

  // Lets out what is due.
  void release() {
    while (!line_.empty() && line_.front().due <= loop_.now()) {
      ConstBytes rest = ConstBytes(line_.front().bytes).subspan(sent_);
      IoResult result = behind_->write({&rest, 1});
      if (result.blocked()) return behind_->wait_writable();
      if (result.error != 0) return break_off(result.error);
      bytes_ -= result.bytes;
      sent_ += result.bytes;
      if (sent_ < line_.front().bytes.size()) continue;
      line_.pop_front();
      sent_ = 0;
    }
    if (!line_.empty()) due_timer_.start_at(line_.front().due);
    if (line_.empty() && ending_) behind_->shutdown_write();
    tell_room();
  }

  // The bytes on the line are lost, and the next write reports the error.
  void break_off(int error) {
    error_ = error;
    line_.clear();
    bytes_ = 0;
    tell_room();
  }

  void tell_room() {
    if (has_room() && std::exchange(waits_writable_, false) && events_ != nullptr) events_->on_writable();
  }

  void on_readable() override {
    if (events_ != nullptr) events_->on_readable();
  }
  void on_writable() override { release(); }

  Loop& loop_;
  const std::unique_ptr<Stream> behind_;
  const Duration latency_;
  const uint64_t max_bytes_;
  const std::shared_ptr<TokenBucket> bucket_;
  Stream::Events* events_ = nullptr;
  std::deque<Piece> line_;
  size_t sent_ = 0;     // of the first piece
  uint64_t bytes_ = 0;  // of the line
  int error_ = 0;
  bool waits_writable_ = false, ending_ = false;
  Timer due_timer_, room_timer_;
};

}  // namespace

ShapedTransport::ShapedTransport(Transport& behind, const LinkShape& shape)
    : behind_(behind),
      shape_(shape),
      accepted_(make_bucket()),
      connected_(shape.one_rate ? accepted_ : make_bucket()) {}

ShapedTransport::Bucket ShapedTransport::make_bucket() const {
  if (shape_.bytes_per_second <= 0) return nullptr;
  return std::make_shared<TokenBucket>(shape_.bytes_per_second, shape_.burst_bytes);
}

std::unique_ptr<Stream> ShapedTransport::shape(std::unique_ptr<Stream> stream, const Bucket& bucket) {
  if (!stream || !shape_.shapes()) return stream;
  return std::make_unique<ShapedStream>(loop(), std::move(stream), shape_, bucket);
}

std::unique_ptr<Listener> ShapedTransport::listen(const Address& address, OnAccept on_accept) {
  return behind_.listen(address, [this, on_accept = std::move(on_accept)](std::unique_ptr<Stream> stream) {
    on_accept(shape(std::move(stream), accepted_));
  });
}

std::unique_ptr<ConnectAttempt> ShapedTransport::connect(const Address& address, Duration timeout,
                                                         OnConnect on_connect) {
  return behind_.connect(
      address, timeout,
      [this, on_connect = std::move(on_connect)](std::unique_ptr<Stream> stream, std::optional<Error> error) {
        on_connect(shape(std::move(stream), connected_), std::move(error));
      });
}

}  // namespace ps
