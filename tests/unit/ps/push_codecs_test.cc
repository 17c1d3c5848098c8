// Gradients in the bytes of a codec: what a shard decodes, what stays in the residuals, and what is refused.
#include "ps/wire/push_codecs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "optim/synthetic_parameter.h"
#include "ps/client/codec_chunks.h"
#include "ps/client/row_message.h"
#include "ps/server/snapshot_fields.h"
#include "shard_test.h"
#include "support/scratch_folder.h"

namespace ps::push_codecs_test {
namespace {

using testing::HasSubstr;

constexpr int64_t kCols = 6;
constexpr size_t kKeys = 20, kRows = 30;

// Every codec of the catalogue, and stochastic rounding.
std::vector<Json> all_codecs() {
  std::vector<Json> all = {{{"type", "int8"}, {"rounding", "stochastic"}, {"block", 16}}};
  for (const CodecEntry* entry : codec_catalog()) {
    if (entry->name != "none") all.push_back({{"type", entry->name}});
  }
  return all;
}

std::vector<ParameterSpec> make_specs() {
  return {synthetic_parameter("table", ParameterKind::kRows, true, 0, kCols),
          synthetic_parameter("matrix", ParameterKind::kMatrix, false, kRows, kCols),
          synthetic_parameter("statistic", ParameterKind::kStatistic, false, 1, 2)};
}

// A trainer that pushes to one of two shards gradients of some keys and of a matrix, each row of which has a block of its own,
// and a statistic.
class CodedPush : public testing::TestWithParam<Json> {
 protected:
  CodedPush() {
    for (size_t n = 0; n < kKeys; ++n) plans_[0].keys.push_back(3 * n + 1);
    router_.begin();
    router_.add_keys(0, plans_[0].keys);
    for (size_t p : {1, 2}) router_.add_all(p);
    router_.end();
    for (size_t floats : {kKeys * kCols, kRows * kCols, size_t{2}}) {
      gradients_.push_back(std::make_shared<Buffer>(pool_.take(floats * sizeof(float))));
    }
  }

  std::span<float> floats_of(size_t p) {
    return {reinterpret_cast<float*>(gradients_[p]->data()), gradients_[p]->size() / sizeof(float)};
  }

  // The body of the push of a step, whose gradients are noise.
  std::string push(Residuals& residuals, uint64_t step = 0) {
    Random random(step, 9);
    for (size_t p = 0; p < 3; ++p) {
      for (float& each : floats_of(p)) each = static_cast<float>(random.uniform()) - 0.5f;
    }
    residuals.find(plans_);
    const Bundle& bundle = router_.bundles(0).at(0);
    const RowSource source{
        .begin = [this](const RoutedRows& routed) { return floats_of(routed.parameter).data(); },
        .gradients = &gradients_,
        .residuals = &residuals};
    const Payload payload = make_row_message(
        {specs_, router_, pool_, best_cpu_level()},
        encode_push({.coded = true}, bundle.num_row_slices(), bundle.push_slices()), 0, bundle, source);
    std::string body(payload.head.data(), payload.head.size());
    for (ConstBytes part : payload.parts) body.append(part.data(), part.size());
    return body;
  }

  PushRequest decode(const std::string& body) {
    PushRequest request = decode_push(to_buffer(pool_, body), widths_);
    decode_floats(request, widths_, pool_, codecs_);
    return request;
  }

  // The values and the residuals of a part, in the order of the message.
  std::vector<float> told(const PushRequest& request, size_t part) {
    const float* floats = request.floats(request.row_slices[part]);
    return {floats, floats + request.row_slices[part].rows() * static_cast<uint64_t>(widths_[part])};
  }

