#include "ps/wire/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "base/random.h"
#include "base/varint.h"
#include "config/json.h"
#include "ps/wire/gather.h"
#include "ps/wire/hello.h"
#include "ps/wire/key_list.h"
#include "ps/wire/run_messages.h"
#include "ps/wire/trainer_state_chunks.h"

namespace ps::protocol_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<int64_t> kWidths = {3, 1};

Buffer buffer_of(const std::string& bytes) {
  static BufferPool pool;
  Buffer buffer = pool.take(bytes.size());
  std::copy(bytes.begin(), bytes.end(), buffer.data());
  return buffer;
}

std::string two_parts() {
  std::string parts;
  encode_key_slice(0, std::vector<uint64_t>{2, 300}, parts);
  encode_range_slice(1, 5, 4, false, parts);
  return parts;
}

// Two rows of 3 floats and four of 1, each part padded.
std::string floats_of_two_parts() {
  std::string bytes;
  for (float value = 1; value <= 6; ++value) put(bytes, value);
  bytes.resize(64);
  for (float value = 7; value <= 10; ++value) put(bytes, value);
  bytes.resize(128);
  return bytes;
}

std::string a_push() {
  PushHeader header{.step = 9, .info = {200, 3}, .ended = false, .slice = 1, .num_slices = 2};
  return encode_push(header, 2, two_parts()) + floats_of_two_parts();
}

void expect_refused(const std::function<void()>& body, const std::string& what) {
  try {
    body();
    ADD_FAILURE() << what << " was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kData) << what << ": " << error.message();
  }
}

TEST(Protocol, KeysComeBackFromFewBytes) {
  std::vector<uint64_t> keys = {0, 1, 2, 130, 1 << 20, UINT64_MAX - 1, UINT64_MAX}, read;
  std::string bytes;
  encode_keys(keys, bytes);
  EXPECT_EQ(bytes.size(), 8u + 3 + 1 + 3 + 10 + 1);
  ByteReader in(bytes);
  decode_keys(in, read);
  EXPECT_EQ(read, keys);
  EXPECT_EQ(in.remaining(), 0u);
}

// Keys in dense blocks and keys far apart, up to the largest key.
TEST(Protocol, KeysComeBackHoweverCloseTheyAre) {
  for (uint64_t begin : {uint64_t{0}, UINT64_MAX - 3000}) {
    for (size_t count = 0; count < 40; ++count) {
      std::vector<uint64_t> keys, read;
      uint64_t next = begin;
      for (size_t i = 0; i < count; ++i, ++next) keys.push_back(next += i % 11 == 10 ? 300 : i % 3);
      if (count > 20) keys.back() = begin == 0 ? keys.back() : UINT64_MAX;
      std::string bytes;
      encode_keys(keys, bytes);
      ByteReader in(bytes);
      decode_keys(in, read);
      EXPECT_EQ(read, keys) << count << " from " << begin;
    }
  }
  std::string bytes;
  put(bytes, uint32_t{16});
  put(bytes, uint32_t{16 + 9});
  append_varints(bytes, 16,
                 [first = true]() mutable { return std::exchange(first, false) ? UINT64_MAX : 0; });
  std::vector<uint64_t> read;
  ByteReader in(bytes);
  expect_refused([&] { decode_keys(in, read); }, "short steps after the last key");
}

TEST(Protocol, KeysBeyond64BitsAreRefused) {
  std::string bytes;
  encode_keys(std::vector<uint64_t>{UINT64_MAX}, bytes);
  bytes += '\0';
  bytes[0] = 2;
  bytes[4] = static_cast<char>(bytes.size() - 8);
  std::vector<uint64_t> read;
  ByteReader in(bytes);
  expect_refused([&] { decode_keys(in, read); }, "a key after the last");
}

