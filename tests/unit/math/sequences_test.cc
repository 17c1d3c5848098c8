// Packed sequences: every row once, in the order of steps, the rows that go on before those that end.
#include "math/sequences.h"

#include <gmock/gmock.h>

#include "base/random.h"
#include "random_arrays.h"

namespace ps::sequences_test {
namespace {

using testing::ElementsAre;

TEST(PackedSequences, AreOrderedByStepAndThenByFallingLength) {
  const std::vector<uint32_t> offsets = {0, 1, 1, 4, 6, 9};  // of lengths 1, 0, 3, 2 and 3
  PackedSequences packed;
  pack_sequences(offsets, /*reversed=*/false, packed);
  EXPECT_THAT(packed.starts, ElementsAre(0, 4, 7, 9));
  EXPECT_THAT(packed.rows, ElementsAre(1, 6, 4, 0, 2, 7, 5, 3, 8));
  EXPECT_THAT(packed.ends, ElementsAre(3, -1, 7, 6, 8));
  pack_sequences(offsets, /*reversed=*/true, packed);
  EXPECT_THAT(packed.starts, ElementsAre(0, 4, 7, 9));
  EXPECT_THAT(packed.rows, ElementsAre(3, 8, 5, 0, 2, 7, 4, 1, 6));
  EXPECT_THAT(packed.ends, ElementsAre(3, -1, 7, 6, 8));
}

TEST(PackedSequences, HaveNoStepsWithoutRows) {
  PackedSequences packed;
  pack_sequences(std::vector<uint32_t>{0, 0, 0}, false, packed);
  EXPECT_EQ(packed.num_steps(), 0);
  EXPECT_THAT(packed.ends, ElementsAre(-1, -1));
  pack_sequences(std::vector<uint32_t>{0}, false, packed);
  EXPECT_EQ(packed.num_steps(), 0);
  EXPECT_TRUE(packed.ends.empty());
}

TEST(PackedSequences, ComeBackAsTheyWere) {
  Random random(23, 0);
  std::vector<uint32_t> offsets = {0};
  for (int b = 0; b < 3000; ++b) offsets.push_back(offsets.back() + static_cast<uint32_t>(random.below(40)));
  const int64_t rows = offsets.back(), cols = 5;
  const std::vector<float> in = random_values<float>(rows * cols, 1);
  Device device(3, best_cpu_level());
  for (const bool reversed : {false, true}) {
    PackedSequences packed;
    pack_sequences(offsets, reversed, packed);
    std::vector<float> there(in.size()), back(in.size()), last(3000 * cols), twice(in);
    const Matrix<float> packed_rows{there.data(), rows, cols};
    pack_rows<float>(device, packed, {in.data(), cols, cols}, packed_rows);
    unpack_rows<float>(device, packed, packed_rows, {back.data(), cols, cols});
    EXPECT_EQ(back, in);
    add_unpacked_rows<float>(device, packed, packed_rows, {twice.data(), cols, cols});
    for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(twice[i], 2 * in[i]);
    copy_last_rows<float>(device, packed, packed_rows, {last.data(), cols, cols});
    for (size_t b = 0; b < 3000; ++b) {
      const size_t row = reversed ? offsets[b] : offsets[b + 1] - 1;
      for (size_t c = 0; c < 5; ++c)
        ASSERT_EQ(last[b * 5 + c], offsets[b] == offsets[b + 1] ? 0 : in[row * 5 + c]) << b;
    }
  }
}

}  // namespace
}  // namespace ps::sequences_test