  const std::vector<ParameterSpec> specs_ = make_specs();
  const std::vector<int64_t> widths_ = {kCols, kCols, 2};
  std::vector<KeyPlan> plans_ = std::vector<KeyPlan>(3);
  BufferPool pool_;
  BatchRouter router_{specs_, {ShardPlace()}};
  GradientBuffers gradients_;
  const RowTypes types_{.push_codec = GetParam()};
  PushCodecs codecs_{GetParam(), specs_, 0};
};

TEST_P(CodedPush, AShardReadsWhatTheResidualsDoNotHave) {
  Residuals residuals(specs_, types_);
  std::vector<double> sent(kKeys * kCols), sent_so_far(sent.size());
  for (uint64_t step = 0; step < 5; ++step) {
    const PushRequest request = decode(push(residuals, step));
    EXPECT_FALSE(request.coded);
    EXPECT_EQ(told(request, 2), std::vector<float>(floats_of(2).begin(), floats_of(2).end()))
        << "a statistic is exact";
    const std::vector<float> rows = told(request, 0);
    for (size_t i = 0; i < sent.size(); ++i) {
      sent[i] += static_cast<double>(floats_of(0)[i]);
      sent_so_far[i] += static_cast<double>(rows[i]);
      const float left = residuals.of_position(0, static_cast<int64_t>(i / kCols))[i % kCols];
      EXPECT_NEAR(sent_so_far[i] + static_cast<double>(left), sent[i], 2e-6) << i << " at step " << step;
    }
  }
}

TEST_P(CodedPush, ATrainerThatComesAgainEncodesTheSameBytes) {
  for (const uint64_t most_bytes : {7u, 1u << 20}) {
    RowTypes types = types_;
    types.state_chunk_bytes = most_bytes;
    Residuals residuals(specs_, types), again(specs_, types);
    push(residuals, 0);
    push(residuals, 1);
    const std::unique_ptr<StateChunkSource> codecs = residuals.codec_chunks(), rows = residuals.chunks();
    push(residuals, 2);  // chunks have the state as it is when they are encoded
    for (const StateChunkSource* source : {codecs.get(), rows.get()}) {
      for (size_t n = source->size(); n-- > 0;) again.restore(source->encode(n));  // in any order
    }
    for (uint64_t step = 3; step < 6; ++step) EXPECT_EQ(push(again, step), push(residuals, step));
  }
}

TEST_P(CodedPush, AStateThatIsDamagedIsRefused) {
  Residuals residuals(specs_, types_);
  push(residuals);
  const std::string chunk = residuals.codec_chunks()->encode(0);
  auto take = [&](const std::vector<std::string>& chunks) {
    Residuals other(specs_, types_);
    for (const std::string& each : chunks) other.restore(each);
  };
  take({chunk});
  for (size_t size = 1; size < chunk.size(); ++size) {
    const Error error = error_of([&] { take({chunk.substr(0, size), chunk}); });
    EXPECT_EQ(error.code(), Code::kCorrupt) << "cut at " << size << ": " << error.message();
  }
  EXPECT_EQ(error_of([&] { take({chunk, chunk}); }).code(), Code::kCorrupt) << "it comes twice";
  for (size_t at = 1; at < 21; ++at) {
    std::string other = chunk;
    other[at] = static_cast<char>(other[at] ^ 0x40);
    EXPECT_EQ(error_of([&] { take({other}); }).code(), Code::kCorrupt) << "byte " << at;
  }
}

// Each byte changed in turn, and each prefix: it is refused as data, or stands for other values.
TEST_P(CodedPush, AnyByteMayBeWrong) {
  Residuals residuals(specs_, types_);
  const std::string body = push(residuals);
  for (size_t at = 0; at < body.size(); ++at) {
    for (const int change : {1, 0x80, 0xff}) {
      std::string other = body;
      other[at] = static_cast<char>(other[at] ^ change);
      const Error error = error_of([&] {
        PushRequest request = decode_push(to_buffer(pool_, other), widths_);
        if (request.pulled == 0) decode_floats(request, widths_, pool_, codecs_);
      });
      if (error.message().empty()) continue;
      ASSERT_EQ(error.code(), Code::kData) << at << ": " << error.message();
    }
  }
  for (size_t size = 0; size < body.size(); ++size) {
    ASSERT_EQ(error_of([&] { decode(body.substr(0, size)); }).code(), Code::kData) << "cut at " << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Codecs, CodedPush, testing::ValuesIn(all_codecs()), [](const auto& each) {
  return each.param["type"].template get<std::string>() +
         (each.param.contains("rounding") ? "_stochastic" : "");
});

// A push of a part in `bytes` of a codec, in the parameter of the first part that `parts` have.
std::string coded_push(const std::string& parts, std::string_view bytes, uint32_t num_row_slices = 1) {
  std::string body = encode_push({.info = {1, 0}, .coded = true}, num_row_slices, parts);
  for (uint32_t n = 0; n < num_row_slices; ++n) {
    put(body, static_cast<uint64_t>(bytes.size()));
    body += bytes;
    body.resize(padded(body.size()), '\0');
  }
  return body;
}

std::string key_part(const std::vector<uint64_t>& keys) {
  std::string part;
  encode_key_slice(0, keys, part);
  return part;
}

// No bytes at all are a gradient of zeros, for threshold: of as many rows as the request says.
TEST(CodedPushes, DecodeToNoMoreThanAMessageHas) {
  const std::vector<ParameterSpec> specs = make_specs();
  const std::vector<int64_t> widths = {kCols, kCols, 2};
  BufferPool pool;
  auto decode = [&](uint64_t rows, uint32_t times) {
    std::string parts;
    for (uint32_t n = 0; n < times; ++n) encode_range_slice(1, 0, rows, false, parts);
    decode_push(to_buffer(pool, coded_push(parts, "", times)), widths);
  };
  const uint64_t most = kMaxMessageBytes / (kCols * sizeof(float));
  decode(most, 1);
  decode(most / 4, 4);
  for (const uint64_t rows : {most + 1, uint64_t{1} << 62, UINT64_MAX}) {
    EXPECT_THAT(error_of([&] { decode(rows, 1); }).message(), HasSubstr("64.0 MiB when they are decoded"))
        << rows;
  }
  EXPECT_THAT(error_of([&] { decode(most / 4 + 1, 4); }).message(), HasSubstr("when they are decoded"));
}

class CodedPushToShard : public ShardTest {
 protected:
  // Gradients of all keys, as a trainer encodes them.
  OutcomePtr push_coded(int rank, const std::vector<uint64_t>& keys, const std::vector<float>& values) {
    PushCodecs codecs(push_codec_,
                      std::vector{synthetic_parameter("table", ParameterKind::kRows, true, 100, 2)}, rank);
    std::string bytes;
    std::vector<float> residual(values.size());
    codecs.of(0).encode_slice(values, residual, bytes);
    return push_body(rank, coded_push(key_part(keys), bytes));
  }
};

TEST_F(CodedPushToShard, IsAppliedLikeAnyOther) {
  push_codec_ = {{"type", "top_k"}, {"density", 0.25}, {"selection", "exact"}, {"encoding", "index32"}};
  make(1);
  EXPECT_TRUE(push_coded(0, {1, 2}, {0.25f, 0.5f, -3, 1})->answer.has_value());
  EXPECT_THAT(weights({1, 2}), testing::ElementsAre(0, 3));
}

TEST_F(CodedPushToShard, OfAJobWithoutACodecIsRefused) {
  make(1);
  EXPECT_THAT(refusal([&] { push_body(0, coded_push(key_part({1}), "")); }, Code::kData),
              HasSubstr("the job has no codec"));
  push(0, 0, {1}, 1);
  EXPECT_THAT(weights({1}), testing::ElementsAre(-1));
}

TEST_F(CodedPushToShard, ThatIsDamagedChangesNothing) {
  push_codec_ = {{"type", "threshold"}, {"tau", 0.5}};
  make(1);
  EXPECT_THAT(refusal([&] { push_body(0, coded_push(key_part({1}), "12345")); }, Code::kData),
              HasSubstr("push: parameter 0: encoded gradient: 5 bytes"));
  std::string beyond;
  put(beyond, uint32_t{4});  // value 2 of 2
  EXPECT_THAT(refusal([&] { push_body(0, coded_push(key_part({1}), beyond)); }, Code::kData),
              HasSubstr("index 2"));
  std::string first;
  put(first, uint32_t{0});
  push_body(0, coded_push(key_part({1}), first));
  EXPECT_THAT(weights({1}), testing::ElementsAre(-0.5f));
}

// The product of finite factors may be none.
TEST_F(CodedPushToShard, WhoseValuesAreNotFiniteIsRefused) {
  push_codec_ = {{"type", "low_rank"}, {"rank", 1}};
  make(1);
  std::string factors;
  for (int i = 0; i < 10 + 2; ++i) put(factors, 1e38f);
  EXPECT_THAT(refusal(
                  [&] {
                    push_body(0, coded_push(key_part({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), factors));
                  },
                  Code::kData),
              HasSubstr("'table' has values that are not finite"));
}

// Gradients that trainers exchange: a sum of integers does not care whose is whose, a sum of floats does.
TEST_F(CodedPushToShard, SumsOfASharedScaleHaveTheSameBitsInAnyOrder) {
  const std::vector<std::vector<float>> gradients = {
      {1.5e6f, 0.75f}, {-1.5e6f, 3}, {0.1f, 1e-3f}, {2.7f, -1e4f}};
  std::vector<size_t> order = {0, 1, 2, 3};
  auto sum_of = [&](const Json& codec) {
    push_codec_ = codec;
    make(4);
    for (size_t rank = 0; rank < 4; ++rank) push_coded(static_cast<int>(rank), {1}, gradients[order[rank]]);
    return weights({1})[0];
  };
  std::vector<float> integers, floats;
  do {
    integers.push_back(sum_of({{"type", "shared_scale_int"}, {"bits", 16}}));
    floats.push_back(sum_of({{"type", "bf16"}}));
  } while (std::ranges::next_permutation(order).found);
  for (float each : integers) EXPECT_EQ(each, integers[0]);
  EXPECT_GT(*std::ranges::max_element(floats), *std::ranges::min_element(floats))
      << "the test proves nothing";
}

}  // namespace
}  // namespace ps::push_codecs_test