TEST(Protocol, PullComesBack) {
  PullRequest pull = decode_pull(encode_pull({.step = 7, .mode = PullMode::kRead}, 2, two_parts()));
  EXPECT_EQ(pull.step, 7u);
  EXPECT_EQ(pull.mode, PullMode::kRead);
  ASSERT_EQ(pull.row_slices.size(), 2u);
  EXPECT_THAT(pull.row_slices[0].keys, ElementsAre(2, 300));
  EXPECT_FALSE(pull.row_slices[1].by_keys);
  EXPECT_EQ(pull.row_slices[1].first, 5u);
  EXPECT_EQ(pull.row_slices[1].rows(), 4u);
}

TEST(Protocol, FloatsOfAPushAreAlignedWhereTheyCame) {
  PushRequest push = decode_push(buffer_of(a_push()), kWidths);
  EXPECT_EQ(push.step, 9u);
  EXPECT_EQ(push.info.samples, 200);
  EXPECT_EQ(push.info.pass, 3);
  EXPECT_EQ(push.slice, 1u);
  EXPECT_EQ(push.num_slices, 2u);
  ASSERT_EQ(push.row_slices.size(), 2u);
  for (const RowSlice& part : push.row_slices) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(push.floats(part)) % kFloatAlignment, 0u);
  }
  EXPECT_EQ(push.floats(push.row_slices[0])[5], 6);
  EXPECT_EQ(push.floats(push.row_slices[1])[3], 10);
}

std::string a_counted_push(const std::vector<KeyCount>& counts) {
  std::string parts;
  encode_counted_slice(0, std::vector<uint64_t>{2, 300}, counts, parts);
  encode_range_slice(1, 5, 4, false, parts);
  return encode_push({.step = 9, .info = {200, 3, /*shrink=*/true}}, 2, parts) + floats_of_two_parts();
}

TEST(Protocol, CountsOfKeysTravelWithTheirRows) {
  PushRequest push = decode_push(buffer_of(a_counted_push({{1, 0}, {UINT32_MAX, 200}})), kWidths);
  EXPECT_TRUE(push.info.shrink);
  EXPECT_FALSE(push.ended);
  EXPECT_THAT(push.row_slices[0].keys, ElementsAre(2, 300));
  EXPECT_THAT(push.row_slices[0].counts, ElementsAre(KeyCount{1, 0}, KeyCount{UINT32_MAX, 200}));
  EXPECT_THAT(push.row_slices[1].counts, testing::IsEmpty());
  EXPECT_EQ(push.floats(push.row_slices[0])[5], 6);
  EXPECT_FALSE(decode_push(buffer_of(a_push()), kWidths).info.shrink);
}

TEST(Protocol, CountsThatCannotBeAreRefused) {
  for (const KeyCount& count : {KeyCount{0, 0}, KeyCount{3, 4}}) {
    expect_refused(
        [&] {
          decode_push(buffer_of(a_counted_push({{1, 1}, count})), kWidths);
        },
        cat(count.shows, " shows and ", count.clicks, " clicks"));
  }
  expect_refused([&] { decode_push(buffer_of(a_counted_push({{1, 1}})), kWidths); }, "a count too few");
  expect_refused(
      [&] {
        decode_push(buffer_of(a_counted_push({{1, 1}, {1, 1}, {1, 1}})), kWidths);
      },
      "a count too many");
}

