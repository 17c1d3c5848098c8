// Crosses of slots.
#include "data/cross.h"

#include "base/hash.h"
#include "base/text.h"
#include "data_test.h"

namespace ps::cross_test {

using testing::ElementsAre;
using testing::HasSubstr;

class CrossTest : public DataTest {
 protected:
  static DataOptions two_slots() {
    DataOptions options = options_for("multislot");
    options.slots = {{"a"}, {"b"}, {"x", "dense", 1}, {"y", "dense", 1}};
    options.label_slot = "y";
    return options;
  }
};

TEST_F(CrossTest, HasAnIdForEachCombination) {
  DataOptions options = two_slots();
  options.cross = {{"a", "b"}, {"b", "a", "a"}};
  const auto pair = [](Key a, Key b) { return hash_key(hash_key(hash_bytes("a^b")) + a) + b; };
  const auto triple = [](Key b, Key a, Key c) {
    return hash_key(hash_key(hash_key(hash_bytes("b^a^a")) + b) + a) + c;
  };
  EXPECT_THAT(read(options, "2 3 4 2 7 8 1 0.5 1 1\n1 3 0 1 0.5 1 0\n"),
              ElementsAre(cat("1 a:3,4 b:7,8 x:0.5 a^b:", pair(3, 7), ",", pair(3, 8), ",", pair(4, 7), ",",
                              pair(4, 8), " b^a^a:", triple(7, 3, 3), ",", triple(7, 3, 4), ",",
                              triple(7, 4, 3), ",", triple(7, 4, 4), ",", triple(8, 3, 3), ",",
                              triple(8, 3, 4), ",", triple(8, 4, 3), ",", triple(8, 4, 4)),
                          "0 a:3 b: x:0.5 a^b: b^a^a:"));
  EXPECT_EQ(options.schema("multislot").slots.back().name, "b^a^a");
  options.hash_bits = 8;
  EXPECT_EQ(options.schema("multislot").slots.back().dim, 256);
}

TEST_F(CrossTest, MultipliesValues) {
  DataOptions options = options_for("vw");
  options.slots = {{"a"}, {"b"}};
  options.cross = {{"a", "b"}};
  EXPECT_THAT(read(options, "1 |a p:2 |b q:3\n"), ElementsAre(HasSubstr("=6")));
}

TEST_F(CrossTest, RefusesSlotsThatItCannotCross) {
  const auto error_with = [this](std::vector<Cross> crosses) {
    DataOptions options = two_slots();
    options.cross = std::move(crosses);
    return error_of(options, "1 3 1 7 1 0.5 1 1\n");
  };
  EXPECT_THAT(error_with({{"a", "c"}}), HasSubstr("data.cross: there is no slot 'c'"));
  EXPECT_THAT(error_with({{"a", "x"}}), HasSubstr("data.cross: 'x' is dense"));
  EXPECT_THAT(error_with({{"a"}}), HasSubstr("data.cross: 'a' is one slot"));
  EXPECT_THAT(error_with({{"a", "b"}, {"a", "b"}}), HasSubstr("data.cross: there is a slot 'a^b' already"));
}

TEST_F(CrossTest, RefusesMoreCombinationsThanItCanHold) {
  DataOptions options = two_slots();
  options.cross = {{"a", "b"}};
  std::string ids;
  for (int i = 0; i < 1100; ++i) ids += cat(" ", i);
  EXPECT_THAT(error_of(options, cat("1100", ids, " 1100", ids, " 1 0 1 1\n")),
              HasSubstr("an example has more than 1048576 combinations of ids"));
}

}  // namespace ps::cross_test
