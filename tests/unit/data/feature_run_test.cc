// Plain features are parsed many at a time, others one by one: both must give the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "data/feature_run.h"
#include "support/environment.h"

namespace ps::feature_run_test {

using ::testing::ElementsAre;

namespace {

struct Found {
  std::vector<Key> keys;
  std::vector<float> values;
  bool ones;
  std::string rest;  // where the run stopped
};

Found scan(std::string text, Key base = 0) {
  size_t size = text.size();
  text.append(1, '\n').append(16, '\0');
  const char* p = text.data();
  FeatureRun run;
  scan_run<':', ' ', false>(p, base, run);
  return {{run.keys, run.keys + run.size},
          {run.values, run.values + run.size},
          run.ones,
          std::string(p, text.c_str() + size)};
}

// A number as scan_float reads it.
float careful(std::string text) {
  text.append(1, ' ').append(16, '\0');
  const char* p = text.data();
  float value = -1;
  EXPECT_EQ(scan_float(p, value), Scan::kNumber) << text;
  return value;
}

}  // namespace

TEST(FeatureRun, StopsWhereAFeatureIsNotPlain) {
  for (const char* rest : {"9:1",
                           "9 ",
                           "9",
                           ":1 ",
                           "9::1 ",
                           " 9:1 ",
                           "9:1\t",
                           "#",
                           "x:1 ",
                           "9:x ",
                           "9: ",
                           "9:. ",
                           "9:nan ",
                           "9:1e39 ",
                           "9:1.2.3 ",
                           "9:1:1 ",
                           "1\xff:1 ",
                           "9:1\xff ",
                           "18446744073709551616:1 ",
                           "-9:1 ",
                           "9.0:1 "}) {
    Found found = scan(cat("3:1 12345678:1 ", rest));
    EXPECT_THAT(found.keys, ElementsAre(3, 12345678)) << rest;
    EXPECT_EQ(found.rest, rest);
    EXPECT_TRUE(found.ones);
  }
}

TEST(FeatureRun, TakesIdsOfEveryLength) {
  std::string digits = "18446744073709551615";
  for (size_t size = 1; size <= digits.size(); ++size) {
    std::string id = digits.substr(digits.size() - size);
    Found found = scan(cat(id, ":1 ", id, ":0.5 "), 1);
    Key expected = std::stoull(id) - 1;
    EXPECT_THAT(found.keys, ElementsAre(expected, expected));
    EXPECT_THAT(found.values, ElementsAre(1.0f, 0.5f));
    EXPECT_EQ(found.rest, "");
  }
}

TEST(FeatureRun, RoundsValuesAsTheCarefulScannerDoes) {
  Random random(5, 6);
  for (int64_t i = tries(200000); i > 0; --i) {
    std::string text = std::to_string(random.next64());
    text.resize(1 + random.below(12));
    if (random.below(4) > 0) text.insert(random.below(text.size() + 1), 1, '.');
    if (random.below(8) == 0) text.insert(0, 1, '-');
    Found found = scan(cat("7:", text, " "));
    ASSERT_EQ(found.rest, "") << text;
    ASSERT_EQ(found.values[0], careful(text)) << text;
    ASSERT_EQ(found.ones, found.values[0] == 1.0f) << text;
  }
}

TEST(FeatureRun, OfOnesTakesNoOtherWayToWriteThem) {
  for (const char* rest : {"7 1.0,", "7 01,", "7 1e0,", "7 2,", "7 1", "7 11,", "12345678901 1.0,"}) {
    std::string text = cat("3 1,12345678 1,12345678901 1,", rest, "\n") + std::string(16, '\0');
    const char* p = text.data();
    FeatureRun run;
    scan_run<' ', ',', true>(p, 0, run);
    EXPECT_THAT(std::vector<Key>(run.keys, run.keys + run.size), ElementsAre(3, 12345678, 12345678901))
        << rest;
    EXPECT_TRUE(run.ones);
    EXPECT_EQ(std::string(p).substr(0, std::string(rest).size()), rest);
  }
}

// "7:x " is not plain; ids count on from it.
TEST(FeatureRun, FromTwoPlacesStopsWhereOneRunWould) {
  constexpr int kFeatures = 20;
  for (int odd = 0; odd <= kFeatures; ++odd) {
    std::string text;
    std::vector<size_t> begins;
    for (int i = 0; i < kFeatures; ++i) {
      begins.push_back(text.size());
      text += i == odd ? "7:x " : cat(i, ":", i % 3 ? 1 : 2, " ");
    }
    text.append(1, '\n').append(16, '\0');
    const char* p = text.data();
    FeatureRun first, second;
    scan_two_runs<':', ' ', false>(p, text.data() + begins[kFeatures / 2], 0, first, second);
    std::vector<Key> found(first.keys, first.keys + first.size), expected(static_cast<size_t>(odd));
    found.insert(found.end(), second.keys, second.keys + second.size);
    for (size_t i = 0; i < expected.size(); ++i) expected[i] = i;
    EXPECT_EQ(found, expected);
    begins.push_back(text.find('\n'));
    EXPECT_EQ(p, text.data() + begins[static_cast<size_t>(odd)]);
  }
}

TEST(FeatureRun, TakesAsManyIdsAsAreAskedFor) {
  auto ids = [](std::string text, uint64_t most) {
    text.append(1, '\n').append(16, '\0');
    const char* p = text.data();
    FeatureRun run;
    scan_ids<' '>(p, most, run);
    return std::vector<Key>(run.keys, run.keys + run.size);
  };
  EXPECT_THAT(ids("5 12345678 18446744073709551615 7 ", 3), ElementsAre(5, 12345678, UINT64_MAX));
  EXPECT_THAT(ids("5 6", 3), ElementsAre(5));
  for (const char* rest : {"", " 7 ", "x ", "7: ", "1\xff ", "18446744073709551616 "})
    EXPECT_THAT(ids(cat("5 6 ", rest), 9), ElementsAre(5, 6)) << rest;
}

TEST(FeatureRun, StopsWhenItIsFull) {
  std::string text;
  for (size_t i = 0; i < FeatureRun::kMost + 1; ++i) text += cat(i, ":1 ");
  EXPECT_EQ(scan(text).keys.size(), FeatureRun::kMost);
  EXPECT_EQ(scan(text).rest, cat(FeatureRun::kMost, ":1 "));
}

}  // namespace ps::feature_run_test
