// Every request goes through ask.  It is deferred if the shard is busy and the message has to wait; else the
// peer's rights are checked, and the entry of the table decodes the body and handles the request.  Handlers
// answer through replies that measure the time, count the memory, or wait until the log is on the disk.
#include "ps/server/shard_messages.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/current_error.h"
#include "base/error.h"
#include "net/auth/token_file.h"
#include "ps/wire/run_messages.h"

namespace ps {

namespace {

std::string_view text_of(const Frame& frame) {
  return {frame.body.data(), frame.body.size()};
}

// ---- replies

// Answers a request over its connection.  One owner thread, as of every reply.
class ResponderReply final : public Reply {
 public:
  explicit ResponderReply(Responder responder) : responder_(std::move(responder)) {}
  void answer(std::shared_ptr<const Payload> payload) override { responder_.answer(std::move(payload)); }
  void answer_piece(std::shared_ptr<const Payload> payload) override {
    responder_.answer_piece(std::move(payload));
  }
  void fail(const Error& error) override { responder_.fail(error); }
  bool wanted() const override { return responder_.wanted(); }

 private:
  Responder responder_;
};

// A reply that measures how long its answer took; a refusal does not count.  One owner thread.
class TimedReply final : public Reply {
 public:
  TimedReply(Responder responder, const ShardHost& host, RequestSeconds& seconds)
      : reply_(std::move(responder)), host_(host), start_(host.now()), seconds_(seconds) {}
  void answer(std::shared_ptr<const Payload> payload) override {
    reply_.answer(std::move(payload));
    seconds_.add(to_seconds(host_.now() - start_));
  }
  void fail(const Error& error) override { reply_.fail(error); }
  bool wanted() const override { return reply_.wanted(); }

 private:
  ResponderReply reply_;
  const ShardHost& host_;
  const Time start_;
  RequestSeconds& seconds_;
};

// A reply whose memory is counted until it is answered or dropped.  One owner thread.
class CountedReply final : public Reply {
 public:
  CountedReply(Responder responder, HeldBytes held) : reply_(std::move(responder)), held_(std::move(held)) {}
  void answer(std::shared_ptr<const Payload> payload) override { reply_.answer(std::move(payload)); }
  void fail(const Error& error) override { reply_.fail(error); }
  bool wanted() const override { return reply_.wanted(); }

