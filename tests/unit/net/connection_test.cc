// A connection against peers that do not behave: the other side is a plain stream.
#include "net/connection.h"

#include <algorithm>

#include "net_test.h"

namespace ps::connection_test {
namespace {

class Owner final : public Connection::Handler {
 public:
  std::optional<uint64_t> max_body_bytes(const FrameHeader& header) override {
    if (header.type == 99) return std::nullopt;
    return 100000;
  }
  void on_frame(Frame frame) override {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(frame.body.data()) % Buffer::kAlignment, 0u);
    bodies.push_back(text_of(frame));
    if (keep) kept.push_back(std::move(frame));
  }
  void on_refused(const FrameHeader& header, const Error& problem) override {
    refused.push_back(header.request_id);
    problems.push_back(problem);
  }
  void on_drained() override { ++drained; }
  void on_closed(const Error& why) override { reason = why; }

  std::vector<std::string> bodies;
  std::vector<Frame> kept;
  bool keep = false;
  std::vector<uint64_t> refused;
  std::vector<Error> problems;
  int drained = 0;
  std::optional<Error> reason;
};

// The other side, which is free to send anything; it reads all that comes while it `reads`.
class Stranger final : public Stream::Events {
 public:
  explicit Stranger(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {
    stream_->set_events(this);
    stream_->wait_readable();
  }
  void send(const std::string& bytes) {
    waiting_ += bytes;
    on_writable();
  }
  void end() { stream_->shutdown_write(); }
  void stop_reading() { reads_ = false; }
  void read_again() { reads_ = true, stream_->wait_readable(); }

  void on_readable() override {
    char bytes[65536];
    MutableBytes into(bytes);
    IoResult result;
    while (reads_ && (result = stream_->read({&into, 1})).bytes != 0) received.append(bytes, result.bytes);
    if (result.blocked()) stream_->wait_readable();
    ended = !result.blocked();
  }
  void on_writable() override {
    while (!waiting_.empty()) {
      ConstBytes from(waiting_);
      IoResult result = stream_->write({&from, 1});
      if (result.blocked()) return stream_->wait_writable();
      if (result.error != 0) return waiting_.clear();
      waiting_.erase(0, result.bytes);
    }
  }

  std::string received;
  bool ended = false;

 private:
  std::unique_ptr<Stream> stream_;
  std::string waiting_;
  bool reads_ = true;
};

std::string frame_bytes(FrameHeader header, const std::string& body) {
  Payload payload{std::string(body)};
  header.body_bytes = body.size();
  header.body_checksum = payload.checksum();
  std::string bytes(kFrameHeaderBytes, '\0');
  encode_header(header, std::span<char, kFrameHeaderBytes>(bytes.data(), kFrameHeaderBytes));
  return bytes + body;
}

class ConnectionTest : public EveryNetwork {
 protected:
  void connect() {
    listener_ = world_->server().listen(world_->any_port(), [this](std::unique_ptr<Stream> stream) {
      connection_ = std::make_unique<Connection>(world_->server().loop(), std::move(stream), pool_, options_,
                                                 counters_, owner_);
    });
    attempt_ =
        world_->client().connect(listener_->address(), 5s, [this](std::unique_ptr<Stream> stream, auto) {
          stranger_ = std::make_unique<Stranger>(std::move(stream));
        });
    run_until([this] { return connection_ && stranger_; });
  }
  void run_until_closed() {
    run_until([this] { return owner_.reason.has_value(); });
  }
  void run_until_frames(size_t count) {
    run_until([&] { return owner_.bodies.size() == count; });
  }

