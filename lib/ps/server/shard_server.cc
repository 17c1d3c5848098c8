#include "ps/server/shard_server.h"

#include "base/error.h"
#include "config/spec.h"

namespace ps {

namespace {

constexpr uint64_t kMaxHelloBytes = 4 << 20;  // a job file with a large network
constexpr Duration kCheckInterval = std::chrono::seconds(1);
constexpr Duration kPublishInterval = std::chrono::milliseconds(250);

std::string_view text_of(const Frame& frame) {
  return {frame.body.data(), frame.body.size()};
}

class ResponderReply final : public Reply {
 public:
  explicit ResponderReply(Responder responder) : responder_(std::move(responder)) {}
  void answer(std::shared_ptr<const Payload> payload) override { responder_.answer(std::move(payload)); }
  void fail(const Error& error) override { responder_.fail(error); }
  bool wanted() const override { return responder_.wanted(); }

 private:
  Responder responder_;
};

// One that counts how long it took; a refusal does not count.
class TimedReply final : public Reply {
 public:
  TimedReply(Responder responder, const Loop& loop, RequestSeconds& seconds)
      : reply_(std::move(responder)), loop_(loop), start_(loop.now()), seconds_(seconds) {}
  void answer(std::shared_ptr<const Payload> payload) override {
    reply_.answer(std::move(payload));
    seconds_.add(to_seconds(loop_.now() - start_));
  }
  void fail(const Error& error) override { reply_.fail(error); }
  bool wanted() const override { return reply_.wanted(); }

 private:
  ResponderReply reply_;
  const Loop& loop_;
  const Time start_;
  RequestSeconds& seconds_;
};

ServerOptions server_options(const ShardLimits& limits, Duration request_timeout) {
  ServerOptions options;
  options.max_memory_bytes = limits.request_bytes;
  options.max_handshake_bytes = kMaxHelloBytes;
  const Duration stall_timeout = options.connection.stall_timeout;
  options.connection = alive_within(request_timeout);
  options.connection.stall_timeout = stall_timeout;
  return options;
}

}  // namespace

// One connection of a trainer, or of somebody who reads.
class ShardSession final : public Session {
 public:
  ShardSession(ShardServer& server, SessionLink link) : server_(server), link_(std::move(link)) {}

  std::optional<uint64_t> max_body_bytes(uint16_t type) override {
    switch (static_cast<Message>(type)) {
      case Message::kDescribe:
      case Message::kEndRun:
      case Message::kTrainerStates:
        return 0;
      case Message::kKeptPiece:
        return 4;
      case Message::kCheckpoint:
      case Message::kPart:
        return 8;
      case Message::kHello:
        return kMaxHelloBytes;
      case Message::kKeys:
      case Message::kRowReport:
        return 64;
      case Message::kPull:
      case Message::kPush:
      case Message::kApply:
      case Message::kLoad:
        return kMaxMessageBytes;
      case Message::kSaveLease:
      case Message::kPartPiece:
        return 1024;
      case Message::kGather:
        return kMaxGatherBytes;
    }
    return std::nullopt;
  }

  void on_request(Frame frame, Responder& responder) override {
    if (server_.job_.fence != nullptr) server_.job_.fence->check();
    const Message type = static_cast<Message>(frame.header.type);
    if (type == Message::kDescribe) return responder.answer(Payload(server_.description_));
    if (type == Message::kHello) return greet(frame, responder);
    if (!greeted_) fail(Code::kAuthentication, "a hello has to come first");
    if (!server_.shard_) fail(kStateLost, "the parameters are not here any more");
    if (member_) shard().roster().check(*member_);
    if (type == Message::kKeys) {
      return responder.answer(Payload(shard().keys(decode_keys_request(frame.body.bytes()))));
    }
    if (type == Message::kRowReport) return report_rows(frame, responder);
    if (type == Message::kPull) return pull(frame, responder);
    if (!member_) fail(Code::kAuthentication, "who only reads may not change anything");
    if (type == Message::kLoad) {
      shard().load(decode_load(std::move(frame.body), shard().tables().widths()));
      return server_.when_synced(reply_to(responder))->answer(Payload());
    }
    if (type == Message::kApply) return apply(frame, responder);
    if (type == Message::kSaveLease) return lease(frame, responder);
    if (type == Message::kCheckpoint) {
      return server_.ask_checkpoint(decode_checkpoint_request(frame.body.bytes()), reply_to(responder));
    }
    if (type == Message::kPart) {
      return server_.ask_part(decode_shard_request(frame.body.bytes()), reply_to(responder));
    }
    if (type == Message::kPartPiece) {
      return responder.answer(Payload(server_.parts_.read(decode_shard_slice(frame.body.bytes()))));
    }
    if (type == Message::kTrainerStates) return responder.answer(shard().trainer_states().former_states(member_->rank));
    if (type == Message::kKeptPiece) {
      const uint32_t number = decode_kept_request(frame.body.bytes());
      return responder.answer(shard().state_chunk(member_->rank, number));
    }
    if (type == Message::kEndRun) {
      shard().end_run(member_->rank);
      return server_.when_synced(reply_to(responder))->answer(Payload());
    }
    type == Message::kPush ? push(std::move(frame), responder) : gather(frame, responder);
  }

