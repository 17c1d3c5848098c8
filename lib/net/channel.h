// The side that asks: one peer address, requests pipelined over a connection that is made, and made again, as
// needed.  Used by trainers to talk to shards.
//
// A request is answered once: by a frame, or by an error.  When the connection is lost, requests without an
// answer are sent again over the next one, in their order: a server may see a request twice, and whoever
// gives it a meaning makes that harmless.  An error of kUnavailable, from the server too, only delays a
// request; it becomes the answer when the deadline comes, or when the peer cannot be reached for
// `give_up_after`.  Any other error is an answer at once.
#ifndef PS_NET_CHANNEL_H_
#define PS_NET_CHANNEL_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "net/backoff.h"
#include "net/buffer_pool.h"
#include "net/connection.h"
#include "net/counters.h"
#include "net/frame.h"
#include "net/transport.h"

namespace ps {

struct ChannelOptions {
  Duration connect_timeout = std::chrono::seconds(5);  // of one try, the handshake included
  Duration give_up_after = std::chrono::seconds(60);   // without a connection; kNever: never
  BackoffOptions backoff{};
  uint64_t seed = 0;  // of the back-off's jitter: should differ from process to process
  uint64_t max_answer_bytes = kMaxBodyBytes;
  ConnectionOptions connection{};

  // The first frame of every connection; requests wait until it is answered.  0: there is none.
  uint16_t hello_type = 0;
  std::function<Payload()> hello{};
  // Throws when the answer will not do: kUnavailable to try again, others end the waiting requests.
  std::function<void(const Frame&)> on_hello{};

  // Called when the server refuses or cannot be reached any more, and no request waits that could tell.
  std::function<void(const Error&)> on_given_up{};

  // For people, before each try but the first: "waiting for 'a:7164': connection refused".
  std::function<void(const std::string&)> on_waiting{};
};

// The answer to a request.
struct Answer {
  Frame frame;  // when there is no error
  std::optional<Error> error;

  // The frame; throws the error.
  Frame take() {
    if (error) throw *error;
    return std::move(frame);
  }
};

// A loop that is not run says nothing to the server, which after its silence_timeout takes the channel for
// dead; the next request then costs a new connection.
//
// Owned by the loop's thread.  Callbacks come from the loop, never inside a call; they may make and cancel
// requests, and must neither throw nor destroy the channel.
class Channel final : private Connection::Handler {
 public:
  using OnAnswer = std::function<void(Answer)>;

  // Transport and pool must outlive the channel.
  Channel(Transport& transport, BufferPool& pool, Address address, ChannelOptions options);

  // Requests without an answer get none.
  ~Channel();

  // Connects if there is no connection and none in the making; a request does the same.
  void connect();

  // Sends `payload`, and keeps it until there is an answer.  `timeout` includes all waiting and sending
  // again; the server is told what is left of it.  Returns an id for cancel.
  uint64_t request(uint16_t type, Payload payload, Duration timeout, OnAnswer on_answer);

  // Forgets a request; an answer that comes is dropped.  Nothing happens when it has been answered.
  void cancel(uint64_t id);

  // Sends a request and runs the loop until it is answered.  Throws the error.
  Frame call(uint16_t type, Payload payload, Duration timeout);

  // Returns true while the connection stands and its hello is answered.
  bool ready() const { return state_ == State::kReady; }

  size_t num_pending() const { return num_pending_; }
  // Not written yet: who sends much should wait while this is more than he wants to have in memory.
  uint64_t queued_bytes() const { return connection_ ? connection_->queued_bytes() : 0; }

  // To be called when the pool, used up before, has room again.
  void retry_starved();

  const Address& address() const { return address_; }
  const NetCounters& counters() const { return counters_; }

 private:
  enum class State { kIdle, kConnecting, kGreeting, kReady, kWaiting };

  struct Pending {
    uint16_t type;
    bool sent = false, sent_before = false;
    Time deadline{};
    std::shared_ptr<const Payload> payload;
    OnAnswer on_answer;  // null: answered or cancelled
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
  Backoff backoff_;                 // of connections
  Backoff retry_backoff_;           // of requests that the server could not do yet
  std::optional<Time> down_since_;  // no connection that answered since then
  std::unique_ptr<ConnectAttempt> attempt_;
  std::unique_ptr<Connection> connection_;
  Timer connect_timer_;   // the next try, or the end of this one
  Timer resend_timer_;    // sends those again
  Timer deadline_timer_;  // not after the earliest deadline

  // By id: pending_[i] has the id first_id_ + i.
  std::deque<Pending> pending_;
  uint64_t first_id_ = 1;
  size_t num_pending_ = 0;
};

}  // namespace ps

#endif  // PS_NET_CHANNEL_H_
