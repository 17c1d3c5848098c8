#include "net/channel.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace ps {

namespace {

// The id of the hello; ids of requests never reach it.
constexpr uint64_t kHelloId = UINT64_MAX;

// Returns the time until `deadline` in the unit of a header.
uint32_t deadline_ms(Time deadline, Time now) {
  if (deadline == kNever) return 0;
  int64_t left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count();
  return static_cast<uint32_t>(std::clamp<int64_t>(left, 1, UINT32_MAX));
}

}  // namespace

Channel::Channel(Transport& transport, BufferPool& pool, Address address, ChannelOptions options)
    : loop_(transport.loop()),
      transport_(transport),
      pool_(pool),
      address_(std::move(address)),
      options_(std::move(options)),
      backoff_(options_.backoff, Random(options_.seed, address_.port)),
      retry_backoff_(options_.backoff, Random(options_.seed, uint64_t{address_.port} << 16)),
      connect_timer_(loop_,
                     [this] {
                       if (state_ == State::kWaiting) return try_connect();
                       connection_->fail(Error(Code::kUnavailable, "no answer to the hello in time"));
                     }),
      resend_timer_(loop_, [this] { send_waiting(); }),
      deadline_timer_(loop_, [this] { expire(); }) {}

Channel::~Channel() = default;

// ---- the connection

void Channel::connect() {
  if (state_ == State::kIdle) try_connect();
}

void Channel::try_connect() {
  state_ = State::kConnecting;
  attempt_ = transport_.connect(address_, options_.connect_timeout,
                                [this](std::unique_ptr<Stream> stream, std::optional<Error> error) {
                                  attempt_.reset();
                                  error ? lost(*error) : connected(std::move(stream));
                                });
}

void Channel::connected(std::unique_ptr<Stream> stream) {
  Connection::Handler& handler = *this;
  connection_ =
      std::make_unique<Connection>(loop_, std::move(stream), pool_, options_.connection, counters_, handler);
  if (options_.hello_type != 0) return greet();
  state_ = State::kReady;
  send_waiting();
}

void Channel::greet() {
  state_ = State::kGreeting;
  connect_timer_.start_after(options_.connect_timeout);
  FrameHeader header{.type = options_.hello_type,
                     .deadline_ms = deadline_ms(options_.connect_timeout, Duration(0)),
                     .request_id = kHelloId};
  connection_->send(header, std::make_shared<Payload>(options_.hello()));
}

// Requests are sent only after the answer to the hello has been accepted.  An error of the answer, or of
// on_hello, ends this connection, and `lost` decides by its code if another one is tried.
void Channel::greeted(const Frame& frame) {
  if (state_ != State::kGreeting) return;
  connect_timer_.stop();
  try {
    if (frame.header.is_error()) throw decode_error(frame.body.bytes());
    if (frame.header.is_piece()) fail(Code::kUsage, "the hello is answered in pieces");
    if (options_.on_hello) options_.on_hello(frame);
  } catch (const Error& error) {
    return connection_->fail(error);
  }
  answers();
  state_ = State::kReady;
  send_waiting();
}

// Notes that the peer has answered.  Only an answer shows that it works: a peer may accept connections and close
// them again.
void Channel::answers() {
  down_since_.reset();
  backoff_.reset();
}

void Channel::on_closed(const Error& reason) {
  connect_timer_.stop();
  resend_timer_.stop();
  connection_.reset();
  lost(reason);
}

// The connection was lost: connects again after a delay, unless another attempt cannot help or the time for
// attempts is over.
void Channel::lost(const Error& reason) {
  for (Pending& pending : pending_) pending.sent = false;
  if (reason.code() != Code::kUnavailable) {
    return give_up(reason.within(cat("server ", quote(to_text(address_)))));
  }
  if (!down_since_) down_since_ = loop_.now();
  Duration down = loop_.now() - *down_since_;
  if (down >= options_.give_up_after) {
    return give_up(
        Error(Code::kUnavailable, cat("server ", quote(to_text(address_)), " cannot be reached for ",
                                      significant(to_seconds(down), 3), " s: ", reason.message())));
  }
  state_ = State::kWaiting;
  connect_timer_.start_after(backoff_.next());
  if (options_.on_waiting) {
    options_.on_waiting(cat("waiting for ", quote(to_text(address_)), ": ", reason.message()));
  }
}

