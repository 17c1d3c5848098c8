#include "config/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace ps::json_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

template <class Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
    return error.message();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

std::string parse_refusal(const std::string& text) {
  return refusal([&] { parse_json(text, "job.json"); });
}

TEST(Json, KeepsTheOrderOfKeys) {
  EXPECT_EQ(parse_json(R"({"b": 1, "a": [2]})", "x").dump(), R"({"b":1,"a":[2]})");
}

TEST(Json, SyntaxErrorsHaveAPlace) {
  EXPECT_THAT(parse_refusal("{\n  \"a\": 1,\n  b\n}"), StartsWith("job.json:3:3: "));
  EXPECT_THAT(parse_refusal(""), StartsWith("job.json:1:1: "));
  EXPECT_THAT(parse_refusal("{} {}"), StartsWith("job.json:1:4: "));
}

TEST(Json, CommentsAreLeftOutWhereTheyMayBe) {
  const std::string text = "// first\n{\"a\": /* second,\n\"b\": 2 */ 1 // last\n}";
  EXPECT_EQ(parse_json(text, "x", JsonComments::kIgnored).dump(), R"({"a":1})");
  EXPECT_THAT(parse_refusal(text), StartsWith("job.json:1:1: "));
  EXPECT_EQ(parse_json(R"({"a": "// text /* of */ its own"})", "x", JsonComments::kIgnored)["a"],
            "// text /* of */ its own");
}

TEST(Json, ErrorsBehindCommentsKeepTheirPlace) {
  auto error = [](const std::string& text) {
    return refusal([&] { parse_json(text, "job.json", JsonComments::kIgnored); });
  };
  EXPECT_THAT(error("// one\n/* two\n */ {\n  \"a\": 1, // three\n  b\n}"), StartsWith("job.json:5:3: "));
  EXPECT_THAT(error("{\"a\": 1} /* no end"), StartsWith("job.json:1:19: "));
  EXPECT_THAT(error("{\"a\": 1, /* x */ \"a\": 2}"), HasSubstr("duplicate key 'a'"));
  EXPECT_THAT(error("# shell\n{}"), StartsWith("job.json:1:1: "));
}

TEST(Json, DuplicateKeysAreRefusedInEveryObject) {
  EXPECT_THAT(parse_refusal(R"({"a": {"x": 1}, "b": {"x": 1, "x": 2}})"), HasSubstr("duplicate key 'x'"));
  EXPECT_EQ(parse_json(R"({"a": [{"x": 1}, {"x": 2}], "x": 3})", "x").size(), 2u);
}

TEST(Json, NumbersTooLargeAreRefused) {
  EXPECT_THAT(parse_refusal("{\"a\": 1e999}"), HasSubstr("job.json: "));
}

TEST(Json, DeepNestingIsRefusedBeforeItCanExhaustTheStack) {
  EXPECT_THAT(parse_refusal(std::string(1000000, '[')), HasSubstr("nested"));
  std::string fine = std::string(50, '[') + std::string(50, ']');
  EXPECT_EQ(parse_json(fine, "x").dump(), fine);
}

TEST(Json, SetMakesObjectsAndReplacesValues) {
  Json document = parse_json(R"({"model": {"layers": [{"size": 1}]}})", "x");
  json_set(document, "model.layers.0.size", "256");
  json_set(document, "optimizer.type", "adam");
  json_set(document, "data.files", R"(["a", "b"])");
  EXPECT_EQ(document.dump(),
            R"({"model":{"layers":[{"size":256}]},"optimizer":{"type":"adam"},"data":{"files":["a","b"]}})");
}

TEST(Json, SetRefusesPathsThatLeadNowhere) {
  Json document = parse_json(R"({"a": [1], "b": 2})", "x");
  EXPECT_THAT(refusal([&] { json_set(document, "a.1", "3"); }), HasSubstr("no element '1'"));
  EXPECT_THAT(refusal([&] { json_set(document, "a.x", "3"); }), HasSubstr("no element 'x'"));
  EXPECT_THAT(refusal([&] { json_set(document, "b.c", "3"); }), HasSubstr("'c' is inside number 2"));
  EXPECT_THAT(refusal([&] { json_set(document, "c..d", "3"); }), HasSubstr("empty key"));
}

}  // namespace
}  // namespace ps::json_test
