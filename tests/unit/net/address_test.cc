#include <gtest/gtest.h>

#include "net/host.h"
#include "net/transport.h"

namespace ps::address_test {
namespace {

TEST(ParseAddress, NamesNumbersAndBrackets) {
  EXPECT_EQ(parse_address("host:7164"), (Address{"host", 7164}));
  EXPECT_EQ(parse_address("10.0.0.1:0"), (Address{"10.0.0.1", 0}));
  EXPECT_EQ(parse_address("[::1]:7164"), (Address{"::1", 7164}));
  EXPECT_EQ(parse_address("host", 7164), (Address{"host", 7164}));
  EXPECT_EQ(parse_address("[fe80::1%eth0]", 1), (Address{"fe80::1%eth0", 1}));
}

TEST(ParseAddress, ComesBackFromItsText) {
  for (const char* text : {"host:7164", "[::1]:1"}) EXPECT_EQ(to_text(parse_address(text)), text);
}

TEST(ParseAddress, WhatIsNoneIsRefused) {
  for (const char* text :
       {"", "host", ":1", "host:", "host:65536", "host:-1", "host:a", "::1", "::1:80", "[::1:80", "[::1]80",
        "[]:80", "[::g]:80", "[10.0.0.1]:80", "[host]:80", "[1:2:3]:80", "[%eth0]:80", "[[::1]]:80"}) {
    EXPECT_THROW(parse_address(text), Error) << text;
  }
}

TEST(ParseHost, MayHaveBracketsAroundAnIpv6Number) {
  for (const char* text : {"", "host", "10.0.0.1", "localhost", "::", "::1", "fe80::1%eth0"}) {
    EXPECT_EQ(parse_host(text), text);
  }
  EXPECT_EQ(parse_host("[::1]"), "::1");
  EXPECT_EQ(parse_host("[fe80::1%eth0]"), "fe80::1%eth0");
  for (const char* text :
       {"[::1", "::1]", "[]", "[host]", "[10.0.0.1]", "::g", "1:2:3", "host:80", "[::1]:80", "[[::1]]"}) {
    EXPECT_THROW(parse_host(text), Error) << text;
  }
}

TEST(IsLoopbackPeer, IsTrueOfThisMachineAlone) {
  for (const char* peer : {"127.0.0.1:4711", "127.3.2.1:1", "[::1]:4711", "[::ffff:127.0.0.1]:4711"}) {
    EXPECT_TRUE(is_loopback_peer(peer)) << peer;
  }
  for (const char* peer : {"10.0.0.1:127", "[fd00::1]:1", "[::ffff:10.0.0.1]:1", "[127::1]:1",
                           "a peer that has gone", "", ":", "[]:1", "[:1", "128.0.0.1:1"}) {
    EXPECT_FALSE(is_loopback_peer(peer)) << peer;
  }
}

}  // namespace
}  // namespace ps::address_test