  void on_closed(const Error&) override {
    if (member_ && server_.shard_) shard().leave(*member_, server_.loop_.now());
  }

 private:
  Shard& shard() { return *server_.shard_; }

  void greet(const Frame& frame, Responder& responder) {
    Hello hello = Hello::spec().parse(parse_json(text_of(frame), "hello"), "hello");
    if (greeted_) fail(Code::kData, "a second hello");
    server_.check_job(hello);
    if (server_.job_.fence != nullptr) server_.job_.fence->claim(hello.server);
    Welcome welcome;
    if (server_.has_finished(hello)) {
      welcome.cpu = hello.cpu;
      welcome.run_status = {.checkpointed = true, .finished = server_.finished_};
      greeted_ = true;
      link_.establish();
      return responder.answer(Payload(Welcome::spec().to_json(welcome).dump()));
    }
    server_.admit(hello);
    welcome.cpu = server_.cpu_;
    if (hello.role == "train") {
      Member member{hello.rank, hello.trainers, hello.generation, hello.known, hello.run, hello.going};
      welcome.run_status = server_.join(member);
      member_ = member;
    }
    greeted_ = true;
    link_.establish();
    server_.when_synced(reply_to(responder))->answer(Payload(Welcome::spec().to_json(welcome).dump()));
  }

  void report_rows(const Frame& frame, Responder& responder) {
    ByteReader in(text_of(frame));
    const uint32_t parameter = in.get<uint32_t>();
    if (!in.ok() || in.remaining() > 0) fail(Code::kData, "row report: the body is not 4 bytes");
    responder.answer(Payload(encode_row_report(shard().tables().row_report(parameter))));
  }

  // Training pulls may wait for the clock; others are answered at once.
  void pull(const Frame& frame, Responder& responder) {
    PullRequest request = decode_pull(frame.body.bytes());
    if (request.mode == PullMode::kRead) return responder.answer(shard().read(request));
    if (!member_) fail(Code::kAuthentication, "who only reads may not pull to train");
    with_reply(timed(responder, server_.pull_seconds_),
               [&](ReplyPtr& reply) { shard().pull(member_->rank, std::move(request), reply); });
  }

  void push(Frame frame, Responder& responder) {
    PushRequest request = decode_push(std::move(frame.body), shard().tables().widths());
    if (server_.log_ && request.pulled != 0) fail(Code::kData, "push: it is to be logged, and has no keys");
    with_reply(server_.when_synced(timed(responder, server_.push_seconds_)),
               [&](ReplyPtr& reply) { shard().push(member_->rank, std::move(request), reply); });
  }

  void apply(const Frame& frame, Responder& responder) {
    ApplyRequest request = decode_apply(frame.body.bytes());
    with_reply(server_.when_synced(reply_to(responder)),
               [&](ReplyPtr& reply) { shard().apply(member_->rank, std::move(request), reply); });
  }

  void gather(const Frame& frame, Responder& responder) {
    GatherRequest request = decode_gather(text_of(frame));
    with_reply(server_.when_synced(reply_to(responder)),
               [&](ReplyPtr& reply) { shard().gather(member_->rank, std::move(request), reply); });
  }

  void lease(const Frame& frame, Responder& responder) {
    const Saver saver = server_.save_lease_.ask(decode_lease_request(frame.body.bytes()), member_->rank,
                                                member_->generation, server_.loop_.now());
    responder.answer(Payload(encode_saver(saver)));
  }

  static ReplyPtr reply_to(Responder& responder) {
    return std::make_unique<ResponderReply>(std::move(responder));
  }

  ReplyPtr timed(Responder& responder, RequestSeconds& seconds) const {
    return std::make_unique<TimedReply>(std::move(responder), server_.loop_, seconds);
  }

  // What is thrown is answered through the reply.
  template <class Body>
  void with_reply(ReplyPtr reply, Body&& body) {
    try {
      body(reply);
    } catch (const Error& error) {
      if (reply) reply->fail(error);
    }
  }

