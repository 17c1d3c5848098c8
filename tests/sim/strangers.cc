// Whoever speaks to the ports of a cluster in whatever way: trainers do not notice, and it is counted.
#include "cluster.h"

namespace ps {
namespace {

// Says the same bytes again and again, as far as it is let, and reads nothing.
class Stranger final : private Stream::Events {
 public:
  Stranger(SimHost& host, const Address& to, std::string bytes, int times) : bytes_(std::move(bytes)) {
    for (int i = 1; i < times; ++i) bytes_.append(bytes_, 0, bytes_.size() / static_cast<size_t>(i));
    attempt_ = host.connect(to, 5s, [this](std::unique_ptr<Stream> stream, std::optional<Error>) {
      stream_ = std::move(stream);
      if (!stream_) return;
      stream_->set_events(this);
      on_writable();
    });
  }

 private:
  void on_readable() override {}
  void on_writable() override {
    while (sent_ < bytes_.size()) {
      ConstBytes rest(bytes_.data() + sent_, bytes_.size() - sent_);
      IoResult result = stream_->write({&rest, 1});
      if (result.blocked()) return stream_->wait_writable();
      if (result.error != 0) return;
      sent_ += result.bytes;
    }
  }

  std::string bytes_;
  size_t sent_ = 0;
  std::unique_ptr<ConnectAttempt> attempt_;
  std::unique_ptr<Stream> stream_;
};

std::string frame(FrameHeader header, std::string_view body = "") {
  std::array<char, kFrameHeaderBytes> bytes;
  if (header.body_bytes == 0) header.body_bytes = body.size();
  if (header.body_checksum == 0) header.body_checksum = hash_bytes(body);
  encode_header(header, bytes);
  return std::string(bytes.data(), bytes.size()) + std::string(body);
}

uint16_t type(Message message) {
  return static_cast<uint16_t>(message);
}

class Strangers : public testing::Test {
 protected:
  Strangers() {
    job_.optimizer = {{"type", "adam"}, {"learning_rate", 0.05}};
    job_.steps = {{4, 3}, {3, 3}, {5, 0}};
    job_.small = true;
    calm_ = ShardCluster(job_, {2, 1, 1}).train();
    cluster_ = std::make_unique<ShardCluster>(job_, ShardClusterSize{2, 1, 1});
  }

  // At every port.
  void come(const std::string& bytes, int times = 1) {
    SimHost& host = cluster_->network().host("stranger");
    for (auto& shard : cluster_->shards()) {
      strangers_.push_back(std::make_unique<Stranger>(host, shard->address(), bytes, times));
    }
  }

  // The job, with the strangers there; until all limits of time have come.
  void train() {
    cluster_->network().run_for(20ms);
    expect_same_bits(calm_, cluster_->train());
    cluster_->network().run_for(120s);
  }

  uint64_t sum(uint64_t NetCounters::*counter) {
    uint64_t sum = 0;
    for (auto& shard : cluster_->shards()) sum += shard->net_counters().*counter;
    return sum;
  }

  SyntheticJob job_;
  std::vector<float> calm_;
  std::unique_ptr<ShardCluster> cluster_;
  std::vector<std::unique_ptr<Stranger>> strangers_;
};

TEST_F(Strangers, BytesThatAreNoFramesAreCounted) {
  come("GET / HTTP/1.1\r\n\r\n");
  come(std::string(100000, '\0'));
  std::string damaged = frame({.type = type(Message::kHello), .request_id = 1}, "{}");
  damaged[30] = static_cast<char>(damaged[30] ^ 4);
  come(damaged);
  come(frame({.type = type(Message::kHello), .request_id = 1, .body_bytes = uint64_t{1} << 50}));
  train();
  EXPECT_EQ(sum(&NetCounters::streams_broken), 4 * strangers_.size() / 4);
}

TEST_F(Strangers, FramesThatAreRefusedAreCounted) {
  come(frame({.version = 9, .type = type(Message::kHello), .request_id = 1}, "{}"));
  come(frame({.type = 999, .request_id = 1}, "what"));
  come(frame({.type = type(Message::kHello), .request_id = 1, .body_checksum = 1}, "{}"));
  come(frame({.type = type(Message::kPush), .request_id = 1}, std::string(5 << 20, 'x')));
  train();
  EXPECT_EQ(sum(&NetCounters::frames_refused), strangers_.size());
}

TEST_F(Strangers, RequestsWithoutAHelloAreAnsweredWithAnError) {
  for (Message message : {Message::kPull, Message::kPush, Message::kCommit, Message::kLoad, Message::kGather,
                          Message::kKeys, Message::kEndRun}) {
    come(frame({.type = type(message), .request_id = 1}, ""));
  }
  for (const char* hello : {"", "{}", "[1, 2", "{\"protocol\": 99}", "\xff\xfe"}) {
    come(frame({.type = type(Message::kHello), .request_id = 1}, hello));
  }
  train();
  EXPECT_EQ(sum(&NetCounters::peers_timed_out), strangers_.size()) << "those who never say who they are";
}

TEST_F(Strangers, AFloodOfConnectionsIsRefusedAndTrainersComeThrough) {
  for (int i = 0; i < 2500; ++i) come("");
  train();
  EXPECT_GT(sum(&NetCounters::connections_refused), 400u * 4);
}

TEST_F(Strangers, OneThatAsksAndDoesNotReadIsClosed) {
  come(frame({.type = type(Message::kDescribe), .request_id = 1}), 100000);
  train();
  EXPECT_EQ(sum(&NetCounters::peers_timed_out), strangers_.size());
  for (auto& shard : cluster_->shards()) EXPECT_EQ(shard->num_connections(), 0u);
}

}  // namespace
}  // namespace ps
