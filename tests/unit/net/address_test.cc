#include <gtest/gtest.h>

#include "net/transport.h"

namespace ps {
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
  for (const char* text : {"", "host", ":1", "host:", "host:65536", "host:-1", "host:a", "::1", "::1:80",
                           "[::1:80", "[::1]80", "[]:80"}) {
    EXPECT_THROW(parse_address(text), Error) << text;
  }
}

}  // namespace
}  // namespace ps