// Two rows of 3 bytes with their scales, and four of f32, which are exact in any message.
TEST(Protocol, RowsOfAnyTypeBecomeFloats) {
  std::string parts;
  encode_key_slice(0, std::vector<uint64_t>{2, 300}, parts);
  encode_range_slice(1, 5, 4, true, parts);
  std::string body = encode_push({.type = RowType::kInt8}, 2, parts);
  const std::vector<float> rows = {127, -1, 0, 254, 2, 4}, exact = {7, 8, 9, 10.1f};
  std::string encoded(2 * encoded_row_bytes(RowType::kInt8, 3), '\0');
  row_codec(RowType::kInt8, best_cpu_level()).encode(rows.data(), 2, 3, encoded.data());
  body += encoded;
  body.resize(padded(body.size()));
  put_array(body, std::span(exact));
  body.resize(padded(body.size()));
  PushRequest push = decode_push(buffer_of(body), kWidths);
  EXPECT_EQ(push.type, RowType::kInt8);
  EXPECT_TRUE(push.row_slices[1].exact);
  BufferPool pool;
  decode_floats(push, kWidths, pool);
  EXPECT_EQ(std::vector<float>(push.floats(push.row_slices[0]), push.floats(push.row_slices[0]) + 6), rows);
  EXPECT_EQ(std::vector<float>(push.floats(push.row_slices[1]), push.floats(push.row_slices[1]) + 4), exact);
}

TEST(Protocol, UnknownTypesOfRowsAreRefused) {
  std::string pull = encode_pull({.step = 7}, 2, two_parts()), push = a_push();
  pull[9] = 6;
  push[25] = 7;
  expect_refused([&] { decode_pull(pull); }, "a pull of type 6, which is of pushes alone");
  expect_refused([&] { decode_push(buffer_of(push), kWidths); }, "a push of type 7");
  pull[9] = static_cast<char>(RowType::kOneBit);
  expect_refused([&] { decode_pull(pull); }, "a pull of signs");
}

TEST(Protocol, EveryCutOfAMessageIsRefused) {
  const std::string pull = encode_pull({.step = 7}, 2, two_parts()), push = a_push();
  const std::string load = encode_load(2, two_parts()) + floats_of_two_parts();
  const std::string keys = encode_keys_request({1, {2, 3}, 4}), done = encode_done({0.5, true, false});
  const std::string commit = encode_commit({3, {0.5, 1}}), measured = encode_done({.squares = {{}, {}}});
  const std::string gathered = encode_gathered(std::vector<std::string>{"one", "", "three"});
  const std::string found = encode_found_keys(true, {1, 2}, std::vector<uint64_t>{3, 1000});
  const std::string report = encode_row_report({1, 2, 3, 4, 5, 6});
  auto cut = [](const std::string& whole, auto&& decode, const char* name) {
    for (size_t size = 0; size < whole.size(); ++size) {
      expect_refused([&] { decode(whole.substr(0, size)); }, cat(name, " of ", size, " bytes"));
    }
    expect_refused([&] { decode(whole + "x"); }, cat(name, " with a byte more"));
  };
  cut(
      pull, [](const std::string& bytes) { decode_pull(bytes); }, "pull");
  cut(
      push, [](const std::string& bytes) { decode_push(buffer_of(bytes), kWidths); }, "push");
  cut(
      a_counted_push({{1, 1}, {2000, 3}}),
      [](const std::string& bytes) { decode_push(buffer_of(bytes), kWidths); }, "counted push");
  cut(
      load, [](const std::string& bytes) { decode_load(buffer_of(bytes), kWidths); }, "load");
  cut(
      keys, [](const std::string& bytes) { decode_keys_request(bytes); }, "keys");
  cut(
      found, [](const std::string& bytes) { decode_found_keys(bytes); }, "found keys");
  cut(
      done, [](const std::string& bytes) { decode_done(bytes); }, "done");
  cut(
      measured, [](const std::string& bytes) { decode_done(bytes); }, "done with squares");
  cut(
      commit, [](const std::string& bytes) { decode_commit(bytes); }, "commit");
  cut(
      report, [](const std::string& bytes) { decode_row_report(bytes); }, "row report");
  cut(
      gathered, [](const std::string& bytes) { decode_gathered(bytes); }, "gathered");
}

