// Gradients in the bytes of every codec as trainers exchange them, in threads: beside all_reduce, beside a plain
// reference, and from a state that was saved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "codec/codec.h"
#include "device/model_devices.h"
#include "exchange_trainer.h"
#include "model/model_device.h"
#include "store/codec_exchange.h"
#include "strategy/strategy.h"
#include "support/environment.h"

namespace ps::compressed_all_reduce_test {
namespace {

using CodecCase = ExchangeCase<CodecExchangeOptions>;
using CodecTrainer = ExchangeTrainer<CodecExchange, CodecExchangeOptions>;

std::vector<std::vector<float>> train(const CodecCase& test, std::vector<uint64_t>* bytes = nullptr) {
  return train_exchange<CodecExchange>(test, bytes);
}

CodecExchangeOptions codec(std::string_view name, int64_t begin_step = 0) {
  return {.codecs = {Json{{"type", name}}}, .begin_step = begin_step};
}

std::vector<std::string_view> lossy_codecs() {
  std::vector<std::string_view> names;
  for (const CodecEntry* entry : codec_catalog()) {
    if (entry->name != "none") names.push_back(entry->name);
  }
  return names;
}

float largest_difference(std::span<const float> a, std::span<const float> b) {
  float largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(a[i] - b[i]));
  return largest;
}

TEST(CompressedAllReduce, BeforeBeginStepItIsAllReduceBitForBit) {
  CodecCase test{.steps = {9, 5, 7}};
  const auto whole = train(test);
  test.options = codec("int8", 9);
  for (const auto& weights : train(test)) expect_same_bits(weights, whole[0]);
  test.options->begin_step = 4;
  for (const auto& weights : train(test)) EXPECT_NE(weights, whole[0]);
}

TEST(CompressedAllReduce, AllTrainersHaveTheSameBitsWithEveryCodecAlsoWithoutData) {
  ASSERT_GE(lossy_codecs().size(), 8u);
  for (const std::string_view name : lossy_codecs()) {
    SCOPED_TRACE(name);
    const auto found = train({.steps = {9, 5, 7}, .options = codec(name)});
    for (const auto& weights : found) expect_same_bits(weights, found[0]);
  }
}

// A trainer whose codec loses nothing: each number here has few bits.
TEST(CompressedAllReduce, WithoutRoundingItIsAllReduce) {
  CodecCase test{.steps = {5, 5}, .optimizer = kExchangeSgd};
  test.fill = [](std::span<float> values, int64_t, int rank, int64_t step, size_t parameter) {
    Random random = batch_random(rank, step, parameter);
    for (float& value : values) value = 7 * static_cast<float>(static_cast<int>(random.below(9)) - 4);
  };
  const auto whole = train(test);  // batches of 3 and 4 examples: the means have few bits too
  for (const char* name : {"fp16", "bf16"}) {
    test.options = codec(name);
    const auto found = train(test);
    EXPECT_LT(largest_difference(found[0], whole[0]), 1e-6f) << name;
  }
}

// With a plain step of the weights, every gradient but the residuals arrives in the end: residuals are bounded, so that the
// distance to all_reduce does not grow with the number of steps.
TEST(CompressedAllReduce, ErrorFeedbackKeepsTheDistanceToAllReduceBounded) {
  for (const std::string_view name : {"int8", "one_bit", "top_k", "shared_scale_int"}) {
    SCOPED_TRACE(name);
    auto distance = [&](int64_t steps, bool feedback) {
      CodecCase test{.steps = {steps, steps}, .optimizer = kExchangeSgd};
      const auto whole = train(test);
      test.options = codec(name);
      test.options->codecs[0]["error_feedback"] = feedback;
      return largest_difference(train(test)[0], whole[0]);
    };
    const float early = distance(40, true), late = distance(160, true);
    EXPECT_GT(early, 0);
    EXPECT_LT(late, 2.5f * early);
    EXPECT_LT(late, distance(160, false));
  }
}

// Two trainers and one matrix, by the formulas: what travels, and both residuals.
TEST(CompressedAllReduce, IsThePlainAlgorithm) {
  const CodecCase test{.steps = {6, 6}, .options = codec("int8"), .optimizer = kExchangeSgd};
  const auto found = train(test);
  const auto specs = mixed_parameters(kExchangeRows, kExchangeCols);
  Device device(1, best_cpu_level());
  LocalStore fresh(specs, make_optimizer_plan(kExchangeSgd, "mean"), UINT64_MAX, device);
  std::vector<float> weights(fresh.whole(0).begin(), fresh.whole(0).end());
  constexpr size_t kHalf = kExchangeRows * kExchangeCols / 2;  // the values of one owner
  auto make = [&] {
    return make_codec(test.options->codecs[0], "codec", {.rows = kExchangeRows / 2, .cols = kExchangeCols});
  };
  std::unique_ptr<Codec> senders[2][2] = {{make(), make()}, {make(), make()}}, owners[2] = {make(), make()};
  std::vector<float> gradients[2], sum(kHalf), decoded(kHalf);
  std::string bytes;
  for (int64_t step = 0; step < 6; ++step) {
    for (int rank = 0; rank < 2; ++rank) {
      gradients[rank].resize(2 * kHalf);
      fill_exchange_noise(gradients[rank], kExchangeCols, rank, step, 0);
      for (float& value : gradients[rank]) value *= 1.0f / 7;  // 3 and 4 examples
    }
    for (size_t owner = 0; owner < 2; ++owner) {
      std::fill(sum.begin(), sum.end(), 0.0f);
      for (int rank = 0; rank < 2; ++rank) {
        const std::span<const float> part(gradients[rank].data() + owner * kHalf, kHalf);
        senders[rank][owner]->encode(part, bytes);
        senders[rank][owner]->decode(bytes, decoded);
        for (size_t i = 0; i < kHalf; ++i) sum[i] += decoded[i];
      }
      owners[owner]->encode(sum, bytes);
      owners[owner]->decode(bytes, decoded);
      for (size_t i = 0; i < kHalf; ++i) weights[owner * kHalf + i] -= 0.1f * decoded[i];
    }
  }
  for (size_t i = 0; i < weights.size(); ++i) ASSERT_NEAR(found[1][i], weights[i], 1e-5) << i;
}

// ---- checkpoints, bytes, mistakes

TEST(CompressedAllReduce, ATrainerThatTakesUpTheStateGoesOnWithTheSameBits) {
  for (const std::string_view name : lossy_codecs()) {
    SCOPED_TRACE(name);
    for (const int64_t save_at : {1, 3, 7}) {  // before compression begins, soon after, and late
      CodecCase test{.options = codec(name, 3)};
      const auto expected = train(test);
      test.save_at = save_at;
      for (const auto& weights : train(test)) expect_same_bits(weights, expected[0]);
    }
  }
}

// ---- on a device

std::shared_ptr<DeviceKernels> place_on_device(CodecExchangeOptions& options, Device& host) {
  std::shared_ptr<ModelDevice> model = make_emulated_model_device();
  options.device = compression_device_of(model, host);
  options.on_device = {true, true, true, true};
  return model;
}

std::vector<Json> codecs_of_devices() {
  std::vector<Json> codecs;
  for (const std::string_view name :
       {"fp16", "bf16", "int8", "one_bit", "shared_scale_int", "top_k", "threshold", "low_rank"}) {
    for (const bool feedback : {true, false})
      codecs.push_back({{"type", name}, {"error_feedback", feedback}});
  }
  codecs.push_back({{"type", "int8"}, {"block", 7}});
  codecs.push_back({{"type", "int8"}, {"block", 1000}});
  codecs.push_back({{"type", "int8"}, {"rounding", "stochastic"}});
  codecs.push_back({{"type", "shared_scale_int"}, {"chunk", 7}, {"bits", 16}});
  codecs.push_back({{"type", "top_k"}, {"encoding", "varint_int8"}});
  return codecs;
}

// Each trainer has a device, on which its gradient of the matrix is made.  Some have no data in the last steps.
TEST(CompressedAllReduce, OnADeviceItHasTheBitsAndTheBytesOfTheProcessor) {
  Json decayed = kExchangeMomentum;
  decayed["nesterov"] = true, decayed["l2"] = 0.01;
  const Json adam = {{"type", "adam"}, {"learning_rate", kExchangeRate}, {"average", {{"begin_step", 4}}}};
  int64_t number = 0;
  for (const Json& object : codecs_of_devices()) {
    for (const Json& optimizer : {decayed, adam}) {
      if (optimizer == adam && number++ % try_every() != 0) continue;
      SCOPED_TRACE(object.dump() + " " + optimizer.dump());
      CodecCase test{.steps = {8, 5, 6}, .options = codec("", 2), .optimizer = optimizer};
      test.options->codecs = {object};
      std::vector<uint64_t> bytes, bytes_there;
      const auto expected = train(test, &bytes);
      test.place = place_on_device;
      if (optimizer == decayed) test.save_at = 3;  // the steps that adam counts are not in its rows
      for (const auto& weights : train(test, &bytes_there)) expect_same_bits(weights, expected[0]);
      EXPECT_EQ(bytes_there, bytes);
    }
  }
}

// The last trainer has no data when compression begins.
TEST(CompressedAllReduce, OnADeviceATrainerWithoutDataGivesNothing) {
  CodecCase test{.steps = {6, 5, 2}, .options = codec("fp16", 3)};
  const auto expected = train(test);
  test.place = place_on_device;
  test.all_have_some_there = false;
  for (const auto& weights : train(test)) expect_same_bits(weights, expected[0]);
}

TEST(CompressedAllReduce, AStateFromADeviceIsThatOfTheProcessor) {
  auto communicators = make_thread_communicators({.size = 1});
  for (const Json& object : codecs_of_devices()) {
    SCOPED_TRACE(object.dump());
    CodecCase test{.steps = {4}, .options = codec("")};
    test.options->codecs = {object};
    CodecTrainer here(test, *communicators[0]);
    test.place = place_on_device;
    CodecTrainer there(test, *communicators[0]);
    for (int64_t step = 0; step < 4; ++step) here.step(0, step), there.step(0, step);
    EXPECT_EQ(here.exchange->describe().at("compressed_there"), 0);
    EXPECT_EQ(there.exchange->describe().at("compressed_there"), 1);
    std::string expected, state;
    here.exchange->save(expected);
    there.exchange->save(state);
    ASSERT_GT(state.size(), 40u * 25 * (object.value("error_feedback", true) ? 4 : 0));
    EXPECT_EQ(state, expected);
    CodecTrainer back(here.test, *communicators[0]);
    back.take(there);
    here.step(0, 4), back.step(0, 4);
    expect_same_bits(back.weights(), here.weights());
  }
}

// A device knows all codecs; a parameter whose gradient is clipped by norm stays on the processor.
TEST(CompressedAllReduce, WhatIsClippedByNormStaysOnTheProcessor) {
  Json clipped = kExchangeSgd;
  clipped["clip_norm"] = 0.5;
  for (const std::string_view name : lossy_codecs()) {
    for (const Json& optimizer : {kExchangeSgd, clipped}) {
      SCOPED_TRACE(std::string(name) + " " + optimizer.dump());
      auto communicators = make_thread_communicators({.size = 1});
      CodecCase test{.steps = {2}, .options = codec(name), .optimizer = optimizer};
      CodecTrainer here(test, *communicators[0]);
      test.place = place_on_device;
      CodecTrainer there(test, *communicators[0]);
      for (int64_t step = 0; step < 2; ++step) here.step(0, step), there.step(0, step);
      EXPECT_EQ(there.exchange->describe().at("compressed_there"), optimizer == kExchangeSgd ? 1 : 0);
      expect_same_bits(there.weights(), here.weights());
    }
  }
}

std::string refusal_of(const CodecCase& test) {
  auto communicators = make_thread_communicators({.size = 1});
  CodecTrainer trainer(test, *communicators[0]);
  try {
    for (int64_t step = 0; step < 5; ++step) trainer.step(0, step);
  } catch (const Error& error) {
    return error.message();
  }
  return "all steps were taken";
}

// fp16 leaves nearly all of a large value, so that its sums overflow in a later step.
TEST(CompressedAllReduce, OnADeviceAGradientThatIsNoNumberIsRefusedAsOnTheProcessor) {
  const auto expect_refusal = [](std::string_view name, float bad, const char* expected) {
    SCOPED_TRACE(std::string(name) + " " + std::to_string(bad));
    CodecCase test{.options = codec(name)};
    test.fill = [bad](std::span<float> values, int64_t, int, int64_t, size_t parameter) {
      std::ranges::fill(values, 1.0f);
      if (parameter == 0) values[617] = values[921] = bad;
    };
    const std::string here = refusal_of(test);
    test.place = place_on_device;
    EXPECT_EQ(refusal_of(test), here);
    EXPECT_THAT(here, testing::HasSubstr(expected));
  };
  expect_refusal("int8", NAN, "value 617 of a gradient is nan");
  expect_refusal("bf16", -INFINITY, "value 617 of a gradient is -inf");
  expect_refusal("fp16", INFINITY, "value 617 of a gradient is inf");
  expect_refusal("fp16", 3.4e38f, "value 617 of a gradient is too large: ");
  expect_refusal("int8", 3.4e38f, "all steps were taken");
  expect_refusal("one_bit", NAN, "value 617 of a gradient is nan");
  expect_refusal("shared_scale_int", NAN, "value 617 of a gradient is nan");
  expect_refusal("top_k", -INFINITY, "value 617 of a gradient is -inf");
  expect_refusal("threshold", 3.4e38f, "value 617 of a gradient is too large: ");
}

// All values of the matrix are finite, but not their sum.
TEST(CompressedAllReduce, OnADeviceMeansThatAreTooLargeAreRefusedAsOnTheProcessor) {
  CodecCase test{.options = codec("one_bit")};
  test.fill = [](std::span<float> values, int64_t, int, int64_t, size_t parameter) {
    std::ranges::fill(values, parameter == 0 ? 3e38f : 1.0f);
  };
  const std::string here = refusal_of(test);
  test.place = place_on_device;
  EXPECT_EQ(refusal_of(test), here);
  EXPECT_THAT(here, testing::HasSubstr("values that are too large for the mean of 1000 of them"));
}

TEST(CompressedAllReduce, AStateCutShortOrOfAnotherModelIsRefused) {
  auto communicators = make_thread_communicators({.size = 1});
  const CodecCase test{.steps = {1}, .options = codec("int8")};
  CodecTrainer trainer(test, *communicators[0]);
  trainer.step(0, 0);
  std::string state;
  trainer.exchange->save(state);
  ASSERT_FALSE(state.empty());
  for (size_t size = 1; size < state.size(); size += 1 + size / 3) {
    CodecTrainer other(test, *communicators[0]);
    ByteReader in(std::string_view(state).substr(0, size));
    EXPECT_THROW(other.exchange->load(in), Error) << size;
  }
  for (const uint32_t parameter : {1u, 3u, 4u}) {
    CodecTrainer other(test, *communicators[0]);
    std::string wrong = state;
    std::memcpy(wrong.data(), &parameter, sizeof parameter);
    ByteReader in(wrong);
    EXPECT_THROW(other.exchange->load(in), Error) << parameter;
  }
}

// A matrix of 40 x 25 and rows of 30 x 4 in the bytes of the codec; a bias, a statistic and a header are whole.
TEST(CompressedAllReduce, SendsTheBytesOfItsCodec) {
  auto bytes_of = [](std::string_view name) {
    std::vector<uint64_t> bytes;
    train({.steps = {9, 9}, .options = codec(name)}, &bytes);
    return static_cast<double>(bytes[0]);
  };
  const double values = 9 * (40 * 25 + 30 * 4), rest = 9 * (25 + 3 + 8) * 4;
  const double overhead = 9 * 1000 + 3000;  // frames; scales; the step in which nobody has data
  EXPECT_NEAR(bytes_of("fp16"), 2 * values + rest, overhead);
  EXPECT_NEAR(bytes_of("int8"), values + rest, overhead);
  EXPECT_NEAR(bytes_of("one_bit"), values / 8 + rest, overhead);
}

TEST(CompressedAllReduce, NamesOfCodecsAreCheckedAndCompleted) {
  auto complete = [](const Json& keys) {
    Json object = {{"type", "compressed_all_reduce"}};
    object.update(keys);
    find_strategy(object).check(object, kExchangeSgd);
    return complete_strategy(object);
  };
  EXPECT_EQ(complete({{"codec", "one_bit"}}),
            complete({{"codec", {{"type", "one_bit"}, {"error_feedback", true}}}}));
  EXPECT_EQ(complete(Json::object()), complete({{"codec", "int8"}}));
  auto refusal = [&](const Json& codec) -> std::string {
    try {
      complete({{"codec", codec}});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("int9"), testing::HasSubstr("train.strategy.codec"));
  EXPECT_THAT(refusal("int9"), testing::HasSubstr("int8"));
  EXPECT_THAT(refusal("none"), testing::HasSubstr("use train.strategy all_reduce"));
  EXPECT_THAT(refusal({{"type", "top_k"}, {"densty", 0.1}}),
              testing::HasSubstr("train.strategy.codec.densty"));
  EXPECT_THAT(refusal(8), testing::HasSubstr("train.strategy.codec"));
}

// ---- the choice by the cost model

// A part of a megabyte in floats, among 4 trainers.
MatrixTrials large_matrix() {
  return {.values = 1 << 20,
          .trials = {{.bytes = 1 << 19, .encode_seconds = 1e-3, .decode_seconds = 1e-3},
                     {.bytes = 1 << 18, .encode_seconds = 4e-3, .decode_seconds = 2e-3}}};
}

ClusterParameters four_trainers(double bandwidth, double latency = 1e-5) {
  return {.ranks = 4, .latency = latency, .bandwidth = bandwidth};
}

TEST(CodecChoice, SlowLinksTakeFewBytesAndFastOnesNoCodec) {
  using Choice = std::vector<std::optional<size_t>>;
  const MatrixTrials matrices[] = {large_matrix()};
  auto chosen = [&](double bandwidth) { return choose_codecs(four_trainers(bandwidth), matrices, 0).codecs; };
  EXPECT_EQ(chosen(1e7), Choice{1});
  EXPECT_EQ(chosen(100e6), Choice{0});
  EXPECT_EQ(chosen(100e9), Choice{std::nullopt});
  EXPECT_EQ(chosen(0), Choice{std::nullopt});  // no cost at all
}

TEST(CodecChoice, EachMatrixHasItsOwn) {
  MatrixTrials slow_to_encode = large_matrix();
  for (CodecTrial& trial : slow_to_encode.trials) trial.encode_seconds = 1;
  const MatrixTrials matrices[] = {large_matrix(), slow_to_encode};
  const CodecChoice choice = choose_codecs(four_trainers(1e7), matrices, 100);
  EXPECT_EQ(choice.codecs, (std::vector<std::optional<size_t>>{1, std::nullopt}));
  EXPECT_LT(choice.seconds, choice.whole_seconds);
}

TEST(CodecChoice, NoneUnlessTheStepGainsATenth) {
  const MatrixTrials matrices[] = {large_matrix()};
  EXPECT_TRUE(choose_codecs(four_trainers(1e7), matrices, 0).codecs[0]);
  EXPECT_FALSE(choose_codecs(four_trainers(1e7), matrices, 1e8).codecs[0]);  // the rest takes far longer
  // More messages: a matrix that shares one with the header, if it is whole.
  MatrixTrials fused = large_matrix();
  fused.values = 1 << 17;
  for (CodecTrial& trial : fused.trials) trial.bytes /= 8;
  EXPECT_TRUE(choose_codecs(four_trainers(1e7), {&fused, 1}, 0).codecs[0]);
  EXPECT_FALSE(choose_codecs(four_trainers(1e7, /*latency=*/1), {&fused, 1}, 0).codecs[0]);
}

// Where messages cost latency alone, time is the number of exchanges.
TEST(CodecChoice, CountsTheExchangesThatAStepMakes) {
  const ClusterParameters cluster = four_trainers(/*bandwidth=*/1e15, /*latency=*/1);
  const auto seconds = [&](double bytes) {
    return exchange_cost(ExchangeKind::kDirect, cluster, {.dense_bytes = bytes}).total();
  };
  const double header = seconds(0), one = seconds(100);
  const MatrixTrials free = {.values = 1 << 20,
                             .trials = {{.bytes = 1, .encode_seconds = 0, .decode_seconds = 0}}};
  const std::vector<MatrixTrials> matrices(16, free);  // a group may have them all
  const CodecChoice several = choose_codecs(cluster, matrices, 100);
  EXPECT_NEAR(several.whole_seconds, 17 * one, 1e-3) << "each matrix, and what is small";
  EXPECT_NEAR(several.seconds, header + 9 * one, 1e-3) << "eight groups, and what is small";
  const CodecChoice together = choose_codecs(cluster, matrices, 100, CompressedGroups::kOne);
  EXPECT_NEAR(together.seconds, header + 2 * one, 1e-3);
  const CodecChoice nothing_small = choose_codecs(cluster, matrices, 0, CompressedGroups::kOne);
  EXPECT_NEAR(nothing_small.seconds, header + one, 1e-3);
  const auto first = std::span(matrices).first(2);
  EXPECT_FALSE(choose_codecs(cluster, first, 100).codecs[0]) << "four exchanges for three";
  EXPECT_TRUE(choose_codecs(cluster, first, 100, CompressedGroups::kOne).codecs[0])
      << "a header is shorter than a matrix";
}

CodecExchangeOptions automatic(double bandwidth) {
  return {.codecs = {Json{{"type", "fp16"}}, Json{{"type", "int8"}}},
          .chooses = true,
          .latency = 0,
          .bandwidth = bandwidth};
}

TEST(CodecChoice, TheExchangeOfTheChosenCodecIsThatOfTheCodec) {
  CodecCase test{.steps = {9, 5, 7}, .options = codec("int8")};
  const auto with_int8 = train(test);
  test.options = automatic(1e3);
  for (const auto& weights : train(test)) expect_same_bits(weights, with_int8[0]);
  test.options = std::nullopt;
  const auto whole = train(test);
  test.options = automatic(1e18);
  for (const auto& weights : train(test)) expect_same_bits(weights, whole[0]);
}

TEST(CodecChoice, IsKeptByCheckpointsThoughTheLinksHaveChanged) {
  auto communicators = make_thread_communicators({.size = 1});
  CodecTrainer trainer({.options = automatic(1e3)}, *communicators[0]);
  // A trainer alone exchanges nothing, and would choose no codec: this is the state of one among others.
  std::string state;
  for (const uint32_t parameter : {0u, 2u}) {
    put(state, parameter);
    put(state, uint8_t{1});
    put(state, uint8_t{0});
  }
  ByteReader in(state);
  EXPECT_EQ(trainer.exchange->describe().at("codecs").at("matrix"), "whole");
  trainer.exchange->load(in);
  EXPECT_EQ(trainer.exchange->describe().at("codecs").at("matrix"), "int8");
  std::string saved;
  trainer.exchange->save(saved);
  EXPECT_EQ(saved, state);
  for (const uint8_t wrong : {uint8_t{2}, uint8_t{254}}) {
    CodecTrainer other({.options = automatic(1e3)}, *communicators[0]);
    std::string bad = state;
    bad[4] = static_cast<char>(wrong);
    ByteReader bytes(bad);
    EXPECT_THROW(other.exchange->load(bytes), Error);
  }
}

}  // namespace
}  // namespace ps::compressed_all_reduce_test