// Answers all waiting requests with the reason.  The next request begins a new attempt.
void Channel::give_up(const Error& reason) {
  state_ = State::kIdle;
  down_since_.reset();
  backoff_.reset();
  // The callbacks are called last, when the queue is in order again: they may make requests, which connect
  // anew.
  std::vector<OnAnswer> callbacks;
  for (Pending& pending : pending_) {
    if (pending.on_answer) callbacks.push_back(take(pending));
  }
  trim();
  if (callbacks.empty() && options_.on_given_up) return options_.on_given_up(reason);
  for (OnAnswer& callback : callbacks) callback({.frame = {}, .error = reason});
}

// ---- requests

uint64_t Channel::request(uint16_t type, Payload payload, Duration timeout, OnAnswer on_answer) {
  PS_CHECK(type >= kFirstUserType && on_answer);
  Pending& pending = pending_.emplace_back();
  pending.type = type;
  // The timer stands at the earliest deadline or before it, so that only an earlier one has to move it.  An
  // entry has its place in the queue by its id, and a request that finds no connection waits for
  // send_waiting.
  pending.deadline = add_time(timeout == kNever ? Time(0) : loop_.now(), timeout);
  pending.payload = std::make_shared<Payload>(std::move(payload));
  pending.on_answer = std::move(on_answer);
  ++num_pending_;
  if (!deadline_timer_.started() || pending.deadline < deadline_timer_.time()) {
    deadline_timer_.start_at(pending.deadline);
  }
  uint64_t id = first_id_ + pending_.size() - 1;
  state_ == State::kReady ? send(id, pending) : connect();
  return id;
}

Channel::Pending* Channel::find(uint64_t id) {
  if (id < first_id_ || id - first_id_ >= pending_.size()) return nullptr;
  Pending& pending = pending_[id - first_id_];
  return pending.on_answer ? &pending : nullptr;
}

void Channel::send(uint64_t id, Pending& pending) {
  if (pending.sent_before) ++counters_.requests_resent;
  pending.sent = pending.sent_before = true;
  pending.pieces.reset();  // those of an answer that was not complete
  connection_->send(
      {.type = pending.type, .deadline_ms = deadline_ms(pending.deadline, loop_.now()), .request_id = id},
      pending.payload);
}

// Sends what is not on its way, in the order of ids: all requests after a new connection, delayed ones
// after a delay.
void Channel::send_waiting() {
  if (state_ != State::kReady) return;
  for (size_t i = 0; i < pending_.size(); ++i) {
    if (pending_[i].on_answer && !pending_[i].sent) send(first_id_ + i, pending_[i]);
  }
}

void Channel::cancel(uint64_t id) {
  if (Pending* pending = find(id)) take(*pending);
  trim();
}

// Ends a request.  Its entry stays in the queue, without payload, until all requests before it have ended too.
Channel::OnAnswer Channel::take(Pending& pending) {
  pending.payload.reset();
  pending.pieces.reset();
  --num_pending_;
  return std::exchange(pending.on_answer, nullptr);
}

void Channel::trim() {
  while (!pending_.empty() && !pending_.front().on_answer) {
    pending_.pop_front();
    ++first_id_;
  }
}

void Channel::finish(Pending& pending, Answer answer) {
  OnAnswer on_answer = take(pending);
  trim();
  on_answer(std::move(answer));
}

Frame Channel::call(uint16_t type, Payload payload, Duration timeout) {
  std::optional<Answer> answer;
  request(type, std::move(payload), timeout, [&answer](Answer got) { answer.emplace(std::move(got)); });
  loop_.run_until([&answer] { return answer.has_value(); }, kNever);
  return answer->take();
}