 private:
  ResponderReply reply_;
  HeldBytes held_;
};

ReplyPtr reply_to(Responder& responder) {
  return std::make_unique<ResponderReply>(std::move(responder));
}

ReplyPtr synced_reply_to(ShardPeer& peer, Responder& responder) {
  return peer.host.log().when_synced(reply_to(responder));
}

ReplyPtr timed(ShardPeer& peer, Responder& responder, RequestSeconds& seconds) {
  return std::make_unique<TimedReply>(std::move(responder), peer.host, seconds);
}

// For requests that wait for a checkpoint that may never come.  If it throws kExhausted, `responder` was not
// taken.
ReplyPtr counted_reply_to(ShardPeer& peer, Responder& responder) {
  HeldBytes held = peer.host.shard().hold_request(peer.member->rank, HeldKind::kCheckpoints);
  return std::make_unique<CountedReply>(std::move(responder), std::move(held));
}

// An error that `body` throws is answered through the reply, also when memory is short: after a reply that is
// dropped without an answer the peer would ask again, and so without end.
template <class Body>
void with_reply(ReplyPtr reply, Body&& body) {
  try {
    body(reply);
  } catch (...) {
    if (reply) reply->fail(current_error());
  }
}

// ---- decoders: decode(peer, frame) returns the request

struct Nothing {};
Nothing no_body(ShardPeer&, Frame) {
  return {};
}

Hello hello_body(ShardPeer&, Frame frame) {
  return Hello::spec().parse(parse_json(text_of(frame), "hello"), "hello");
}

uint32_t row_report_body(ShardPeer&, Frame frame) {
  ByteReader in(text_of(frame));
  const uint32_t parameter = in.get<uint32_t>();
  if (!in.ok() || in.remaining() > 0) fail(Code::kData, "row report: the body is not 4 bytes");
  return parameter;
}

// Decodes requests with rows, whose widths the shard knows.
PushRequest push_body(ShardPeer& peer, Frame frame) {
  return decode_push(std::move(frame.body), peer.host.shard().tables().widths());
}
PushRequest load_body(ShardPeer& peer, Frame frame) {
  return decode_load(std::move(frame.body), peer.host.shard().tables().widths());
}

// Decodes all other requests.
template <auto decode>
auto bytes_body(ShardPeer&, Frame frame) {
  return decode(frame.body.bytes());
}

// ---- handlers: answer(peer, request, responder)

void describe(ShardPeer& peer, Nothing, Responder& responder) {
  responder.answer(Payload(peer.description));
}

// To be called before anything of the job is compared: a difference would tell a stranger about the job.
void check_granted(const ShardPeer& peer, Access needed) {
  if (peer.access >= needed) return;
  fail(Code::kAuthentication, "the token is for '", access_name(peer.access), "', this needs one for '",
       access_name(needed), "'");
}

// Welcomes a peer.  The token is checked before the job, and the job before the server claims its place by
// the fence.  has_finished comes before admit, since a trainer with nothing left to do must not make a
// shard; it takes a connection of the readers, because it has no rank.  The peer gets its role only after
// the last check: an error before that leaves it a stranger.  join may have begun a run, so the welcome
// waits until that is logged.
void greet(ShardPeer& peer, const Hello& hello, Responder& responder) {
  ShardHost& host = peer.host;
  if (hello.role == "train") check_granted(peer, Access::kTrain);
  if (peer.greeted) fail(Code::kData, "a second hello");
  host.check_job(hello);
  if (host.fence() != nullptr) host.fence()->claim(hello.server);
  const bool finished = host.has_finished(hello);
  if (!finished) host.admit(hello);
  Welcome welcome = finished ? host.welcome_finished(hello) : host.welcome();
  if (!finished && hello.role == "train") {
    const Member member{hello.rank, hello.trainers, hello.generation,   hello.known,
                        hello.run,  hello.going,    hello.max_trainers, hello.passes};
    welcome.run_status = host.join(member);
    welcome.max_trainers = static_cast<int>(host.shard().roster().size());
    peer.member = member;
  } else {
    host.readers().join();
    peer.reads = true;
  }
  peer.greeted = true;
  peer.link.establish(peer.member ? cat("trainer ", peer.member->rank) : "");
  ReplyPtr reply = finished ? reply_to(responder) : synced_reply_to(peer, responder);
  reply->answer(Payload(Welcome::spec().to_json(welcome).dump()));
}

void keys(ShardPeer& peer, const KeysRequest& request, Responder& responder) {
  responder.answer(Payload(peer.host.shard().tables().keys(request)));
}

void report_rows(ShardPeer& peer, uint32_t parameter, Responder& responder) {
  responder.answer(Payload(encode_row_report(peer.host.shard().tables().row_report(parameter))));
}

// A pull to train may wait for the clock; others are answered at once.
void pull(ShardPeer& peer, PullRequest request, Responder& responder) {
  Shard& shard = peer.host.shard();
  if (request.mode == PullMode::kRead) {
    const uint64_t reader = ~reinterpret_cast<uintptr_t>(&peer);  // ranks are small numbers
    return with_reply(reply_to(responder),
                      [&](ReplyPtr& reply) { shard.pulls().read(reader, std::move(request), reply); });
  }
  if (!peer.member) fail(Code::kAuthentication, "who only reads may not pull to train");
  with_reply(timed(peer, responder, peer.times.pulls),
             [&](ReplyPtr& reply) { shard.pull(peer.member->rank, std::move(request), reply); });
}

void push(ShardPeer& peer, PushRequest request, Responder& responder) {
  ShardHost& host = peer.host;
  if (host.log().is_on() && request.pulled != 0) {
    fail(Code::kData, "push: it is to be logged, and has no keys");
  }
  with_reply(host.log().when_synced(timed(peer, responder, peer.times.pushes)),
             [&](ReplyPtr& reply) { host.shard().push(peer.member->rank, std::move(request), reply); });
}

void commit(ShardPeer& peer, CommitRequest request, Responder& responder) {
  with_reply(synced_reply_to(peer, responder), [&](ReplyPtr& reply) {
    peer.host.shard().commit(peer.member->rank, std::move(request), reply);
  });
}

void gather(ShardPeer& peer, const Frame& frame, Responder& responder) {
  with_reply(synced_reply_to(peer, responder), [&](ReplyPtr& reply) {
    peer.host.shard().gather(peer.member->rank, decode_gather(text_of(frame)), reply);
  });
}

void tell_gathered(ShardPeer& peer, const GatheredRequest& request, Responder& responder) {
  responder.answer(peer.host.shard().gatherings().present().former_slice(request));
}

void load(ShardPeer& peer, const PushRequest& request, Responder& responder) {
  peer.host.shard().load(request);
  synced_reply_to(peer, responder)->answer(Payload());
}

void end_run(ShardPeer& peer, Nothing, Responder& responder) {
  peer.host.shard().membership().end_run(peer.member->rank);
  synced_reply_to(peer, responder)->answer(Payload());
}

void leave_run(ShardPeer& peer, Nothing, Responder& responder) {
  peer.host.shard().membership().leave_run(peer.member->rank, peer.host.now());
  responder.answer(Payload());
}

void tell_absent(ShardPeer& peer, Nothing, Responder& responder) {
  const TrainerRoster& roster = peer.host.shard().roster();
  responder.answer(Payload(encode_absent({.awaited = roster.absent(), .given_up = roster.given_up()})));
}

// The hello is that of a trainer that would come now; it is looked at, and takes no rank.
void tell_run_end(ShardPeer& peer, const Hello& hello, Responder& responder) {
  check_granted(peer, Access::kTrain);
  ShardHost& host = peer.host;
  host.check_job(hello);
  RunEnd end;
  if (host.has_finished(hello)) end.passes = host.welcome_finished(hello).run_status.finished;
  end.ended = end.passes > 0 || (host.has_shard() && host.shard().roster().has_ended());
  responder.answer(Payload(encode_run_end(end)));
}

void tell_work(ShardPeer& peer, Nothing, Responder& responder) {
  responder.answer(Payload(encode_work(peer.host.shard().steps().work_of(peer.member->rank))));
}

void tell_optimizers(ShardPeer& peer, bool sparse, Responder& responder) {
  responder.answer(Payload(peer.host.shard().optimizers(sparse)));
}

void tell_stored_rows(ShardPeer& peer, const std::vector<RowSlice>& slices, Responder& responder) {
  responder.answer(Payload(peer.host.shard().stored_rows(slices)));
}

// The answer comes after all earlier answers of this connection.
void tell_applied(ShardPeer& peer, Nothing, Responder& responder) {
  synced_reply_to(peer, responder)->answer(Payload(encode_applied(peer.host.shard().steps().clock())));
}

Frame whole_frame(ShardPeer&, Frame frame) {
  return frame;
}

void receive_returned_rows(ShardPeer& peer, const Frame& frame, Responder& responder) {
  std::string absent = peer.host.shard().return_rows(peer.member->rank, text_of(frame));
  synced_reply_to(peer, responder)->answer(Payload(std::move(absent)));
}

void elect_saver(ShardPeer& peer, const SaveRequest& request, Responder& responder) {
  responder.answer(Payload(encode_saver(peer.host.elect_saver(*peer.member, request))));
}

void ask_checkpoint(ShardPeer& peer, int64_t pass, Responder& responder) {
  peer.host.checkpoints().ask(pass, counted_reply_to(peer, responder));
}

void ask_shard_files(ShardPeer& peer, uint64_t step, Responder& responder) {
  peer.host.checkpoints().ask_shard_files(step, counted_reply_to(peer, responder));
}

void read_shard_file(ShardPeer& peer, const CheckpointShardSlice& slice, Responder& responder) {
  responder.answer(Payload(peer.host.checkpoints().read(slice)));
}

void state_chunk(ShardPeer& peer, uint32_t number, Responder& responder) {
  responder.answer(peer.host.shard().state_chunk(peer.member->rank, number));
}

// ---- the table

template <auto decode, auto answer>
void handle(ShardPeer& peer, Frame frame, Responder& responder) {
  answer(peer, decode(peer, std::move(frame)), responder);
}

bool always(const ShardPeer&, const Frame&) {
  return true;
}
bool never(const ShardPeer&, const Frame&) {
  return false;
}

// Returns true for the hello of a trainer.  A reader's hello changes nothing, and need not wait.
bool is_of_trainer(const ShardPeer&, const Frame& frame) {
  try {
    return Hello::spec().parse(parse_json(text_of(frame), "hello"), "hello").role == "train";
  } catch (const Error&) {
    return false;
  }
}

// Returns true if a trainer pulls to train.  Reads only the beginning of the body: step:u64 mode:u8.
bool is_to_train(const ShardPeer& peer, const Frame& frame) {
  ByteReader in(text_of(frame));
  in.get<uint64_t>();
  return peer.member && in.get<uint8_t>() == static_cast<uint8_t>(PullMode::kTrain);
}

constexpr uint64_t kSmall = 64, kNamed = 1024;  // bytes: of a few numbers; of a few numbers and a name

// The last field of an entry says which requests wait while a step is applied in slices.  Requests that
// change the run or its tables wait, and so do questions of trainers whose answers depend on the step.
// Requests that readers may make do not wait, nor do those that concern only the files of checkpoints and
// the trainer that saves a model.
constexpr std::array kMessages = {
    ShardMessage{Message::kDescribe, 0, Role::kStranger, handle<no_body, describe>, never},
    ShardMessage{Message::kHello, kMaxHelloBytes, Role::kStranger, handle<hello_body, greet>, is_of_trainer},
    ShardMessage{Message::kKeys, kSmall, Role::kReader, handle<bytes_body<decode_keys_request>, keys>, never},
    ShardMessage{Message::kRowReport, kSmall, Role::kReader, handle<row_report_body, report_rows>, never},
    ShardMessage{Message::kPull, kMaxAskedBytes, Role::kReader, handle<bytes_body<decode_pull>, pull>,
                 is_to_train},
    ShardMessage{Message::kPush, kMaxMessageBytes, Role::kTrainer, handle<push_body, push>, always},
    ShardMessage{Message::kCommit, kMaxMessageBytes, Role::kTrainer,
                 handle<bytes_body<decode_commit>, commit>, always},
    ShardMessage{Message::kGather, kMaxGatherBytes, Role::kTrainer, handle<whole_frame, gather>, always},
    ShardMessage{Message::kGatheredSlice, 16, Role::kTrainer,
                 handle<bytes_body<decode_gathered_request>, tell_gathered>, always},
    ShardMessage{Message::kLoad, kMaxMessageBytes, Role::kTrainer, handle<load_body, load>, always},
    ShardMessage{Message::kEndRun, 0, Role::kTrainer, handle<no_body, end_run>, always},
    ShardMessage{Message::kSaveLease, kNamed, Role::kTrainer,
                 handle<bytes_body<decode_save_request>, elect_saver>, never},
    ShardMessage{Message::kCheckpoint, 8, Role::kTrainer,
                 handle<bytes_body<decode_checkpoint_request>, ask_checkpoint>, always},
    ShardMessage{Message::kCheckpointShard, 8, Role::kTrainer,
                 handle<bytes_body<decode_shard_request>, ask_shard_files>, never},
    ShardMessage{Message::kCheckpointSlice, kNamed, Role::kTrainer,
                 handle<bytes_body<decode_shard_slice>, read_shard_file>, never},
    ShardMessage{Message::kTrainerChunk, 4, Role::kTrainer,
                 handle<bytes_body<decode_chunk_request>, state_chunk>, always},
    ShardMessage{Message::kLeaveRun, 0, Role::kTrainer, handle<no_body, leave_run>, always},
    ShardMessage{Message::kAbsent, 0, Role::kReader, handle<no_body, tell_absent>, never},
    ShardMessage{Message::kRunEnd, kMaxHelloBytes, Role::kStranger, handle<hello_body, tell_run_end>, never},
    ShardMessage{Message::kOptimizers, 1, Role::kTrainer,
                 handle<bytes_body<decode_optimizers_request>, tell_optimizers>, always},
    ShardMessage{Message::kStoredRows, kMaxAskedBytes, Role::kTrainer,
                 handle<bytes_body<decode_stored_rows_request>, tell_stored_rows>, always},
    ShardMessage{Message::kReturnRows, kMaxMessageBytes, Role::kTrainer,
                 handle<whole_frame, receive_returned_rows>, always},
    ShardMessage{Message::kWork, 0, Role::kTrainer, handle<no_body, tell_work>, always},
    ShardMessage{Message::kApplied, 0, Role::kTrainer, handle<no_body, tell_applied>, always},
};

}  // namespace

std::span<const ShardMessage> shard_messages() {
  return kMessages;
}

const ShardMessage* find_shard_message(uint16_t type) {
  auto found = std::ranges::find(kMessages, static_cast<Message>(type), &ShardMessage::type);
  return found == kMessages.end() ? nullptr : &*found;
}

void check_may_ask(const ShardPeer& peer, const ShardMessage& message) {
  if (peer.host.fence() != nullptr) peer.host.fence()->check();
  if (message.may_ask == Role::kTrainer) check_granted(peer, Access::kTrain);
  if (message.may_ask == Role::kStranger) return;
  if (!peer.greeted) fail(Code::kAuthentication, "a hello has to come first");
  if (!peer.host.has_shard()) fail(kStateLost, "the parameters are not here any more");
  if (peer.member) peer.host.shard().roster().check(*peer.member);
  if (message.may_ask == Role::kTrainer && peer.role() != Role::kTrainer) {
    fail(Code::kAuthentication, "who only reads may not change anything");
  }
}

namespace {

// A message that waits until the shard is not busy.  One owner thread.
class DeferredMessage final : public DeferredRequest {
 public:
  DeferredMessage(std::shared_ptr<ShardPeer> peer, const ShardMessage& message, Frame frame,
                  Responder& responder)
      : peer_(std::move(peer)),
        message_(message),
        frame_(std::move(frame)),
        responder_(std::move(responder)) {}

