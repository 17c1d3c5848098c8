// A compute trainer on loopback, and the frames of a reader.
#include "heter/compute_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <optional>
#include <utility>

#include "base/error.h"
#include "heter/messages.h"
#include "net/channel.h"
#include "net/network.h"
#include "unit/feed/batches.h"

namespace ps::compute_service_test {
namespace {

using namespace std::chrono_literals;

// The reader has a loop of its own, so that its frames may wait until the compute trainer has time for them.
class ComputeServiceTest : public testing::Test {
 protected:
  // The reader is one of two.
  std::unique_ptr<Channel> connect(Transport& transport, bool ends, int rank = 0) {
    ChannelOptions options;
    options.hello_type = static_cast<uint16_t>(ComputeFrame::kHello);
    options.hello = [ends, rank] {
      ReaderHello hello;
      hello.rank = rank;
      hello.trainers = 2;
      hello.generation = 5;
      hello.run = 1;
      hello.job = Json::object();
      hello.schema = to_json(feed_schema());
      hello.ends = ends;
      return Payload(ReaderHello::spec().to_json(hello).dump());
    };
    auto channel = std::make_unique<Channel>(transport, pool_, service_->address(), std::move(options));
    channel->connect();
    return channel;
  }

  // Says that the reader ends, and is gone before it is read.
  void end_and_leave() {
    const auto channel = connect(*reader_, /*ends=*/true);
    Loop& loop = reader_->loop();
    loop.run_until([&] { return channel->counters().bytes_sent > 0; }, add_time(loop.now(), kLongest));
    ASSERT_GT(channel->counters().bytes_sent, 0u);
  }

  // Returns true when the service ends since its readers have ended the run.
  bool ends_by_itself() {
    const Time until = add_time(compute_->loop().now(), kLongest);
    bool stopped = false;
    service_->run([&] { return stopped = compute_->loop().now() >= until; });
    return !stopped;
  }

  // The error by which a batch is answered, or one ahead of others.
  Error answer_to_batch(ComputeFrame type = ComputeFrame::kBatch) {
    Network<float> network = feed_network(kFeedModel);
    PreparedBatch batch;
    batch.batch = feed_batch(5, 6);
    prepare_batch(network, KeyOrder::kAscending, batch);
    const std::vector<ParameterSpec>& specs = network.parameters();
    std::vector<float> row(8);  // of every key
    std::vector<std::vector<float*>> rows(specs.size());
    std::vector<ParameterView<float>> views(specs.size());
    for (size_t p = 0; p < specs.size(); ++p) {
      rows[p].assign(batch.plans[p].keys.size(), row.data());
      views[p].rows = rows[p].data();
    }
    const auto channel = connect(*compute_, /*ends=*/false);
    std::optional<Answer> answer;
    std::string body =
        type == ComputeFrame::kBatch
            ? encode_batch(0, batch, specs, views)
            : encode_ahead({.step = 0, .left = 0, .pass = 0, .rows = {.number = 1, .slices = {}}}, batch);
    channel->request(static_cast<uint16_t>(type), Payload(std::move(body)), kLongest,
                     [&](Answer got) { answer.emplace(std::move(got)); });
    service_->run([&] { return answer.has_value(); });
    return answer->error.value_or(Error(Code::kInternal, "no error"));
  }

  static constexpr Duration kLongest = 10s;