// ---- answers

// An answer in pieces has no more bytes in all than one in a single frame.
std::optional<uint64_t> Channel::max_body_bytes(const FrameHeader& header) {
  if (!header.is_answer()) return std::nullopt;
  const Pending* pending = find(header.request_id);
  return options_.max_answer_bytes - (pending != nullptr && pending->pieces ? pending->pieces->bytes : 0);
}

// An answer belongs to a request by its id.  It is dropped if that request has ended, as after its
// deadline, or was not sent over this connection.  An error other than kUnavailable ends the request; that
// one only delays it.
void Channel::on_frame(Frame frame) {
  if (frame.header.request_id == kHelloId) return greeted(frame);
  answers();
  Pending* pending = find(frame.header.request_id);
  if (pending == nullptr || !pending->sent || frame.header.type != pending->type) {
    ++counters_.answers_unexpected;
    return;
  }
  if (!frame.header.is_error()) {
    retry_backoff_.reset();
    if (frame.header.is_piece()) return keep(*pending, std::move(frame));
    return finish(*pending, {.frame = join(*pending, std::move(frame)), .error = {}});
  }
  Error error = decode_error(frame.body.bytes());
  if (error.code() != Code::kUnavailable) return finish(*pending, {.frame = {}, .error = std::move(error)});
  delay(*pending, std::move(error));
}

void Channel::keep(Pending& pending, Frame frame) {
  if (!pending.pieces) pending.pieces = std::make_shared<Pieces>();
  pending.pieces->bytes += frame.body.size();
  pending.pieces->bodies.push_back(std::move(frame.body));
}

// Returns the whole answer, of which `last` is the last piece.
Frame Channel::join(Pending& pending, Frame last) {
  const std::shared_ptr<Pieces> pieces = std::exchange(pending.pieces, nullptr);
  if (!pieces) return last;
  pieces->bodies.push_back(std::move(last.body));
  last.body = pool_.take(pieces->bytes + pieces->bodies.back().size());
  char* out = last.body.data();
  for (Buffer& piece : pieces->bodies) {
    out = std::ranges::copy(piece.bytes(), out).out;
    // Each piece goes back to the pool as soon as it is copied, so that others can use its memory.
    piece = Buffer();
  }
  return last;
}

// The server works but cannot serve the request yet: sends it again after a delay.
void Channel::delay(Pending& pending, Error reason) {
  pending.sent = false;
  pending.last_error = std::move(reason);
  if (!resend_timer_.started()) resend_timer_.start_after(retry_backoff_.next());
}

// A frame that was damaged on the way is a reason for another connection.  A frame that is too long or unknown
// would be so again, and ends its request.
void Channel::on_refused(const FrameHeader& header, const Error& problem) {
  if (problem.code() == Code::kUnavailable) return connection_->fail(problem);
  if (Pending* pending = find(header.request_id)) finish(*pending, {.frame = {}, .error = problem});
}

void Channel::retry_starved() {
  if (connection_) connection_->retry_starved();
}

// Answers the requests whose deadlines have passed, in the order of these, and sets the timer for the next one.
void Channel::expire() {
  Time now = loop_.now(), next = kNever;
  std::vector<Pending> expired;
  for (Pending& pending : pending_) {
    if (!pending.on_answer) continue;
    if (pending.deadline > now) {
      next = std::min(next, pending.deadline);
      continue;
    }
    expired.push_back(pending);
    take(pending);
  }
  trim();
  deadline_timer_.start_at(next);
  std::stable_sort(expired.begin(), expired.end(),
                   [](const Pending& a, const Pending& b) { return a.deadline < b.deadline; });
  for (Pending& pending : expired) {
    std::string why = pending.last_error ? cat(": ", pending.last_error->message()) : "";
    Error error(Code::kUnavailable,
                cat("server ", quote(to_text(address_)), ": no answer within the deadline", why));
    pending.on_answer({.frame = {}, .error = std::move(error)});
  }
}

}  // namespace ps