  // The run may have ended while the message waited, or the rank may have another process, so that the
  // rights of the peer are checked again.
  void handle() override {
    if (message_.type == Message::kHello) peer_->hello_waits = false;
    if (peer_->closed && !is_last_word()) return;
    try {
      check_may_ask(*peer_, message_);
      message_.handle(*peer_, std::move(frame_), responder_);
    } catch (...) {
      responder_.fail(current_error());
    }
  }
  void fail(const Error& error) override { responder_.fail(error); }

 private:
  // Returns true for the last message of a trainer.  Every other request without an answer is sent again over
  // another connection.
  bool is_last_word() const {
    return message_.type == Message::kEndRun || message_.type == Message::kLeaveRun;
  }

  const std::shared_ptr<ShardPeer> peer_;
  const ShardMessage& message_;
  Frame frame_;
  Responder responder_;
};

// Defers the request.  Only trainers, whose requests are counted, can fill the list; any other peer has a
// single request in it.
void defer(const std::shared_ptr<ShardPeer>& peer, const ShardMessage& message, Frame frame,
           Responder& responder) {
  HeldBytes held;
  if (message.type == Message::kHello) {
    if (peer->greeted || peer->hello_waits) fail(Code::kData, "a second hello");
  } else {
    check_may_ask(*peer, message);
    held = peer->host.shard().hold_request(peer->member->rank, HeldKind::kDeferred);
  }
  auto request = std::make_unique<DeferredMessage>(peer, message, std::move(frame), responder);
  request->held = std::move(held);
  peer->hello_waits |= message.type == Message::kHello;
  peer->host.deferred().defer(std::move(request));
}

}  // namespace

void ask(const std::shared_ptr<ShardPeer>& peer, const ShardMessage& message, Frame frame,
         Responder& responder) {
  if (peer->host.deferred().must_wait() && message.waits(*peer, frame))
    return defer(peer, message, std::move(frame), responder);
  check_may_ask(*peer, message);
  message.handle(*peer, std::move(frame), responder);
}

}  // namespace ps
