#include "heter/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "feed/prepared_batch_bytes.h"
#include "support/scratch_folder.h"
#include "unit/feed/batches.h"

namespace ps::messages_test {
namespace {

// A reader with a batch and its rows, and a compute trainer.
struct Pair {
  explicit Pair(const char* model, int examples = 6)
      : network(feed_network(model)), planners(network.make_planners(KeyOrder::kAscending)) {
    sent.batch = feed_batch(5, examples);
    sent.step = 11;
    prepare_batch(network, KeyOrder::kAscending, sent);
    const size_t count = specs().size();
    weights.resize(count), pointers.resize(count), gradients.resize(count), views.resize(count);
    for (size_t p = 0; p < count; ++p) {
      const size_t keys = sent.plans[p].keys.size(), cols = static_cast<size_t>(specs()[p].cols);
      for (size_t i = 0; i < keys * cols; ++i) weights[p].push_back(static_cast<float>(100 * p + i));
      gradients[p].assign(keys * cols, -1);
      for (size_t n = 0; n < keys; ++n) pointers[p].push_back(weights[p].data() + n * cols);
      views[p].rows = pointers[p].data();
      views[p].row_gradients = gradients[p].data();
    }
  }

  const std::vector<ParameterSpec>& specs() const { return network.parameters(); }
  std::string batch() { return encode_batch(77, sent, specs(), views); }

  // The same ahead of others, with stored rows of every other key, each with a state array.
  AheadBatch ahead() const {
    AheadBatch batch{.step = 77, .left = 3, .pass = 2, .rows = {.number = 78, .slices = {}}};
    for (uint32_t p = 0; p < specs().size(); ++p) {
      if (!specs()[p].sparse) continue;
      RowBlock& block = batch.rows.slices.emplace_back(ReturnedRows::Slice{p, {}}).rows;
      for (size_t n = 0; n < sent.plans[p].keys.size(); n += 2) {
        block.keys.push_back(sent.plans[p].keys[n]);
        for (int64_t i = 0; i < layout(p).values(); ++i)
          block.values.push_back(static_cast<float>(10 * n + i));
      }
    }
    return batch;
  }

  TableLayout layout(uint32_t p) const {
    if (p >= specs().size() || !specs()[p].sparse) fail(Code::kData, "no such rows");
    return {.name = "", .sparse = true, .width = specs()[p].cols, .state_arrays = 1};
  }

  bool accepts_ahead(const std::string& bytes) {
    Buffer body = pool.take(bytes.size());
    std::ranges::copy(bytes, body.data());
    try {
      received_ahead = decode_ahead(
          body.bytes(), network, planners, [this](uint32_t p) { return layout(p); }, received);
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kData) << error.message();
      return false;
    }
  }

  // The answer: predictions 1, 2, … and gradients that are the weights.
  std::string result(int64_t cols = 1, const std::vector<float>& log_losses = {},
                     const std::vector<double>& costs = {0.5}) {
    std::vector<float> predictions(sent.batch.labels.size() * static_cast<size_t>(cols));
    for (size_t i = 0; i < predictions.size(); ++i) predictions[i] = static_cast<float>(i + 1);
    std::vector<ParameterView<float>> answered(views.size());
    for (size_t p = 0; p < views.size(); ++p) answered[p].row_gradients = weights[p].data();
    const Matrix<const float> matrix{predictions.data(), sent.batch.size(), cols};
    const Payload payload = encode_result({costs, matrix, log_losses}, sent, specs(), answered, nullptr);
    std::string bytes;
    for (ConstBytes part : payload.parts) bytes.append(part.data(), part.size());
    return bytes;
  }

  // Returns true unless the bytes are refused.
  bool accepts_batch(const std::string& bytes) {
    Buffer body = pool.take(bytes.size());
    std::ranges::copy(bytes, body.data());
    try {
      decode_batch(body.bytes(), network, planners, received, rows);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kData) << error.message();
      return false;
    }
    for (size_t p = 0; p < rows.size(); ++p) copy_rows_of(p);
    return true;
  }
  bool accepts_result(const std::string& bytes) {
    try {
      answer = decode_result({bytes.data(), bytes.size()}, sent, figure_sizes(network), specs(), views);
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kData) << error.message();
      return false;
    }
  }

  // Reads every float of the rows, which must lie in the body.
  void copy_rows_of(size_t p) {
    copies.resize(rows.size());
    copies[p].clear();
    for (const float* row : rows[p]) copies[p].insert(copies[p].end(), row, row + specs()[p].cols);
  }

  Network<float> network;
  Network<float>::Planners planners;
  PreparedBatch sent, received;
  std::vector<std::vector<float>> weights, gradients, copies;
  std::vector<std::vector<float*>> pointers, rows;
  std::vector<ParameterView<float>> views;
  AheadBatch received_ahead;
  BatchResult answer;
  BufferPool pool;
};

