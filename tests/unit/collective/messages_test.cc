// The messages of ranks: each is read back, damaged ones are refused, and ps-wire(5) shows them as they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "collective/net/messages.h"
#include "support/wire_page.h"

namespace ps::messages_test {
namespace {

const RankHello kHello = {.rank = 2, .size = 3, .fingerprint = 7, .listens = {"", 41234}, .job = "mnist"};

Roster roster() {
  Roster roster;
  roster.session = 5;
  roster.addresses = {{"a", 1}, {"10.0.0.7", 7164}, {"::1", 65535}};
  return roster;
}

TEST(RankMessages, AreReadBack) {
  EXPECT_EQ(decode_rank_hello(encode_rank_hello(kHello)), kHello);
  EXPECT_EQ(decode_roster(encode_roster(roster())), roster());
  EXPECT_EQ(decode_present(encode_present({4, 0, 9})), (std::vector<int>{4, 0, 9}));
  const CollectiveCall call{Collective::kAllReduce, 5, 4000000000u};
  for (MessageMark mark : {MessageMark::kNone, MessageMark::kContribution, MessageMark::kSum}) {
    EXPECT_EQ(decode_call(encode_call(call, mark)), call) << "a mark is no part of the call";
    EXPECT_EQ(decode_mark(encode_call(call, mark)), mark);
  }
  EXPECT_EQ(encode_call(call, MessageMark::kSum), 0xee6b280000020501u)
      << "bytes as on the page, the first lowest";
}

// Every prefix is refused; a flipped byte is refused or is another message.
template <class Message, class Decode>
void expect_damage_is_found(const std::string& body, const Message& message, Decode decode) {
  for (size_t size = 0; size < body.size(); ++size) {
    EXPECT_THROW(decode(body.substr(0, size)), Error) << size;
  }
  EXPECT_THROW(decode(body + '\0'), Error);
  for (size_t i = 0; i < body.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = body;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      try {
        EXPECT_NE(decode(damaged), message) << i;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kUsage);
      }
    }
  }
}

TEST(RankMessages, DamageIsFound) {
  expect_damage_is_found(encode_rank_hello(kHello), kHello, decode_rank_hello);
  expect_damage_is_found(encode_roster(roster()), roster(), decode_roster);
  expect_damage_is_found(encode_present({4, 0, 9}), std::vector<int>{4, 0, 9}, decode_present);
}

TEST(RankMessages, ListsThatClaimMoreThanThereIsAllocateNothing) {
  std::string body(8, '\0');
  body += "\xff\xff\xff\xff";
  EXPECT_THROW(decode_roster(body), Error);
  EXPECT_THROW(decode_present(body.substr(8)), Error);
}

TEST(RankMessages, TheHelloIsAsThePageSays) {
  const FrameHeader header{.type = static_cast<uint16_t>(RankFrame::kHello)};
  const std::string frame = frame_bytes(header, Payload(encode_rank_hello(kHello)));
  EXPECT_EQ(page_example(read_file(PS_WIRE_PAGE), "rank_hello"), hex_lines(frame));
}

}  // namespace
}  // namespace ps::messages_test