  const std::unique_ptr<Transport> compute_ = make_network(), reader_ = make_network();
  BufferPool pool_;
  Device device_{1, best_cpu_level()};
  const ModelOptions model_ = ModelOptions::spec().parse(parse_json(kFeedModel, "model"), "model");
  std::function<void()> connects_to_servers_ = [] { fail(Code::kUnavailable, "no servers"); };
  ComputeSetup setup_ = {.transport = *compute_,
                         .device = device_,
                         .model = model_,
                         .seed = 7,
                         .job = Json::object(),
                         .remote = [this](const ReaderHello&) {
                           connects_to_servers_();
                           return RemoteOptions();
                         }};
  Log log_{"test", LogLevel::kError};
  ComputeServiceOptions options_ = {.address = {"127.0.0.1", 0}};
  std::optional<ComputeService> service_{std::in_place, setup_, options_, log_};
};

TEST_F(ComputeServiceTest, AReaderThatWasNeverConnectedMayEndTheRunAndIsReadWhenItIsGone) {
  end_and_leave();
  EXPECT_TRUE(ends_by_itself());
}

TEST_F(ComputeServiceTest, AReaderThatHasComeMayEndTheRunOverAnotherConnection) {
  const auto first = connect(*compute_, /*ends=*/false);
  Loop& loop = compute_->loop();
  loop.run_until([&] { return first->ready(); }, add_time(loop.now(), kLongest));
  ASSERT_TRUE(first->ready());
  end_and_leave();
  EXPECT_TRUE(ends_by_itself());
}

TEST_F(ComputeServiceTest, ABatchThatServersCannotBeReachedForIsNotOneToBeSentAgain) {
  const Error error = answer_to_batch();
  EXPECT_EQ(error.code(), kServersUnavailable);
  EXPECT_EQ(error.message(), "no servers");
}

TEST_F(ComputeServiceTest, ABatchAheadBeforeABeginningAsksForOne) {
  setup_.ahead = true;
  EXPECT_EQ(answer_to_batch(ComputeFrame::kAhead).code(), kBeginAgain);
}

TEST_F(ComputeServiceTest, ABatchAheadOfAJobWithoutPullAheadIsRefused) {
  EXPECT_EQ(answer_to_batch(ComputeFrame::kAhead).code(), Code::kData);
}

TEST_F(ComputeServiceTest, ABatchWithoutCopiesOfASynchronousJobWithPullAheadIsRefused) {
  setup_.ahead = true;
  EXPECT_EQ(answer_to_batch(ComputeFrame::kBatch).code(), Code::kData);
}

TEST_F(ComputeServiceTest, ABatchWithCopiesOfAnAsynchronousJobIsRefused) {
  setup_.ahead = setup_.asynchronous = true;
  EXPECT_EQ(answer_to_batch(ComputeFrame::kAhead).code(), Code::kData);
}

TEST_F(ComputeServiceTest, BatchesOnTheirWayThatServersCannotBeReachedForAreNotToBeSentAgain) {
  setup_.ahead = setup_.asynchronous = true;
  EXPECT_EQ(answer_to_batch(ComputeFrame::kBatch).code(), kServersUnavailable);
}

TEST_F(ComputeServiceTest, ABatchForWhichThereIsNoRoomBesideOthersIsRefused) {
  setup_.held_bytes = 100;
  EXPECT_EQ(answer_to_batch().code(), Code::kExhausted);
}

TEST_F(ComputeServiceTest, AReaderHasTheConnectionOverWhichItCameLast) {
  const auto first = connect(*compute_, /*ends=*/false);
  Loop& loop = compute_->loop();
  loop.run_until([&] { return first->ready(); }, add_time(loop.now(), kLongest));
  const auto second = connect(*reader_, /*ends=*/false);
  std::optional<Answer> answer;
  bool asked = false;
  service_->run([&] {
    reader_->loop().poll();
    if (second->ready() && !std::exchange(asked, true)) {
      first->request(static_cast<uint16_t>(ComputeFrame::kBatch), Payload(std::string(8, '\0')), kLongest,
                     [&](Answer got) { answer.emplace(std::move(got)); });
    }
    return answer.has_value();
  });
  EXPECT_EQ(answer->error.value_or(Error(Code::kInternal, "no error")).code(), Code::kFenced);
}

// Reader 1 comes and is gone.
class LostReaderTest : public ComputeServiceTest {
 protected:
  void lose_one(bool goes_on) {
    service_.reset();
    options_.reader_timeout = 50ms;
    options_.goes_on = goes_on;
    service_.emplace(setup_, options_, log_);
    auto lost = connect(*compute_, /*ends=*/false, /*rank=*/1);
    compute_->loop().run_until([&] { return lost->ready(); }, add_time(compute_->loop().now(), kLongest));
    ASSERT_TRUE(lost->ready());
    lost.reset();
  }

  // The service ends with an error that says this of reader 1.
  void expect_missed(const char* text) {
    try {
      ends_by_itself();
      FAIL() << "the service has ended well";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUnavailable);
      EXPECT_THAT(error.message(), testing::StartsWith("no connection from reader 1 for 0.05 s"));
      EXPECT_THAT(error.message(), testing::EndsWith(text));
    }
  }
};

TEST_F(LostReaderTest, EndsTheServiceWithAnError) {
  ASSERT_NO_FATAL_FAILURE(lose_one(/*goes_on=*/false));
  end_and_leave();
  expect_missed(" s");
}

TEST_F(LostReaderTest, IsMissedWhereServersThatWouldTellOfOthersAreGoneToo) {
  ASSERT_NO_FATAL_FAILURE(lose_one(/*goes_on=*/true));
  expect_missed("; no servers");
}

TEST_F(LostReaderTest, IsNotMissedByThoseThatGoOn) {
  ASSERT_NO_FATAL_FAILURE(lose_one(/*goes_on=*/true));
  end_and_leave();
  EXPECT_TRUE(ends_by_itself());
}

TEST_F(ComputeServiceTest, ABatchForWhichThereIsNoMemoryIsRefusedAndTheServiceGoesOn) {
  connects_to_servers_ = [] { throw std::bad_alloc(); };
  EXPECT_EQ(answer_to_batch().code(), Code::kExhausted);
}

}  // namespace
}  // namespace ps::compute_service_test