TEST(HeterMessages, OnlyAReaderThatEndsMayBeOfNoRun) {
  ReaderHello of_no_run;
  of_no_run.ends = true;
  Json hello = ReaderHello::spec().to_json(of_no_run);
  EXPECT_TRUE(ReaderHello::spec().parse(hello, "hello").ends);
  hello["ends"] = false;
  const Error error = error_of([&] { ReaderHello::spec().parse(hello, "hello"); });
  EXPECT_EQ(error.code(), Code::kUsage);
  EXPECT_EQ(error.message(), "hello.run: 0, expected at least 1");
}

TEST(HeterMessages, ABatchHasItsRowsOnceInTheOrderOfItsKeys) {
  for (const char* model : {kFeedModel, kSampledModel}) {
    for (int examples : {6, 0, 200}) {
      Pair pair(model, examples);
      const std::string bytes = pair.batch();
      EXPECT_EQ(step_of_batch({bytes.data(), bytes.size()}), 77u);
      ASSERT_TRUE(pair.accepts_batch(bytes));
      EXPECT_EQ(pair.copies, pair.weights);
      for (size_t p = 0; p < pair.specs().size(); ++p)
        EXPECT_EQ(pair.received.plans[p].keys, pair.sent.plans[p].keys);
    }
  }
}

TEST(HeterMessages, AnAnswerSetsTheGradientsOfTheRows) {
  Pair pair(kFeedModel);
  ASSERT_TRUE(pair.accepts_result(pair.result()));
  EXPECT_EQ(pair.answer.task_costs, std::vector<double>{0.5});
  EXPECT_EQ(pair.answer.cols, 1);
  EXPECT_EQ(pair.answer.predictions.size(), 6u);
  EXPECT_EQ(pair.answer.predictions[5], 6);
  EXPECT_EQ(pair.gradients, pair.weights);
}

TEST(HeterMessages, AnAnswerHasALogLossForEachExampleOrNone) {
  const std::vector<float> losses = {6, 5, 4, 3, 2, 1};
  Pair pair(kFeedModel);
  ASSERT_TRUE(pair.accepts_result(pair.result()));
  EXPECT_TRUE(pair.answer.log_losses.empty());
  ASSERT_TRUE(pair.accepts_result(pair.result(1, losses)));
  EXPECT_EQ(pair.answer.log_losses, losses);
  EXPECT_EQ(pair.answer.predictions.size(), 6u);
  EXPECT_EQ(pair.gradients, pair.weights);
  EXPECT_FALSE(pair.accepts_result(pair.result(1, {1, 2, 3})));
}

TEST(HeterMessages, AnAnswerHasACostForEachTaskOfTheNetwork) {
  Pair pair(kFeedModel);
  for (const std::vector<double>& costs : {std::vector<double>(), {1, 2}})
    EXPECT_FALSE(pair.accepts_result(pair.result(1, {}, costs)));
}

TEST(HeterMessages, ABatchAheadHasTheStoredRowsThatItIsGiven) {
  for (int examples : {6, 0, 200}) {
    Pair pair(kFeedModel, examples);
    const AheadBatch sent = pair.ahead();
    ASSERT_TRUE(pair.accepts_ahead(encode_ahead(sent, pair.sent)));
    const AheadBatch& received = pair.received_ahead;
    EXPECT_EQ(received.step, 77u);
    EXPECT_EQ(received.left, 3u);
    EXPECT_EQ(received.pass, 2);
    ASSERT_EQ(received.rows.slices.size(), sent.rows.slices.size());
    for (size_t s = 0; s < sent.rows.slices.size(); ++s) {
      EXPECT_EQ(received.rows.slices[s].parameter, sent.rows.slices[s].parameter);
      EXPECT_EQ(received.rows.slices[s].rows.keys, sent.rows.slices[s].rows.keys);
      EXPECT_EQ(received.rows.slices[s].rows.values, sent.rows.slices[s].rows.values);
    }
    for (size_t p = 0; p < pair.specs().size(); ++p)
      EXPECT_EQ(pair.received.plans[p].keys, pair.sent.plans[p].keys);
  }
}

TEST(HeterMessages, RowsThatABatchAheadDoesNotUseAreRefused) {
  Pair pair(kFeedModel);
  AheadBatch ahead = pair.ahead();
  ahead.rows.slices[0].rows.keys.back() = 59;  // of "small", which has 60 ids
  ASSERT_FALSE(std::ranges::binary_search(pair.sent.plans[ahead.rows.slices[0].parameter].keys, 59u));
  EXPECT_FALSE(pair.accepts_ahead(encode_ahead(ahead, pair.sent)));
}

