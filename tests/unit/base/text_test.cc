#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "base/count_text.h"
#include "base/printable.h"
#include "base/random.h"

namespace ps::text_test {
namespace {

using testing::ElementsAre;

TEST(Text, NumbersJoinAsTheShortestDecimalsThatReadBack) {
  EXPECT_EQ(cat("x=", 0.1, " ", 0.1f, " ", 3, " ", uint64_t{1} << 63, " ", true, '!'),
            "x=0.1 0.1 3 9223372036854775808 true!");
  Random random(1, 0);
  for (int i = 0; i < 10000; ++i) {
    double value = std::bit_cast<double>(random.next64());
    if (!std::isfinite(value)) continue;
    EXPECT_EQ(parse_double(cat(value)), value);
  }
}

TEST(Text, QuoteShowsBytesThatDoNotPrintAndCutsLongText) {
  EXPECT_EQ(quote("a\tb\x7f\n"), "'a\\x09b\\x7f\\x0a'");
  EXPECT_EQ(quote(std::string(100, 'x')), "'" + std::string(80, 'x') + "...'");
  EXPECT_EQ(quote("grün"), "'grün'");
}

TEST(Text, NumbersParseWholeOrNotAtAll) {
  EXPECT_EQ(parse_int("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(parse_uint("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_double("+1.5e3"), 1500.0);
  for (const char* text :
       {"", " 1", "1 ", "1x", "0x1", "+-1", "++1", "--1", "1,5", "nan", "-inf", "infinity", "1e309"}) {
    EXPECT_EQ(parse_double(text), std::nullopt) << text;
  }
  for (const char* text : {"", "-1", "+1", "18446744073709551616", "1.0"})
    EXPECT_EQ(parse_uint(text), std::nullopt) << text;
  for (const char* text : {"", "9223372036854775808", "1e3"})
    EXPECT_EQ(parse_int(text), std::nullopt) << text;
}

TEST(Text, CountsAreWholeAndDecimal) {
  EXPECT_EQ(parse_count("1M"), 1000000);
  EXPECT_EQ(parse_count("2.5k"), 2500);
  EXPECT_EQ(parse_count("1e6"), 1000000);
  EXPECT_EQ(parse_count("-3"), -3);
  EXPECT_EQ(parse_count("9223372036854775807"), INT64_MAX);
  for (const char* text : {"", "M", "1.5", "1.0001k", "1e300", "1Mi", "nan", "k1"})
    EXPECT_EQ(parse_count(text), std::nullopt) << text;
}

TEST(Text, ControlCharactersDoNotReachATerminal) {
  EXPECT_EQ(printable("a\tb\nc"), "a\tb\nc");
  EXPECT_EQ(printable("\x1b[31mred\x7f\r"), "\\x1b[31mred\\x7f\\x0d");
  EXPECT_EQ(printable("caf\xc3\xa9 \xc2\x9b"), "caf\xc3\xa9 \\xc2\\x9b");
  EXPECT_EQ(printable(std::string("\0", 1)), "\\x00");
}

TEST(Text, BytesAreExactAndBinary) {
  EXPECT_EQ(parse_bytes("0"), 0u);
  EXPECT_EQ(parse_bytes("64K"), 65536u);
  EXPECT_EQ(parse_bytes("1.5M"), 1536u << 10);
  EXPECT_EQ(parse_bytes("2GiB"), 2ull << 30);
  EXPECT_EQ(parse_bytes("9007199254740993"), 9007199254740993u);
  for (const char* text : {"", "K", "-1", "1Q", "1 K", "1e3", "1.2.3", "99999999T"}) {
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
  }
}

TEST(Text, SecondsHaveUnits) {
  EXPECT_EQ(parse_seconds("250ms"), 0.25);
  EXPECT_DOUBLE_EQ(parse_seconds("50us").value(), 50e-6);
  EXPECT_EQ(parse_seconds("5m"), 300.0);
  EXPECT_EQ(parse_seconds("1.5h"), 5400.0);
  EXPECT_EQ(parse_seconds("7"), 7.0);
  for (const char* text : {"", "s", "-1s", "1d", "1 s"}) EXPECT_EQ(parse_seconds(text), std::nullopt) << text;
}

TEST(Text, PeopleReadBytes) {
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(3ull << 29), "1.5 GiB");
  EXPECT_EQ(human_bytes((1u << 20) - 1), "1.0 MiB");  // not "1024 KiB"
  EXPECT_EQ(human_bytes(UINT64_MAX), "16.0 EiB");
}

TEST(Text, SplitAndJoinAreInverse) {
  EXPECT_THAT(split("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_EQ(join(std::vector<std::string>{"a", "", "b", ""}, ","), "a,,b,");
}

TEST(Text, NearestFindsSlipsButNoStrangers) {
  std::vector<std::string> names = {"adam", "adagrad", "sgd", "l1", "l2"};
  EXPECT_EQ(nearest("adm", names), "adam");
  EXPECT_EQ(nearest("adgrad", names), "adagrad");
  EXPECT_EQ(nearest("l3", names), "l1");
  EXPECT_EQ(nearest("momentum", names), "");
  EXPECT_EQ(nearest("x", names), "");
  EXPECT_EQ(did_you_mean("sdg", names), " (did you mean 'sgd'?)");
  EXPECT_EQ(did_you_mean("zzzzzz", names), "");
}

}  // namespace
}  // namespace ps::text_test
