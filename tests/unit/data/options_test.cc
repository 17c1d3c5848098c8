// The "data" section of the job file.
#include "data/options.h"

#include "config/spec.h"
#include "data/format.h"
#include "data_test.h"

namespace ps::options_test {

class Options : public DataTest {
 protected:
  static DataOptions parse(std::string_view text) {
    return DataOptions::spec().parse(parse_json(text, "job"), "data");
  }
};

TEST_F(Options, SayWhatIsWrongWithThem) {
  auto error = [&](std::string_view text) { return error_from([&] { parse(text); }); };
  EXPECT_EQ(error(R"({"format": "libsvn"})").substr(0, 16), "2: data.format: ");
  EXPECT_EQ(error(R"({"slots": [{"name": "a"}, {"name": "a"}]})"), "2: data.slots: two slots are named 'a'");
  EXPECT_EQ(error(R"({"slots": [{"name": "a", "type": "dense"}]})"),
            "2: data.slots.0.dim: missing (how many values dense slot 'a' has)");
  EXPECT_EQ(error(R"({"slots": [{"name": "click"}], "label_slot": "clicks"})"),
            "2: data.label_slot: no slot is named 'clicks' (did you mean 'click'?)");
  EXPECT_EQ(error(R"({"dense": true})"), "2: data.dim: 0, expected 1 to 16777216 with dense");
  EXPECT_EQ(error(R"({"dense": true, "dim": 5, "hash_bits": 3})"),
            "2: data.hash_bits: dense values have no ids to hash");
  EXPECT_EQ(error(R"({"memory_limit": "lots"})"),
            "2: data.memory_limit: 'lots' is not a size (as in 512M or 2G)");
}

TEST_F(Options, GiveTheSchemaOfEveryFormat) {
  EXPECT_EQ(parse(R"({"dim": 7})").schema("libsvm").slots[0].dim, 7);
  EXPECT_EQ(parse(R"({"dim": 7, "hash_bits": 5})").schema("libsvm").slots[0].dim, 32);
  EXPECT_EQ(parse(R"({"hash_bits": 5})").schema("criteo").slots.size(), 27u);
  EXPECT_EQ(parse(R"({"hash_bits": 5})").schema("criteo").slots[0].dim, 13);
  EXPECT_EQ(parse(R"({"text": {"vocabulary_size": 50}})").schema("text").slots[0].dim, 50);
  DataSchema schema = parse(R"({"slots": [{"name": "a"}, {"name": "y"}, {"name": "b"}], "label_slot": "y"})")
                          .schema("multislot");
  ASSERT_EQ(schema.slots.size(), 2u);
  EXPECT_EQ(schema.find("b"), 1);
  EXPECT_EQ(schema.find("y"), -1);
}

TEST_F(Options, ComeBackFromTheirJson) {
  DataOptions options =
      parse(R"({"dim": 9, "text": {"context": 2}, "slots": [{"name": "a"}], "shuffle": "full"})");
  Json json = DataOptions::spec().to_json(options);
  EXPECT_EQ(DataOptions::spec().to_json(DataOptions::spec().parse(json, "data")), json);
}

TEST_F(Options, NameEveryFormatAndSuggestOne) {
  EXPECT_EQ(error_from([] { find_format("libsvn"); }).substr(0, 55),
            "2: unknown format 'libsvn' (did you mean 'libsvm'?); ex");
  for (const FormatEntry* format : format_catalog())
    EXPECT_EQ(&find_format(std::string(format->name)), format);
}

}  // namespace ps::options_test
