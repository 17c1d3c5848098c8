#include "config/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/catalog.h"

namespace ps::spec_test {
namespace {

using testing::HasSubstr;

struct Inner {
  double rate = 0.5;
  static const ObjectSpec<Inner>& spec() {
    static const ObjectSpec<Inner> spec = [] {
      ObjectSpec<Inner> s;
      s.field("rate", &Inner::rate, "step size").above(0).at_most(1);
      return s;
    }();
    return spec;
  }
};

struct Sample {
  std::string name;
  bool on = true;
  int count = 3;
  uint64_t seed = 1;
  std::string mode = "fast";
  Inner inner;
  std::vector<int64_t> sizes;
  std::map<std::string, Inner> named;
  std::optional<double> limit;
  static const ObjectSpec<Sample>& spec() {
    static const ObjectSpec<Sample> spec = [] {
      ObjectSpec<Sample> s;
      s.field("name", &Sample::name, "what it is called").must();
      s.field("on", &Sample::on, "switch");
      s.field("count", &Sample::count, "how many").at_least(1);
      s.field("seed", &Sample::seed, "seed");
      s.field("mode", &Sample::mode, "how").one_of({"fast", "exact"});
      s.field("inner", &Sample::inner, "an object");
      s.field("sizes", &Sample::sizes, "sizes").at_least(0);
      s.field("named", &Sample::named, "objects by name");
      s.field("limit", &Sample::limit, "limit");
      s.check([](const Sample& sample, std::string_view path) {
        if (sample.name == "bad") fail(Code::kUsage, json_path(path, "name"), ": is bad");
      });
      return s;
    }();
    return spec;
  }
};

Sample parse(const std::string& text) {
  return Sample::spec().parse(parse_json(text, "text"), "job");
}

std::string refusal(const std::string& text) {
  try {
    parse(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
    return error.message();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

TEST(Spec, MissingKeysHaveTheDefaultsOfTheStruct) {
  Sample sample = parse(R"({"name": "x"})");
  EXPECT_TRUE(sample.on);
  EXPECT_EQ(sample.count, 3);
  EXPECT_EQ(sample.inner.rate, 0.5);
  EXPECT_EQ(sample.limit, std::nullopt);
}

TEST(Spec, WhatIsWrittenParsesToTheSame) {
  std::string text = R"({"name":"x","on":false,"count":7,"seed":18446744073709551615,"mode":"exact",)"
                     R"("inner":{"rate":0.25},"sizes":[1,2],"named":{"a":{"rate":1.0}},"limit":2.5})";
  EXPECT_EQ(Sample::spec().to_json(parse(text)).dump(), text);
}

TEST(Spec, IntegersMayBeWrittenAsWholeDecimals) {
  EXPECT_EQ(parse(R"({"name": "x", "count": 2e6})").count, 2000000);
  EXPECT_EQ(refusal(R"({"name": "x", "count": 2.5})"), "job.count: found number 2.5, expected an integer");
}

TEST(Spec, EveryRefusalHasItsPath) {
  EXPECT_EQ(refusal("{}"), "job.name: missing (what it is called)");
  EXPECT_EQ(refusal(R"({"name": "x", "cuont": 1})"), "job.cuont: unknown key (did you mean 'count'?)");
  EXPECT_EQ(refusal(R"({"name": 1})"), "job.name: found number 1, expected a string");
  EXPECT_EQ(refusal(R"({"name": "x", "on": 1})"), "job.on: found number 1, expected true or false");
  EXPECT_EQ(refusal(R"({"name": "x", "count": 0})"), "job.count: 0 is too small, expected at least 1");
  EXPECT_THAT(refusal(R"({"name": "x", "count": 3000000000})"),
              HasSubstr("job.count: 3000000000 is out of range"));
  EXPECT_THAT(refusal(R"({"name": "x", "seed": -1})"), HasSubstr("job.seed: -1 is out of range"));
  EXPECT_THAT(refusal(R"({"name": "x", "mode": "fats"})"),
              HasSubstr("job.mode: unknown value 'fats' (did you mean 'fast'?)"));
  EXPECT_THAT(refusal(R"({"name": "x", "inner": {"rate": 0}})"),
              HasSubstr("job.inner.rate: 0 is too small, expected more than 0"));
  EXPECT_THAT(refusal(R"({"name": "x", "inner": []})"),
              HasSubstr("job.inner: found an array, expected an object"));
  EXPECT_THAT(refusal(R"({"name": "x", "sizes": [1, -1]})"), HasSubstr("job.sizes.1: -1 is too small"));
  EXPECT_THAT(refusal(R"({"name": "x", "named": {"a": {"rate": 2}}})"),
              HasSubstr("job.named.a.rate: 2 is too large"));
  EXPECT_EQ(refusal(R"({"name": "bad"})"), "job.name: is bad");
}

TEST(Spec, SchemaSaysWhatTheParserDoes) {
  Json schema = Sample::spec().schema();
  EXPECT_EQ(schema["required"].dump(), R"(["name"])");
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["properties"]["count"].dump(),
            R"({"type":"integer","description":"how many","minimum":1.0,"default":3})");
  EXPECT_EQ(schema["properties"]["mode"]["enum"].dump(), R"(["fast","exact"])");
  EXPECT_EQ(schema["properties"]["inner"]["properties"]["rate"]["exclusiveMinimum"], 0.0);
  // Bounds of a list are those of its elements.
  EXPECT_EQ(schema["properties"]["sizes"]["items"]["minimum"], 0.0);
  EXPECT_FALSE(schema["properties"]["sizes"].contains("minimum"));
}

const AnySpec& inner_spec() {
  return Inner::spec();
}
const CatalogEntry kFirst{"first", "the first", inner_spec};
const CatalogEntry kSecond{"second", "the second", inner_spec};
const CatalogEntry* const kEntries[] = {&kFirst, &kSecond};
constexpr std::span<const CatalogEntry* const> kCatalog = kEntries;

TEST(Catalog, FindsEntriesByTypeAndFillsInDefaults) {
  Json object = {{"type", "second"}};
  const CatalogEntry& entry = find_entry(kCatalog, object, "thing", "thing");
  EXPECT_EQ(&entry, &kSecond);
  EXPECT_EQ(complete_entry(entry, object, "thing").dump(), R"({"type":"second","rate":0.5})");
}

TEST(Catalog, UnknownTypesAreRefusedWithTheNames) {
  auto refuse = [](const Json& object) {
    try {
      find_entry(kCatalog, object, "thing", "toy");
    } catch (const Error& error) {
      return error.message();
    }
    return std::string();
  };
  EXPECT_EQ(refuse({{"type", "frist"}}),
            "thing.type: unknown toy 'frist' (did you mean 'first'?); expected one of first, second");
  EXPECT_EQ(refuse(Json::object()), "thing.type: missing (which toy)");
  EXPECT_EQ(refuse({{"type", 1}}), "thing.type: found number 1, expected a string");
}

TEST(Catalog, SchemaOffersEveryEntry) {
  Json schema = catalog_schema(kCatalog);
  ASSERT_EQ(schema["oneOf"].size(), 2u);
  EXPECT_EQ(schema["oneOf"][1]["properties"]["type"]["const"], "second");
}

}  // namespace
}  // namespace ps::spec_test
