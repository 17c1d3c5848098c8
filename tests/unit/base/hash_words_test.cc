#include "base/hash_words.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/hash.h"
#include "base/random.h"

namespace ps::hash_words_test {

TEST(HashWords, AreTheHashesOfTheirBytes) {
  Random random(1, 1);
  std::vector<uint64_t> words, expected;
  for (uint64_t i = 0; i < 100; ++i) {
    words.push_back(random.next64());
    std::string_view bytes(reinterpret_cast<const char*>(&words.back()), 8);
    expected.push_back(hash_bytes(bytes, 3 + i));
  }
  hash_words(words, 3);
  EXPECT_EQ(words, expected);
}

}  // namespace ps::hash_words_test
