// Lines of libsvm are parsed in runs, two at a time, between blanks; between tabs one feature after the
// other: both must give the same.
#include "base/random.h"
#include "base/text.h"
#include "data_test.h"
#include "support/environment.h"

namespace ps::libsvm_runs_test {

using testing::SizeIs;

class LibsvmRuns : public DataTest {
 protected:
  Random random_{11, 12};

  std::string id() {
    switch (random_.below(20)) {
      case 0:
        return cat(random_.next64());
      case 1:
        return cat(random_.below(1000000000));
      case 2:
        return cat("000", random_.below(10000000));
      default:
        return cat(random_.below(100000000));
    }
  }

  // `oddity`: one in so many features is not as plain as the others.
  std::string feature(uint64_t oddity) {
    if (random_.below(oddity) > 0) return id() + ":1";
    switch (random_.below(6)) {
      case 0:
        return id();
      case 1:
        return cat(id(), ":-", random_.below(100));
      case 2:
        return cat(id(), ":1e-", random_.below(20));
      case 3:
        return cat(id(), ":1.0");
      default:
        return cat(id(), ":0.", random_.below(1000000));
    }
  }

  // Lines of 0 to `most` features.
  std::string lines(int count, uint64_t most, uint64_t oddity, std::string_view between,
                    std::string_view end) {
    random_ = Random(11, most * oddity);
    std::string out;
    for (int i = 0; i < count; ++i) {
      out += cat(i % 10);
      for (uint64_t k = random_.below(most + 1); k > 0; --k) out += cat(between, feature(oddity));
      out += cat(end, "\n");
    }
    return out;
  }
};

TEST_F(LibsvmRuns, AreTheFeaturesOneByOne) {
  for (uint64_t most : {1, 2, 3, 40, 300, 700}) {
    const int count = static_cast<int>(tries(most > 100 ? 100 : 500));
    for (uint64_t oddity : {1, 2, 50, 1000000}) {
      auto text = [&](std::string_view between, std::string_view end) {
        return lines(count, most, oddity, between, end);
      };
      DataOptions options = options_for("libsvm");
      std::vector<std::string> expected = read(options, text("\t", ""));
      EXPECT_THAT(expected, SizeIs(count));
      std::string where = cat("up to ", most, " features, one in ", oddity, " odd");
      EXPECT_TRUE(read(options, text(" ", "")) == expected) << where;
      EXPECT_TRUE(read(options, text(" ", "\r")) == expected) << where;
      EXPECT_TRUE(read(options, text(" ", " ")) == expected) << where;
      EXPECT_TRUE(read(options, text("  ", " # 1:1 2:1")) == expected) << where;
    }
  }
}

// The first bad feature is reported, wherever a run ends.
TEST_F(LibsvmRuns, NameTheFirstFeatureThatIsRefused) {
  constexpr int kFeatures = 300;
  DataOptions options = options_for("libsvm", 1000);
  options.index_base = 1;
  for (int bad = 0; bad < kFeatures; bad += static_cast<int>(try_every())) {
    for (const char* wrong : {"1001:1", "0:1", "7:x"}) {
      std::string line = "1";
      for (int k = 0; k < kFeatures; ++k) line += cat(" ", k == bad ? wrong : cat(1 + k, ":1"));
      std::string found = error_of(options, line + " 2000:1\n");
      std::string expected = wrong[0] == '1'   ? "id 1000 is outside dim 1000"
                             : wrong[0] == '0' ? "id 0 is below index_base 1"
                                               : "value 'x' of key 7 is not a number";
      ASSERT_EQ(found, "3: data:1: " + expected) << "feature " << bad;
    }
  }
}

}  // namespace ps::libsvm_runs_test