TEST(HeterMessages, EveryCutOfABatchAheadIsRefused) {
  Pair pair(kFeedModel);
  const std::string batch = encode_ahead(pair.ahead(), pair.sent);
  for (size_t size = 0; size < batch.size(); ++size)
    EXPECT_FALSE(pair.accepts_ahead(batch.substr(0, size))) << size;
  EXPECT_FALSE(pair.accepts_ahead(batch + '\0'));
}

TEST(HeterMessages, ABatchAheadThatIsSentAgainHasOtherRowsAndNothingElse) {
  Pair pair(kFeedModel);
  AheadBatch ahead = pair.ahead();
  const std::string first = encode_ahead(ahead, pair.sent);
  EXPECT_EQ(encode_ahead_again(ahead, first), first);
  ahead.left = 5;
  ahead.rows.slices.clear();
  EXPECT_EQ(encode_ahead_again(ahead, first), encode_ahead(ahead, pair.sent));
}

TEST(HeterMessages, AStepWithoutDataAndTheFirstStepAreWhatTheyWereAndNothingElse) {
  const std::string step = encode_no_data({.step = 7, .pass = -2}), first = encode_first(9);
  EXPECT_EQ(step.size(), kStepWithoutDataBytes);
  const StepWithoutData got = decode_no_data(step);
  EXPECT_EQ(std::pair(got.step, got.pass), std::pair(uint64_t{7}, int64_t{-2}));
  EXPECT_EQ(decode_first(first), 9u);
  EXPECT_EQ(split_first(step).first, 7u);
  EXPECT_EQ(split_first(step).second.size(), 8u);
  EXPECT_TRUE(decode_pass_ended(encode_pass_ended(true)));
  EXPECT_FALSE(decode_pass_ended(encode_pass_ended(false)));
  for (const std::string& bytes : {step.substr(1), step + 'x', std::string()}) {
    EXPECT_THROW(decode_no_data(bytes), Error);
    EXPECT_THROW(decode_pass_ended(bytes), Error);
  }
  for (const std::string& bytes : {first.substr(1), first + 'x', std::string()}) {
    EXPECT_THROW(decode_first(bytes), Error);
  }
}

TEST(HeterMessages, EveryCutIsRefused) {
  Pair pair(kFeedModel);
  const std::string batch = pair.batch(), result = pair.result();
  for (size_t size = 0; size < batch.size(); ++size)
    EXPECT_FALSE(pair.accepts_batch(batch.substr(0, size))) << size;
  for (size_t size = 0; size < result.size(); ++size)
    EXPECT_FALSE(pair.accepts_result(result.substr(0, size))) << size;
  EXPECT_FALSE(pair.accepts_batch(batch + std::string(64, '\0')));
  EXPECT_FALSE(pair.accepts_result(result + std::string(64, '\0')));
}

// A changed number may be another good one; what is taken is read to the end, in the memory that it has.
TEST(HeterMessages, DamagedBytesAreRefusedOrTakenWhole) {
  Pair pair(kFeedModel);
  const std::string batch = pair.batch(), result = pair.result();
  int refused = 0;
  auto flip = [](std::string bytes, size_t bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    return bytes;
  };
  for (size_t bit = 0; bit < 8 * batch.size(); ++bit) refused += !pair.accepts_batch(flip(batch, bit));
  EXPECT_GT(refused, 100);
  refused = 0;
  for (size_t bit = 0; bit < 8 * result.size(); ++bit) refused += !pair.accepts_result(flip(result, bit));
  EXPECT_GE(refused, 32) << "the numbers of examples and of predictions";
}

TEST(HeterMessages, ABatchThatIsNotForTrainingIsRefused) {
  Pair pair(kFeedModel);
  std::string bytes = pair.batch();
  char& training = bytes[2 * sizeof(uint64_t)];
  ASSERT_EQ(training, 1);
  training = 0;
  EXPECT_FALSE(pair.accepts_batch(bytes));
}

TEST(HeterMessages, AnAnswerWithMorePredictionsThanTheNetworkMakesIsRefused) {
  Pair pair(kFeedModel);
  for (int64_t cols : {0, 2, 1000}) EXPECT_FALSE(pair.accepts_result(pair.result(cols))) << cols;
}

TEST(HeterMessages, AnAnswerToABatchOfOtherExamplesIsRefused) {
  Pair pair(kFeedModel, 6), other(kFeedModel, 7);
  EXPECT_FALSE(pair.accepts_result(other.result()));
}

}  // namespace
}  // namespace ps::messages_test