// Whatever the bytes say, nothing is read beyond them, and nothing large is allocated for them.
TEST(Protocol, DamagedMessagesAreRefusedOrMeanSomethingElse) {
  const std::string pull = encode_pull({.step = 7}, 2, two_parts()), push = a_push();
  const std::string counted = a_counted_push({{1, 1}, {2000, 3}});
  Random random(1, 1);
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = i % 2 == 0 ? pull : i % 4 == 1 ? push : counted;
    for (int change = 0; change < 1 + i % 3; ++change) {
      damaged[random.below(damaged.size())] = static_cast<char>(random.next32());
    }
    try {
      i % 2 == 0 ? void(decode_pull(damaged)) : void(decode_push(buffer_of(damaged), kWidths));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kData) << error.message();
    }
  }
}

TEST(Protocol, WhatATrainerTellsComesBack) {
  const PushHeader header{.step = 9, .chunk = "some"};
  const std::string push = encode_push(header, 0, ""), none = encode_push({.chunk = ""}, 0, "");
  EXPECT_EQ(decode_push(buffer_of(push), kWidths).chunk, "some");
  EXPECT_EQ(decode_push(buffer_of(none), kWidths).chunk, "") << "told that there are none";
  EXPECT_EQ(decode_push(buffer_of(encode_push({}, 0, "")), kWidths).chunk, std::nullopt);
  const std::string request = encode_chunk_request(7), answer = encode_chunk_answer({true, 5, 4, 3, "chunk"});
  EXPECT_EQ(decode_chunk_request(request), 7u);
  const StateChunkAnswer decoded = decode_chunk_answer(answer);
  EXPECT_TRUE(decoded.known);
  EXPECT_EQ(decoded.batches, 5u);
  EXPECT_EQ(decoded.sender, 4u);
  EXPECT_EQ(decoded.num_chunks, 3u);
  EXPECT_EQ(decoded.chunk, "chunk");
  for (size_t size = 0; size < answer.size() - decoded.chunk.size(); ++size) {
    expect_refused([&] { decode_chunk_answer(std::string_view(answer).substr(0, size)); },
                   cat(size, " bytes"));
  }
  for (size_t size = 0; size < request.size(); ++size) {
    expect_refused([&] { decode_chunk_request(std::string_view(request).substr(0, size)); }, "a request");
  }
  const size_t size_at = push.find("some") - sizeof(uint64_t);
  std::string longer = push;
  longer[size_at + 7] = '\1';
  expect_refused([&] { decode_push(buffer_of(longer), kWidths); }, "a chunk that is said to be longer");
}

TEST(Protocol, FiguresOfATrainerComeBack) {
  const std::string chunk = encode_figures({7, "sums"});
  EXPECT_TRUE(is_of_kind(chunk, StateChunkKind::kFigures));
  EXPECT_EQ(decode_figures(chunk).rank, 7u);
  EXPECT_EQ(decode_figures(chunk).text, "sums");
  for (size_t size = 0; size < chunk.size() - 4; ++size) {
    EXPECT_THROW(decode_figures(std::string_view(chunk).substr(0, size)), Error) << size;
  }
}

TEST(Protocol, RowReportComesBack) {
  RowReport report{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(decode_row_report(encode_row_report(report)), report);
  report.add({10, 20, 30, 40, 50, 60});
  EXPECT_EQ(report, (RowReport{11, 22, 33, 44, 55, 66}));
}

TEST(Protocol, DoneAndWhatWasGatheredComeBack) {
  Done done = decode_done(encode_done({.learning_rate = 0.25, .dealt = true, .dropped = true}));
  EXPECT_EQ(done.learning_rate, 0.25);
  EXPECT_FALSE(done.pass_ended);
  EXPECT_TRUE(done.dealt);
  EXPECT_TRUE(done.dropped);
  EXPECT_THAT(decode_gathered(encode_gathered(std::vector<std::string>{"a", "", "bc"})),
              ElementsAre("a", "", "bc"));
}

TEST(Protocol, TheWorkOfARankComesBackAndIsRefusedWhenItMakesNoSense) {
  RankWork work;
  work.pass = 1, work.dealings = 2, work.batches_before = 3, work.some_left = true;
  EXPECT_FALSE(decode_work(encode_work(work)).strand);
  work.strand = DataStrand{1, 3, 4, 2};
  const std::string good = encode_work(work);
  const RankWork again = decode_work(good);
  EXPECT_EQ(again.pass, 1u);
  EXPECT_EQ(again.dealings, 2u);
  EXPECT_EQ(again.batches_before, 3u);
  EXPECT_TRUE(again.some_left);
  EXPECT_EQ(again.strand, work.strand);
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_THROW(decode_work(std::span(good).first(size)), Error) << size;
  }
  for (const DataStrand& bad :
       {DataStrand{3, 3, 0, 1}, DataStrand{0, 1, 0, 0}, DataStrand{0, 1, ~uint64_t{0}, 1}}) {
    work.strand = bad;
    EXPECT_THROW(decode_work(encode_work(work)), Error);
  }
}

