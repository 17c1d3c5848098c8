#include "net/frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace ps::frame_test {
namespace {

using HeaderBytes = std::array<char, kFrameHeaderBytes>;

FrameHeader sample() {
  return {.type = 77,
          .flags = kFlagAnswer,
          .deadline_ms = 15000,
          .request_id = 0x0123456789abcdef,
          .body_bytes = 4096,
          .body_checksum = 0xfedcba9876543210};
}

HeaderBytes encoded(const FrameHeader& header) {
  HeaderBytes bytes;
  encode_header(header, bytes);
  return bytes;
}

TEST(Frame, AHeaderComesBackAsItWas) {
  FrameHeader header;
  ASSERT_EQ(decode_header(encoded(sample()), header), HeaderFault::kNone);
  EXPECT_EQ(header.type, 77);
  EXPECT_TRUE(header.is_answer());
  EXPECT_FALSE(header.is_error());
  EXPECT_EQ(header.deadline_ms, 15000u);
  EXPECT_EQ(header.request_id, 0x0123456789abcdefu);
  EXPECT_EQ(header.body_bytes, 4096u);
  EXPECT_EQ(header.body_checksum, 0xfedcba9876543210u);
}

TEST(Frame, TheBytesOfAHeaderAreFrozen) {
  HeaderBytes bytes = encoded({.type = 16, .request_id = 1});
  EXPECT_EQ(std::string(bytes.data(), 12), std::string("PSK1\1\0\x10\0\0\0\0\0", 12));
  EXPECT_EQ(bytes[16], 1);
  uint64_t checksum;
  std::memcpy(&checksum, bytes.data() + 40, sizeof checksum);
  EXPECT_EQ(checksum, 0x3c9b969f0be84b02u);
}

TEST(Frame, EveryFlippedBitOfAHeaderIsRefused) {
  HeaderBytes good = encoded(sample());
  for (size_t bit = 0; bit < 8 * kFrameHeaderBytes; ++bit) {
    HeaderBytes bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    FrameHeader header;
    HeaderFault fault = decode_header(bad, header);
    EXPECT_EQ(fault, bit < 32 ? HeaderFault::kMagic : HeaderFault::kChecksum) << "bit " << bit;
  }
}

TEST(Frame, AHeaderOfAnotherVersionIsToldFromADamagedOne) {
  FrameHeader newer = sample(), header;
  newer.version = kFrameVersion + 1;
  EXPECT_EQ(decode_header(encoded(newer), header), HeaderFault::kVersion);
  EXPECT_EQ(header.version, kFrameVersion + 1);
  EXPECT_EQ(header.request_id, newer.request_id);
}

TEST(Frame, UnknownFlagsAndAbsurdLengthsAreRefused) {
  FrameHeader bad = sample(), header;
  bad.flags = 1u << 31;
  EXPECT_EQ(decode_header(encoded(bad), header), HeaderFault::kFlags);
  bad = sample();
  bad.body_bytes = kMaxBodyBytes + 1;
  EXPECT_EQ(decode_header(encoded(bad), header), HeaderFault::kLength);
}

TEST(Frame, OnlyAnswersThatAreNoErrorsComeInPieces) {
  for (uint32_t flags = 0; flags <= kKnownFlags; ++flags) {
    FrameHeader some = sample(), header;
    some.flags = flags;
    const bool legal = (flags & kFlagPiece) == 0 || flags == (kFlagPiece | kFlagAnswer);
    EXPECT_EQ(decode_header(encoded(some), header) == HeaderFault::kNone, legal) << "flags " << flags;
  }
}

TEST(Frame, AStrangerIsKnownByItsFirstBytes) {
  EXPECT_TRUE(begins_header({}));
  EXPECT_TRUE(begins_header(std::string_view("PS")));
  EXPECT_TRUE(begins_header(encoded(sample())));
  EXPECT_FALSE(begins_header(std::string_view("G")));
  EXPECT_FALSE(begins_header(std::string_view("PSG")));
}

TEST(Frame, TheChecksumOfAPayloadDoesNotKnowItsParts) {
  std::string text(10000, 'x');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7);
  uint64_t whole = Payload(text).checksum();
  for (size_t cut : {size_t{0}, size_t{1}, size_t{300}, text.size()}) {
    BufferPool pool;
    Payload payload;
    payload.head = pool.take(cut);
    std::copy_n(text.data(), cut, payload.head.data());
    std::string_view rest = std::string_view(text).substr(cut);
    payload.parts = {rest.substr(0, rest.size() / 2), rest.substr(rest.size() / 2)};
    EXPECT_EQ(payload.size(), text.size());
    EXPECT_EQ(payload.checksum(), whole) << "cut at " << cut;
  }
}

TEST(Frame, AnErrorComesBackAsItWas) {
  Error error = decode_error(encode_error(Error(Code::kFenced, "another server owns this")));
  EXPECT_EQ(error.code(), Code::kFenced);
  EXPECT_EQ(error.message(), "another server owns this");
}

TEST(Frame, WhatIsNoErrorIsAnErrorToo) {
  EXPECT_EQ(decode_error({}).code(), Code::kInternal);
  EXPECT_EQ(decode_error(std::string_view("\1\0\0", 3)).code(), Code::kInternal);
  EXPECT_EQ(decode_error(std::string_view("\0\0\0\0x", 5)).code(), Code::kInternal);
  EXPECT_EQ(decode_error(std::string_view("\x7f\0\0\0x", 5)).code(), Code::kInternal);
  EXPECT_EQ(encode_error(Error(Code::kData, std::string(100000, 'x'))).size(), kMaxErrorBytes);
}

}  // namespace
}  // namespace ps::frame_test
