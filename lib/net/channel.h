// Channel: the client of one peer address.  It sends requests without waiting for the answers of earlier ones,
// over a connection that it makes again when it is lost.  Used by trainers to talk to shards.
//
// A request is answered once: by a frame, or by an error.  When the connection is lost, requests without an
// answer are sent again over the next one, in their order: a server may see a request twice, and its sessions
// must make that harmless.  The error kUnavailable, also from the server, only delays a request.  It becomes the
// answer at the deadline, or when the peer cannot be reached for `give_up_after`.  Any other error is an answer
// at once.
#ifndef PS_NET_CHANNEL_H_
#define PS_NET_CHANNEL_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/backoff.h"
#include "net/buffer_pool.h"
#include "net/connection.h"
#include "net/counters.h"
#include "net/frame.h"
#include "net/transport.h"

namespace ps {

struct ChannelOptions {
  Duration connect_timeout = std::chrono::seconds(5);  // for one attempt, with its handshake
  Duration give_up_after = std::chrono::seconds(60);   // longest time without a connection; kNever: no limit
  BackoffOptions backoff{};
  uint64_t seed = 0;  // seed of random delays: should differ from process to process
  uint64_t max_answer_bytes = kMaxBodyBytes;
  ConnectionOptions connection{};

  // The type of the first frame of every connection.  Requests wait until it is answered. 0: there is no such
  // frame.
  uint16_t hello_type = 0;
  std::function<Payload()> hello{};
  // Throws if the answer is not acceptable: kUnavailable to connect again, other errors to end the waiting
  // requests.
  std::function<void(const Frame&)> on_hello{};

  // Called when the server refuses or cannot be reached any more, and no request is waiting that would get the
  // error.
  std::function<void(const Error&)> on_given_up{};

  // Called before each attempt but the first, with a text for people: "waiting for 'a:7164': connection
  // refused".
  std::function<void(const std::string&)> on_waiting{};
};

// The answer to a request.
struct Answer {
  Frame frame;  // valid if there is no error
  std::optional<Error> error;

  // Returns the frame, or throws the error.
  Frame take() {
    if (error) throw *error;
    return std::move(frame);
  }
};

// While its loop does not run, a channel sends nothing, so that the server closes the connection after its
// silence_timeout.  The next request then makes a new connection.
//
// The owner thread is the loop's.  The loop calls callbacks, never a call of the owner; they may make and cancel
// requests, and must neither throw nor destroy the channel.
class Channel final : private Connection::Handler {
 public:
  using OnAnswer = std::function<void(Answer)>;

  // Transport and pool must outlive the channel.
  Channel(Transport& transport, BufferPool& pool, Address address, ChannelOptions options);

  // Requests that have no answer yet get none.
  ~Channel();

  // Connects if there is no connection and none in the making; a request does the same.
  void connect();

  // Sends `payload`, and keeps it until there is an answer.  `timeout` includes all waiting and sending again;
  // the server is told the remaining time.  Returns an id for cancel.
  uint64_t request(uint16_t type, Payload payload, Duration timeout, OnAnswer on_answer);

  // Forgets a request, whose answer is then dropped.  Does nothing if it has been answered.
  void cancel(uint64_t id);

  // Sends a request and runs the loop until it is answered.  Throws the error.
  Frame call(uint16_t type, Payload payload, Duration timeout);

  // Returns true while the connection stands and its hello is answered.
  bool ready() const { return state_ == State::kReady; }

  size_t num_pending() const { return num_pending_; }
  // Returns the number of bytes that are not written yet.  A caller that sends much data should wait while this
  // exceeds the memory that it can spare.
  uint64_t queued_bytes() const { return connection_ ? connection_->queued_bytes() : 0; }

  // To be called when the pool has room again after it was full.
  void retry_starved();

  const Address& address() const { return address_; }
  const NetCounters& counters() const { return counters_; }

 private:
  enum class State { kIdle, kConnecting, kGreeting, kReady, kWaiting };

  // The first pieces of an answer, in their order.
  struct Pieces {
    std::vector<Buffer> bodies;
    uint64_t bytes = 0;
  };

  struct Pending {
    uint16_t type;
    bool sent = false, sent_before = false;
    Time deadline{};
    std::shared_ptr<const Payload> payload;
    OnAnswer on_answer;              // null: answered or cancelled
    std::shared_ptr<Pieces> pieces;  // of the answer that have come; null: none have
    std::optional<Error> last_error;
  };

  // The connection.
  std::optional<uint64_t> max_body_bytes(const FrameHeader& header) override;
  void on_frame(Frame frame) override;
  void on_refused(const FrameHeader& header, const Error& problem) override;
  void on_closed(const Error& reason) override;

  void try_connect();
  void connected(std::unique_ptr<Stream> stream);
  void greet();
  void greeted(const Frame& frame);
  void answers();
  void lost(const Error& reason);
  void give_up(const Error& reason);

  Pending* find(uint64_t id);
  void send(uint64_t id, Pending& pending);
  void send_waiting();
  void keep(Pending& pending, Frame frame);
  Frame join(Pending& pending, Frame last);
  void delay(Pending& pending, Error reason);
  void finish(Pending& pending, Answer answer);
  OnAnswer take(Pending& pending);
  void trim();
  void expire();

  Loop& loop_;
  Transport& transport_;
  BufferPool& pool_;
  const Address address_;
  const ChannelOptions options_;
  NetCounters counters_;

  State state_ = State::kIdle;
  Backoff backoff_;                 // delays of connections
  Backoff retry_backoff_;           // delays of requests that the server could not serve yet
  std::optional<Time> down_since_;  // time since which no connection has answered
  std::unique_ptr<ConnectAttempt> attempt_;
  std::unique_ptr<Connection> connection_;
  Timer connect_timer_;   // the next attempt, or the end of this one
  Timer resend_timer_;    // sends delayed requests again
  Timer deadline_timer_;  // set to the earliest deadline or before it

  // By id: pending_[i] has the id first_id_ + i.
  std::deque<Pending> pending_;
  uint64_t first_id_ = 1;
  size_t num_pending_ = 0;
};

}  // namespace ps

#endif  // PS_NET_CHANNEL_H_