TEST(Hello, AWelcomeWhoseNumbersNoRunReachesIsRefused) {
  const Json honest = Welcome::spec().to_json(Welcome{});
  EXPECT_NO_THROW(Welcome::spec().parse(honest, "welcome"));
  for (const char* key : {"step", "batches", "pass_batches", "pass", "gathered", "finished"}) {
    Json lie = honest;
    lie["run_status"][key] = uint64_t{1} << 63;
    EXPECT_THROW(Welcome::spec().parse(lie, "welcome"), Error) << key;
  }
}

TEST(Hello, SchemaAndPlaceComeBack) {
  DataSchema schema{{{"features", false, 100}, {"price", true, 3}}};
  EXPECT_EQ(to_json(schema_from_json(to_json(schema))), to_json(schema));
  ShardPlace place{4, 2, 3, -1};
  EXPECT_EQ(place_from_json(to_json(place)), place);
  EXPECT_THROW(place_from_json({{"num_dense", 2}, {"dense", 2}}), Error);
}

TEST(Hello, TheFirstDifferenceIsToldWithItsPath) {
  Json ours = {{"a", 1}, {"b", {{"c", {1, 2}}, {"d", "x"}}}};
  EXPECT_FALSE(first_difference(ours, ours));
  Json theirs = ours;
  theirs["b"]["c"][1] = 3;
  EXPECT_EQ(*first_difference(theirs, ours), "b.c.1 is 3, not 2");
  theirs = ours;
  theirs["b"].erase("d");
  EXPECT_EQ(*first_difference(theirs, ours), "b.d is absent, not \"x\"");
}

// 64 MiB of steps of a byte each would be half a GiB of keys.
TEST(Protocol, AMessageHasOnlySoManyKeysAndParts) {
  const auto pull_of = [](uint32_t num_row_slices, size_t keys_each) {
    std::string body = encode_pull({}, num_row_slices, "");
    for (uint32_t p = 0; p < num_row_slices; ++p) {
      put(body, uint32_t{0});
      put(body, uint8_t{0});
      put(body, static_cast<uint32_t>(keys_each));
      put(body, static_cast<uint32_t>(keys_each));
      body.append(keys_each, '\0');
    }
    return body;
  };
  const auto decode = [](const std::string& body) { return decode_pull({body.data(), body.size()}); };
  EXPECT_EQ(decode(pull_of(2, kMostMessageKeys / 2)).row_slices[1].keys.size(), kMostMessageKeys / 2);
  for (const std::string& body : {pull_of(2, kMostMessageKeys / 2 + 1), pull_of(kMostRowSlices + 1, 0)}) {
    try {
      decode(body);
      FAIL() << "decoded";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kData);
      EXPECT_THAT(error.message(), testing::HasSubstr("expected at most"));
    }
  }
  EXPECT_EQ(decode(pull_of(kMostRowSlices, 0)).row_slices.size(), kMostRowSlices);
}

}  // namespace
}  // namespace ps::protocol_test
