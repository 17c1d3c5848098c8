#include "base/hash_words.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
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

TEST(HashTexts, AreTheHashesOfTheirBytes) {
  Random random(1, 2);
  std::string bytes;
  for (int i = 0; i < 600; ++i) bytes += static_cast<char>(random.next32());
  std::vector<std::string_view> texts;
  for (size_t size = 0; size < 300; ++size) texts.push_back(std::string_view(bytes).substr(size, size));
  for (uint64_t seed : {uint64_t{0}, uint64_t{7}, random.next64()}) {
    std::vector<uint64_t> hashes(texts.size()), expected;
    for (std::string_view text : texts) expected.push_back(hash_bytes(text, seed));
    hash_texts(texts, seed, hashes.data());
    EXPECT_EQ(hashes, expected);
  }
}

}  // namespace ps::hash_words_test
