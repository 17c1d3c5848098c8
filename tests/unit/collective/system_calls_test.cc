// Collectives over loopback TCP as the system sees them: writes of a step, reads of a rank that waits, and the processor's
// time that waiting takes.
#include <gtest/gtest.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <future>

#include "unit/collective/ranks.h"

namespace ps::system_calls_test {
namespace {

// Each call of a stream over TCP is one of the system.  The loop makes two more before it says that a stream is readable.
struct Calls {
  int64_t reads = 0, writes = 0, readable = 0;
};

class CountedStream final : public Stream, private Stream::Events {
 public:
  CountedStream(std::unique_ptr<Stream> behind, Calls& calls) : behind_(std::move(behind)), calls_(calls) {
    behind_->set_events(this);
  }
  IoResult read(std::span<const MutableBytes> into) override {
    ++calls_.reads;
    return behind_->read(into);
  }
  IoResult write(std::span<const ConstBytes> from) override {
    ++calls_.writes;
    return behind_->write(from);
  }
  void wait_readable() override { behind_->wait_readable(); }
  void wait_writable() override { behind_->wait_writable(); }
  uint64_t held_bytes() const override { return behind_->held_bytes(); }
  uint64_t undelivered_bytes() const override { return behind_->undelivered_bytes(); }
  void shutdown_write() override { behind_->shutdown_write(); }
  void set_events(Stream::Events* events) override { events_ = events; }
  const std::string& peer() const override { return behind_->peer(); }
  Access access() const override { return behind_->access(); }

 private:
  void on_readable() override {
    ++calls_.readable;
    events_->on_readable();
  }
  void on_writable() override { events_->on_writable(); }

  const std::unique_ptr<Stream> behind_;
  Calls& calls_;
  Stream::Events* events_ = nullptr;
};

class CountedTransport final : public Transport {
 public:
  CountedTransport(Transport& behind, Calls& calls) : behind_(behind), calls_(calls) {}
  Loop& loop() override { return behind_.loop(); }
  std::unique_ptr<Listener> listen(const Address& address, OnAccept on_accept) override {
    return behind_.listen(address, [this, on_accept = std::move(on_accept)](std::unique_ptr<Stream> stream) {
      on_accept(counted(std::move(stream)));
    });
  }
  std::unique_ptr<ConnectAttempt> connect(const Address& address, Duration timeout,
                                          OnConnect on_connect) override {
    return behind_.connect(address, timeout,
                           [this, on_connect = std::move(on_connect)](std::unique_ptr<Stream> stream,
                                                                      std::optional<Error> error) {
                             on_connect(counted(std::move(stream)), std::move(error));
                           });
  }
  uint64_t num_refused() const override { return behind_.num_refused(); }

 private:
  std::unique_ptr<Stream> counted(std::unique_ptr<Stream> stream) {
    if (!stream) return stream;
    return std::make_unique<CountedStream>(std::move(stream), calls_);
  }

