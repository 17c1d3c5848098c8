// Slots told from the first lines of multislot text.
#include "data/infer_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/text.h"

namespace ps::infer_slots_test {
namespace {

using testing::HasSubstr;

// "slot1 slot2:3 label*": a dense slot with its dim, the label with a star.
std::string inferred(std::string_view head) {
  try {
    const InferredSlots found = infer_slots(head, "data");
    std::vector<std::string> parts;
    for (const SlotOptions& slot : found.slots) {
      parts.push_back(cat(slot.name, slot.type == "dense" ? cat(":", slot.dim) : "",
                          slot.name == found.label_slot ? "*" : ""));
    }
    return join(parts, " ");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kData);
    return error.message();
  }
}

TEST(InferSlots, TheLastSlotIsTheLabelWhenItMayBe) {
  EXPECT_EQ(inferred("2 7 8 1 9 1 0\n0 1 4 1 1\n"), "slot1 slot2 label*");
  EXPECT_EQ(inferred("1 1 1 0\n"), "slot1 label*");
  EXPECT_EQ(inferred("1 5 1 3\n1 6 1 17\n"), "slot1 label*") << "classes";
}

TEST(InferSlots, TheFirstSlotIsTheLabelWhenTheLastIsNone) {
  EXPECT_EQ(inferred("1 0 2 7 8\n1 1 1 9\n"), "label* slot1");
  EXPECT_EQ(inferred("1 0 1 77 1 8\n1 1 1 9 1 9\n"), "label* slot1 slot2") << "the last has ids";
}

TEST(InferSlots, ValuesThatAreNoIdsMakeASlotDense) {
  EXPECT_EQ(inferred("2 0.5 -1 3 4 5 6 1 1\n2 1 1 0 1 0\n"), "slot1:2 slot2 label*");
  EXPECT_THAT(inferred("2 0.5 -1 1 1\n1 0.5 1 0\n"), HasSubstr("not the same number of values in each line"));
}

TEST(InferSlots, ALineThatIsCutDoesNotCount) {
  EXPECT_EQ(inferred("1 7 1 0\r\n1 8 1 1\n3 9"), "slot1 label*");
  EXPECT_EQ(inferred("\xef\xbb\xbf\n1 7 1 0"), "slot1 label*") << "the only line has no end";
}

TEST(InferSlots, OtherTextIsRefused) {
  for (const char* text : {"", "\n", "5\n", "1 0\n", "1 0 3:1\n", "2 1 1 0\n1\n", "1 a 1 0\n",
                           "1 1 1 0\n1 1 1 0 1 0\n", "99999999999999999999 1\n", "3 1 2\n", "1 1 1 nan\n"}) {
    EXPECT_FALSE(looks_like_multislot(text)) << text;
    EXPECT_THAT(inferred(text), HasSubstr("data: the first lines are not counts")) << text;
  }
  EXPECT_THAT(inferred("2 1 2 2 3 4\n"), HasSubstr("neither the first nor the last slot has one value"));
}

TEST(InferSlots, EveryPrefixIsReadOrRefused) {
  const std::string text = "2 0.5 -1 3 4 5 6 1 1\n2 1 1 0 1 0\n";
  for (size_t size = 0; size <= text.size(); ++size) inferred(text.substr(0, size));
  for (size_t i = 0; i < text.size(); ++i) {
    for (char c : {'\0', '\n', '9', '-', '\x80'}) {
      std::string changed = text;
      changed[i] = c;
      inferred(changed);
    }
  }
}

}  // namespace
}  // namespace ps::infer_slots_test
