// Values land where they are used: what is pulled is read into the rows that layers see, and what is pushed
// is written from the gradients that layers have made.  Nothing is copied between these and the socket.
#include "cluster.h"

namespace ps {
namespace {

// Bytes in memory, in no order.
class Ranges {
 public:
  template <class Spans>
  void add(const Spans& spans, size_t bytes) {
    for (const auto& span : spans) {
      const size_t size = std::min(span.size(), bytes);
      ranges_.emplace_back(span.data(), span.data() + size);
      bytes -= size;
    }
  }

  void clear() { ranges_.clear(); }

  // How many of these floats are in none.
  int64_t floats_outside(const float* floats, int64_t count) const {
    return std::count_if(floats, floats + count, [this](const float& one) {
      const char* const at = reinterpret_cast<const char*>(&one);
      auto holds = [at](const auto& range) { return range.first <= at && at < range.second; };
      return std::ranges::none_of(ranges_, holds);
    });
  }

 private:
  std::vector<std::pair<const char*, const char*>> ranges_;
};

// Notes where streams read to and write from.
class NotingTransport final : public Transport {
 public:
  explicit NotingTransport(Transport& behind) : behind_(behind) {}

  Loop& loop() override { return behind_.loop(); }
  std::unique_ptr<Listener> listen(const Address& address, OnAccept on_accept) override {
    return behind_.listen(address, std::move(on_accept));
  }
  std::unique_ptr<ConnectAttempt> connect(const Address& address, Duration timeout,
                                          OnConnect on_connect) override {
    auto note = [this, on_connect = std::move(on_connect)](std::unique_ptr<Stream> stream,
                                                           std::optional<Error> error) {
      if (stream) stream = std::make_unique<NotingStream>(std::move(stream), *this);
      on_connect(std::move(stream), std::move(error));
    };
    return behind_.connect(address, timeout, std::move(note));
  }

  Ranges read, written;

 private:
  class NotingStream final : public Stream {
   public:
    NotingStream(std::unique_ptr<Stream> behind, NotingTransport& notes)
        : behind_(std::move(behind)), notes_(notes) {}

    IoResult read(std::span<const MutableBytes> into) override {
      const IoResult result = behind_->read(into);
      notes_.read.add(into, result.bytes);
      return result;
    }
    IoResult write(std::span<const ConstBytes> from) override {
      const IoResult result = behind_->write(from);
      notes_.written.add(from, result.bytes);
      return result;
    }
    void wait_readable() override { behind_->wait_readable(); }
    void wait_writable() override { behind_->wait_writable(); }
    uint64_t held_bytes() const override { return behind_->held_bytes(); }
    uint64_t undelivered_bytes() const override { return behind_->undelivered_bytes(); }
    void shutdown_write() override { behind_->shutdown_write(); }
    void set_events(Events* events) override { behind_->set_events(events); }
    const std::string& peer() const override { return behind_->peer(); }

   private:
    const std::unique_ptr<Stream> behind_;
    NotingTransport& notes_;
  };

  Transport& behind_;
};

// But for what comes with the header of a frame, up to 8 KiB: a small frame costs one call of the system.
constexpr int64_t kAheadFloats = 8192 / sizeof(float);

TEST(Places, RowsAreReadWhereLayersUseThemAndGradientsWrittenFromWhereTheyAreMade) {
  SyntheticJob job;
  job.steps = {{1}};
  const size_t embedding = 1;
  std::vector<ParameterSpec> specs = job.parameters();
  specs[embedding].cols = 4000;
  ShardCluster cluster(job, {2, 1, 1});
  cluster.served().parameters = [&](const DataSchema&) { return specs; };
  SimHost& host = cluster.network().host("trainer0");
  host.spawn([&] {
    NotingTransport transport(host);
    RemoteStore store(transport, cluster.options(0), job.consistency, specs);
    store.group().barrier();
    const SyntheticBatch batch = job.batch(0, 0);
    const int64_t rows = static_cast<int64_t>(batch.plans[embedding].keys.size());
    const int64_t floats = rows * specs[embedding].cols;
    const int64_t most_ahead = static_cast<int64_t>(cluster.shards().size()) * kAheadFloats;
    ASSERT_GT(floats, 10 * most_ahead);
    std::vector<ParameterView<float>> views;
    transport.read.clear();
    store.pull(batch.plans, PullMode::kTrain, views);
    int64_t elsewhere = 0;
    for (int64_t i = 0; i < rows; ++i) {
      elsewhere += transport.read.floats_outside(views[embedding].rows[i], specs[embedding].cols);
    }
    EXPECT_LE(elsewhere, most_ahead);
    batch.fill(0, 0, specs, views);
    transport.written.clear();
    store.push(batch.plans, views, {batch.samples, 0});
    store.finish_pushes();
    EXPECT_EQ(transport.written.floats_outside(views[embedding].row_gradients, floats), 0);
    store.end_pass(0);
    store.run().end_run();
  });
  cluster.run();
}

}  // namespace
}  // namespace ps