  Transport& behind_;
  Calls& calls_;
};

using CountedBody = std::function<void(ExchangeCommunicator& communicator, Calls& calls)>;

void run_counted(int size, const std::string& algorithm, const CountedBody& body) {
  std::promise<Address> listening;
  const std::shared_future<Address> where = listening.get_future().share();
  const RankErrors errors = run_threads(size, [&](int rank) {
    Calls calls;
    const std::unique_ptr<Transport> network = make_network();
    CountedTransport counted(*network, calls);
    NetCommunicatorOptions options;
    options.rank = rank, options.size = size, options.algorithm = algorithm;
    options.listen = {"127.0.0.1", 0};
    options.rendezvous = rank == 0 ? Address{"127.0.0.1", 0} : where.get();
    options.on_listening = [&](const Address& address) { listening.set_value(address); };
    const auto communicator = make_net_communicator(counted, options);
    body(*communicator, calls);
  });
  for (const auto& error : errors) EXPECT_FALSE(error) << error->message();
}

// A step's message to a rank: its header and its numbers, which are in two places, go out in one call.  `messages` is the
// number of messages that all ranks send in an all-reduce of few numbers.
void expect_one_write_a_message(const std::string& algorithm, int size, int64_t messages) {
  constexpr int64_t kTimes = 200;
  std::atomic<int64_t> writes = 0, reads = 0;
  run_counted(size, algorithm, [&](ExchangeCommunicator& communicator, Calls& calls) {
    communicator.barrier();
    const Calls before = calls;
    std::vector<float> data(250, 1);
    for (int64_t n = 0; n < kTimes; ++n) communicator.all_reduce(data);
    writes += calls.writes - before.writes, reads += calls.reads - before.reads;
    communicator.barrier();
  });
  SCOPED_TRACE(cat(algorithm, ", ", size, " ranks"));
  EXPECT_GE(writes, kTimes * messages);
  EXPECT_LE(writes,
            kTimes * messages + kTimes / 2);  // a write that would wait is repeated; idle links say so
  // A rank of two also tries to read before it asks the loop, up to 16 times (RankLink::receive_now).
  EXPECT_LE(reads, (size == 2 ? 16 + 2 : 2) * kTimes * messages);
}

TEST(SystemCalls, AMessageOfAStepIsOneGatheredWrite) {
  for (const int size : {2, 3, 4}) {
    expect_one_write_a_message("direct", size, size * (size - 1));
    for (const char* algorithm : {"chain", "tree", "server"})
      expect_one_write_a_message(algorithm, size, 2 * (size - 1));
  }
}

// Rank 1 is well ahead of rank 0.
TEST(SystemCalls, AMessageThatHasComeIsReadWithoutAskingTheLoop) {
  std::promise<void> sent;
  run_counted(2, "direct", [&](ExchangeCommunicator& communicator, Calls& calls) {
    std::vector<float> data(1000, static_cast<float>(communicator.rank()));
    communicator.barrier();
    if (communicator.rank() == 0) {
      ASSERT_EQ(sent.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
    }
    const int64_t before = calls.readable;
    communicator.broadcast(data, 1);
    if (communicator.rank() == 0) {
      EXPECT_EQ(calls.readable, before);
    }
    if (communicator.rank() == 1) sent.set_value();
    EXPECT_EQ(data[0], 1);
    communicator.barrier();
  });
}

// Rank 1 is late for each message, so that rank 0 soon asks no more than twice before it sleeps.
TEST(SystemCalls, ALateRankIsSleptFor) {
  constexpr int64_t kTimes = 40;
  run_counted(2, "direct", [&](ExchangeCommunicator& communicator, Calls& calls) {
    std::vector<float> data(1000, 1);
    communicator.barrier();
    const Calls before = calls;
    for (int64_t n = 0; n < kTimes; ++n) {
      if (communicator.rank() == 1) std::this_thread::sleep_for(5ms);
      communicator.all_reduce(data);
    }
    // Two tries, and two reads at most when the loop says that there is something.
    if (communicator.rank() == 0) {
      EXPECT_LE(calls.reads - before.reads, kTimes * (2 + 2) + 100);
    }
    communicator.barrier();
  });
}

double processor_seconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// All ranks but the last wait for it.
TEST(SystemCalls, ARankThatWaitsUsesNoProcessor) {
  constexpr auto kWait = 500ms;
  for (const auto& [algorithm, size] :
       {std::pair("direct", 2), std::pair("direct", 3), std::pair("chain", 3), std::pair("tree", 3),
        std::pair("server", 3), std::pair("ring", 3), std::pair("halving_doubling", 3)}) {
    run_counted(
        size, algorithm,
        [&, last = size - 1, algorithm = algorithm](ExchangeCommunicator& communicator, Calls& calls) {
          std::vector<float> data(1000, 1);
          communicator.all_reduce(data);
          communicator.barrier();
          if (communicator.rank() == last) std::this_thread::sleep_for(kWait);
          const Calls before = calls;
          const double begin = processor_seconds();
          communicator.all_reduce(data);
          const double used = processor_seconds() - begin;
          EXPECT_LT(used, to_seconds(kWait) / 10) << algorithm << ", rank " << communicator.rank();
          EXPECT_LT(calls.reads - before.reads, 100) << algorithm << ", rank " << communicator.rank();
          communicator.barrier();
        });
  }
}

}  // namespace
}  // namespace ps::system_calls_test