  BufferPool pool_{1 << 20};
  ConnectionOptions options_;
  NetCounters counters_;
  Owner owner_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<ConnectAttempt> attempt_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Stranger> stranger_;
};

TEST_P(ConnectionTest, FramesArriveWhateverPiecesTheyComeIn) {
  connect();
  std::string bytes;
  std::vector<std::string> sent;
  for (size_t size : {0, 1, 100, 9000, 70000, 5, 0, 8192 - 48, 8192}) {
    sent.push_back(pattern(size));
    bytes += frame_bytes({.type = kEcho}, sent.back());
  }
  for (size_t step = 1; !bytes.empty(); step = step * 7 % 5003 + 1) {
    stranger_->send(bytes.substr(0, step));
    bytes.erase(0, step);
    world_->server().loop().poll();
  }
  run_until_frames(sent.size());
  EXPECT_TRUE(owner_.bodies == sent);
}

TEST_P(ConnectionTest, WhatIsNoFrameClosesAtOnce) {
  connect();
  stranger_->send("GET");
  run_until_closed();
  EXPECT_EQ(owner_.reason->message(), "the peer speaks another protocol");
  EXPECT_EQ(counters_.streams_broken, 1u);
  run_until([this] { return stranger_->ended; });
}

TEST_P(ConnectionTest, ADamagedHeaderCloses) {
  connect();
  std::string bytes = frame_bytes({.type = kEcho}, "body");
  bytes[20] = 'x';
  stranger_->send(bytes);
  run_until_closed();
  EXPECT_EQ(counters_.streams_broken, 1u);
  EXPECT_TRUE(owner_.bodies.empty());
}

TEST_P(ConnectionTest, AnEndInsideAFrameIsNotAFrame) {
  connect();
  std::string bytes = frame_bytes({.type = kEcho}, "body");
  stranger_->send(bytes.substr(0, bytes.size() - 1));
  stranger_->end();
  run_until_closed();
  EXPECT_EQ(owner_.reason->message(), "the connection ended inside a frame");
  EXPECT_TRUE(owner_.bodies.empty());
}

TEST_P(ConnectionTest, DamagedLongAndUnknownFramesAreRefusedAndTheNextOneIsRead) {
  connect();
  std::string damaged = frame_bytes({.type = kEcho, .request_id = 1}, pattern(50000));
  damaged[kFrameHeaderBytes + 30000] ^= 4;
  stranger_->send(damaged);
  stranger_->send(frame_bytes({.type = kEcho, .request_id = 2}, pattern(100001)));
  stranger_->send(frame_bytes({.type = 99, .request_id = 3}, pattern(1000000)));
  stranger_->send(frame_bytes({.type = 3, .request_id = 4}, "reserved"));
  stranger_->send(frame_bytes({.type = kEcho, .flags = 1 << 7, .request_id = 5}, "flags"));
  stranger_->send(
      frame_bytes({.type = 99, .flags = kFlagError, .request_id = 6}, "an error of no known type"));
  stranger_->send(frame_bytes({.type = kEcho, .request_id = 7}, "good"));
  run_until_frames(1);
  EXPECT_EQ(owner_.bodies[0], "good");
  EXPECT_EQ(owner_.refused, (std::vector<uint64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(owner_.problems[0].code(), Code::kUnavailable);
  EXPECT_EQ(owner_.problems[1].message(), "a frame of type 16 has 100001 bytes, expected at most 100000");
  EXPECT_EQ(owner_.problems[2].message(), "unknown type 99 of a frame");
  EXPECT_EQ(counters_.frames_refused, 6u);
  EXPECT_EQ(pool_.bytes_in_use(), 0u);
}

TEST_P(ConnectionTest, AnotherVersionIsToldSoAndClosed) {
  options_.close_timeout = 20ms;
  connect();
  stranger_->send(frame_bytes({.version = 2, .type = kEcho, .request_id = 9}, "new"));
  run_until_closed();
  EXPECT_EQ(owner_.refused, std::vector<uint64_t>{9});
  EXPECT_EQ(owner_.problems[0].message(), "frame version 2, expected 1");
}

TEST_P(ConnectionTest, ASilentPeerIsClosedAndOneThatIsAliveIsNot) {
  options_.alive_interval = 20ms, options_.silence_timeout = 80ms;
  connect();
  for (int i = 0; i < 8; ++i) {
    stranger_->send(frame_bytes({.type = kFrameAlive}, ""));
    run_for(20ms);
  }
  EXPECT_FALSE(owner_.reason);
  run_until_closed();
  EXPECT_EQ(owner_.reason->message(), "no sign of life for 0.08 s");
  EXPECT_EQ(counters_.peers_timed_out, 1u);
}

TEST_P(ConnectionTest, OneThatHasNothingToSaySaysSo) {
  options_.alive_interval = 5ms;
  connect();
  run_until([this] { return stranger_->received.size() >= 3 * kFrameHeaderBytes; });
  EXPECT_TRUE(stranger_->received.starts_with(frame_bytes({.type = kFrameAlive}, "")));
}

TEST_P(ConnectionTest, APeerThatDripsItsFrameIsClosed) {
  options_.slow_timeout = 60ms, options_.min_bytes_per_second = 100000;
  connect();
  std::string bytes = frame_bytes({.type = kEcho}, pattern(100000));
  for (size_t i = 0; !owner_.reason && i < bytes.size(); ++i) {
    stranger_->send(bytes.substr(i, 1));
    run_for(1ms);
  }
  ASSERT_TRUE(owner_.reason);
  EXPECT_EQ(owner_.reason->message(), "too slow for 0.06 s");
}

TEST_P(ConnectionTest, APeerThatDoesNotReadIsClosed) {
  options_.stall_timeout = 60ms, options_.silence_timeout = kNever, options_.max_queued_bytes = 1000;
  connect();
  stranger_->stop_reading();
  auto body = std::make_shared<Payload>(pattern(90000));
  while (connection_->send({.type = kEcho}, body)) {
  }
  for (int i = 0; i < 200; ++i) connection_->send({.type = kEcho}, body);
  run_until_closed();
  EXPECT_EQ(owner_.reason->message(), "has not read enough for 0.06 s");
}

TEST_P(ConnectionTest, APeerThatReadsTooSlowlyIsClosed) {
  options_.stall_timeout = 60ms, options_.silence_timeout = kNever, options_.min_bytes_per_second = 1e12;
  connect();
  auto body = std::make_shared<Payload>(pattern(90000));
  for (int i = 0; i < 20000; ++i) connection_->send({.type = kEcho}, body);
  run_until_closed();
  EXPECT_EQ(owner_.reason->message(), "has not read enough for 0.06 s");
}

TEST_P(ConnectionTest, AFullQueueDrainsAndSaysSo) {
  options_.max_queued_bytes = 100000;
  connect();
  stranger_->stop_reading();
  auto body = std::make_shared<Payload>(pattern(90000));
  size_t sent = 1;
  run_for(10ms);
  while (connection_->send({.type = kEcho}, body)) ++sent;
  EXPECT_GT(connection_->queued_bytes(), options_.max_queued_bytes);
  EXPECT_EQ(owner_.drained, 0);
  stranger_->read_again();
  run_until([&] { return stranger_->received.size() >= sent * (90000 + kFrameHeaderBytes); });
  EXPECT_EQ(owner_.drained, 1);
  EXPECT_EQ(connection_->queued_bytes(), 0u);
}

TEST_P(ConnectionTest, APayloadOfManyPartsGoesOutAsOneBody) {
  connect();
  std::string text = pattern(50000);
  auto payload = std::make_shared<Payload>();
  for (size_t i = 0; i < text.size(); i += 100) payload->parts.push_back(ConstBytes(text).subspan(i, 100));
  connection_->send({.type = kEcho, .request_id = 1}, payload);
  std::string expected = frame_bytes({.type = kEcho, .request_id = 1}, text);
  run_until([&] { return stranger_->received.size() >= expected.size(); });
  EXPECT_TRUE(stranger_->received == expected);
}

TEST_P(ConnectionTest, ClosingWritesWhatIsQueuedFirst) {
  connect();
  auto body = std::make_shared<Payload>(pattern(90000));
  for (int i = 0; i < 100; ++i) connection_->send({.type = kEcho}, body);
  connection_->close();
  EXPECT_FALSE(connection_->open());
  run_until([this] { return stranger_->ended; });
  EXPECT_EQ(stranger_->received.size(), 100 * (90000 + kFrameHeaderBytes));
  stranger_->end();
  run_until_closed();
}

TEST_P(ConnectionTest, ClosingDoesNotWaitForeverForThePeer) {
  options_.close_timeout = 20ms;
  connect();
  connection_->close();
  run_until_closed();
}

TEST_P(ConnectionTest, PausedReadingLeavesFramesWithThePeer) {
  connect();
  connection_->pause_reading();
  stranger_->send(frame_bytes({.type = kEcho}, "one") + frame_bytes({.type = kEcho}, "two"));
  run_for(10ms);
  EXPECT_TRUE(owner_.bodies.empty());
  connection_->resume_reading();
  run_until_frames(2);
}

TEST_P(ConnectionTest, AUsedUpBudgetPausesReadingUntilThereIsRoom) {
  connect();
  owner_.keep = true;
  for (int i = 0; i < 20; ++i) stranger_->send(frame_bytes({.type = kEcho}, pattern(90000)));
  run_for(30ms);
  size_t taken = owner_.bodies.size();
  EXPECT_LT(taken, 12u);
  EXPECT_LE(pool_.bytes_in_use(), 1u << 20);
  for (size_t i = 0; i < 20; ++i) {
    owner_.kept.clear();
    connection_->retry_starved();
    run_for(5ms);
  }
  EXPECT_EQ(owner_.bodies.size(), 20u);
}

TEST_P(ConnectionTest, ANoticeIsTheReason) {
  connect();
  stranger_->send(frame_bytes({.type = kFrameNotice, .flags = kFlagError},
                              encode_error(Error(Code::kFenced, "another server owns this"))));
  run_until_closed();
  EXPECT_EQ(owner_.reason->code(), Code::kFenced);
}

PS_ON_EVERY_NETWORK(ConnectionTest);

}  // namespace
}  // namespace ps::connection_test