  ShardServer& server_;
  SessionLink link_;
  bool greeted_ = false;
  std::optional<Member> member_;  // of those who train
};

ShardServer::ShardServer(Transport& transport, const Address& address, const ServedJob& job,
                         const ShardLimits& limits)
    : loop_(transport.loop()),
      job_(job),
      limits_(limits),
      parts_([this](const CheckpointStep& cut) { return checkpoint_->folders(cut); }),
      fail_timer_(loop_,
                  [this] {
                    drain();
                    on_failed_(*failed_);
                  }),
      check_timer_(loop_, [this] { check_trainers(); }),
      publish_timer_(loop_, [this] { publish(); }),
      server_(std::make_unique<Server>(
          transport, address, server_options(limits_, job.request_timeout),
          [this](SessionLink link) { return std::make_unique<ShardSession>(*this, std::move(link)); })) {
  check_timer_.start_after(kCheckInterval);
}

ShardServer::~ShardServer() = default;

void ShardServer::check_job(const Hello& hello) const {
  if (hello.protocol != kProtocolVersion) {
    fail(Code::kUsage, "protocol version ", hello.protocol, ", this server speaks ", kProtocolVersion);
  }
  if (auto difference = first_difference(hello.job, job_.fingerprint)) {
    fail(Code::kUsage, "the server has another job: ", *difference, " there");
  }
}

void ShardServer::admit(const Hello& hello) {
  if (failed_) throw *failed_;
  if (!shard_) take_up_log(hello);
  if (shard_ && has_lost_run(hello)) drop_shard();
  if (!shard_) return make_shard(hello);
  auto difference = first_difference(hello.schema, schema_, "data.schema");
  if (!difference) difference = first_difference(hello.place, place_, "servers");
  if (difference) fail(Code::kUsage, "other trainers differ: ", *difference);
}

void ShardServer::new_shard(const Json& schema, const Json& place, const std::string& cpu) {
  std::vector<ParameterSpec> specs = job_.parameters(schema_from_json(schema));
  shard_ = std::make_unique<Shard>(std::move(specs), job_.optimizers, place_from_json(place),
                                   job_.consistency, job_.trainer_loss, limits_);
  schema_ = schema;
  cpu_ = cpu;
  place_ = place;
}

void ShardServer::make_shard(const Hello& hello) {
  if (has_directory() && (hello.known || hello.going)) {
    fail(kStateLost, "the server was restarted: the run of trainer ", hello.rank, " is not known here");
  }
  new_shard(hello.schema, hello.place, hello.cpu);
  try {
    if (has_directory()) restore(hello);
  } catch (const Error&) {
    drop_shard();
    throw;
  }
  if (has_directory()) begin_log();
  watch_cuts();
  watch_end();
}

// Whoever waits hears of it, and begins anew.
void ShardServer::drop_shard() {
  ending_ = 0;
  checkpoint_.reset();
  const Error lost(kStateLost, "the run goes back to a checkpoint");
  checkpoint_requests_.refuse(lost);
  parts_.refuse(lost);
  shard_->refuse_waiting(lost);
  if (log_) log_->end(lost);
  shard_.reset();
  log_.reset();
}

void ShardServer::check_trainers() {
  if (shard_) shard_->check_trainers(loop_.now());
  if (log_) log_->prune();
  check_timer_.start_after(kCheckInterval);
}

void ShardServer::publish_to(StatusBoard& board) {
  board_ = &board;
  publish_timer_.start_after(Duration());
}

void ShardServer::publish() {
  ShardStatus status;
  status.port = address().port;
  status.published = loop_.now();
  status.connections = server_->num_connections();
  status.net = server_->counters();
  status.message_bytes = server_->pool().bytes_in_use();
  status.pull_seconds = pull_seconds_;
  status.push_seconds = push_seconds_;
  if (shard_) shard_->describe(status);
  if (checkpoint_) status.checkpoints = checkpoint_->counters();
  if (log_) status.log = log_->counters();
  status.pulls_per_second = pull_rate_.update(status.counters.pulls, status.published);
  status.pushes_per_second = push_rate_.update(status.counters.pushes, status.published);
  board_->publish(std::move(status));
  publish_timer_.start_after(kPublishInterval);
}

void ShardServer::drain() {
  const Error ending(Code::kUnavailable, "the server is ending");
  if (shard_) shard_->refuse_waiting(ending);
  parts_.refuse(ending);
  if (log_) log_->end(ending);
  server_->drain();
}

}  // namespace ps
