// Vowpal Wabbit's text.
#include "base/hash.h"
#include "base/text.h"
#include "data/format.h"
#include "data_test.h"

namespace ps::vw_test {

using testing::ElementsAre;
using testing::HasSubstr;

class Vw : public DataTest {
 protected:
  static std::string id(std::string_view space, std::string_view name) {
    return std::to_string(hash_bytes(name, hash_bytes(space)));
  }

  static DataOptions with_slots() {
    DataOptions options = options_for("vw");
    options.slots = {{"user"}, {"item"}};
    return options;
  }
};

TEST_F(Vw, NamespacesAreSlotsAndScalesMultiplyValues) {
  EXPECT_THAT(read(with_slots(),
                   "1 |item shoes price:0.5 |user:2 age:30 berlin\n"
                   "-1 |user\n"),
              ElementsAre(cat("1 user:", id("user", "age"), "=60,", id("user", "berlin"),
                              "=2 item:", id("item", "shoes"), "=1,", id("item", "price"), "=0.5"),
                          "-1 user: item:"));
}

TEST_F(Vw, WithoutSlotsAllNamespacesShareOne) {
  EXPECT_THAT(read(options_for("vw"), "0.5 |a x |b x | y\n"),
              ElementsAre(cat("0.5 features:", id("a", "x"), ",", id("b", "x"), ",", id("", "y"))));
}

TEST_F(Vw, NamespaceThatComesAgainGoesOn) {
  EXPECT_THAT(read(with_slots(), "1 |user x |item y |user z\n"),
              ElementsAre(cat("1 user:", id("user", "x"), ",", id("user", "z"), " item:", id("item", "y"))));
}

TEST_F(Vw, HeaderHasWeightBaseAndTag) {
  const std::string feature = " features:" + id("f", "x");
  EXPECT_THAT(read(options_for("vw"),
                   "1 2|f x\n1 2 |f x\n1 2 0.25 |f x\n-1 3 tag|f x\n1 'tag |f x\n1\t0.5\ttag|f\tx\r\n"),
              ElementsAre("1*1" + feature, "1*2" + feature, "1*2" + feature, "-1*3" + feature,
                          "1*1" + feature, "1*0.5" + feature));
}

TEST_F(Vw, IdsAreBelowTheDimOfTheirSlot) {
  DataOptions options = options_for("vw", 100);
  const uint64_t key = hash_bytes("x", hash_bytes("f")) % 100;
  EXPECT_THAT(read(options, "1 |f x\n"), ElementsAre(cat("1 features:", key)));
}

TEST_F(Vw, LinesWithoutLabelsAreForPredictions) {
  EXPECT_THAT(error_of(options_for("vw"), "|f x\n"),
              HasSubstr("data:1: column 1: no label before the first '|'"));
  EXPECT_THAT(error_of(options_for("vw"), "1|f x\n"), HasSubstr("no label"));
  DataOptions options = options_for("vw");
  options.label_use = LabelUse::kIgnored;
  EXPECT_THAT(
      read(options, "|f x\ntag|f x\n1 |f x\n"),
      ElementsAre("0 features:" + id("f", "x"), "0 features:" + id("f", "x"), "1 features:" + id("f", "x")));
  options.label_use = LabelUse::kKept;
  options.labels = false;
  EXPECT_THAT(read(options, "|f x\n"), ElementsAre("0 features:" + id("f", "x")));
}

TEST_F(Vw, FaultsAreNamedWithLineAndColumn) {
  auto fault = [&](const std::string& line) { return error_of(with_slots(), "1 |user x\n" + line + "\n"); };
  EXPECT_THAT(fault("one |user x"), HasSubstr("data:2: column 1: label 'one' is not a number"));
  EXPECT_THAT(fault("1 x |user x"), HasSubstr("data:2: column 3: weight 'x' is not a number"));
  EXPECT_THAT(fault("1 2 3 4 |user x"), HasSubstr("data:2: column 7: expected '|', found '4'"));
  EXPECT_THAT(fault("1 'tag 5 |user x"), HasSubstr("data:2: column 8: expected '|', found '5'"));
  EXPECT_THAT(fault("1 -2 |user x"), HasSubstr("weight -2 is negative"));
  EXPECT_THAT(fault("1 |user x:y"), HasSubstr("data:2: column 11: value 'y' is not a number"));
  EXPECT_THAT(fault("1 |user x:1:2"), HasSubstr("column 11: value '1:2' is not a number"));
  EXPECT_THAT(fault("1 |user x:"), HasSubstr("value '' is not a number"));
  EXPECT_THAT(fault("1 |user x:inf"), HasSubstr("value 'inf' is not"));
  EXPECT_THAT(fault("1 |user:1e30 x:1e30"), HasSubstr("column 14: the value times its scale is not finite"));
  EXPECT_THAT(fault("1 |users x"),
              HasSubstr("data:2: column 4: namespace 'users' is none of data.slots: user, item"));
  EXPECT_THAT(fault("1 | x"), HasSubstr("namespace '' is none of data.slots"));
  DataOptions dense = with_slots();
  dense.slots[0] = {"user", "dense", 3};
  EXPECT_THAT(error_of(dense, "1 |user x\n"), HasSubstr("namespaces of format 'vw' are sparse"));
}

TEST_F(Vw, IsRecognised) {
  for (const char* line : {"1 |f x:1", "-1 2 tag|f x", "1 'tag | x", "|f x", " 0.5 1 0 |a b |c d"}) {
    EXPECT_EQ(recognize_format(options_for("auto"), cat(line, "\n"), "data").name, "vw") << line;
  }
  EXPECT_EQ(recognize_format(options_for("auto"), "1 2:3 # |x\n", "data").name, "libsvm");
  EXPECT_THAT(error_from([&] { recognize_format(options_for("auto"), "words | of a text\n", "data"); }),
              HasSubstr("cannot tell the format"));
}

}  // namespace ps::vw_test
