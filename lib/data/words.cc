#include "data/words.h"

namespace ps {

namespace {

// A character of a text: its length in bytes, and its role in words.
struct Character {
  size_t bytes;
  bool in_word;
};

// Returns the first character of a text.  A byte from 0xc0 on begins a character of UTF-8, with up to three
// bytes behind it that are 10xxxxxx; any other byte is a character by itself.  U+0080 to U+00BF begin with
// 0xc2, and U+2000 to U+207F with 0xe2 0x80 or 0xe2 0x81.
Character character_at(std::string_view text) {
  unsigned char first = static_cast<unsigned char>(text[0]);
  bool letter = (first | 0x20u) - 'a' < 26u, digit = first - '0' + 0u < 10u;
  if (first < 0xc0) return {1, letter || digit || first == '\''};
  size_t bytes = 1;
  while (bytes < text.size() && bytes < 4 && (text[bytes] & 0xc0) == 0x80) ++bytes;
  bool latin_sign = first == 0xc2,
       punctuation = first == 0xe2 && bytes > 1 && (text[1] == '\x80' || text[1] == '\x81');
  return {bytes, !latin_sign && !punctuation};
}

}  // namespace

// The first loop goes to the first character of a word that is no apostrophe, the second to the end of the
// word.  `at` is behind apostrophes at its end, which are not part of it.
std::string_view next_word(std::string_view text, size_t& at) {
  for (; at < text.size(); at += character_at(text.substr(at)).bytes) {
    if (text[at] != '\'' && character_at(text.substr(at)).in_word) break;
  }
  size_t begin = at;
  while (at < text.size()) {
    Character character = character_at(text.substr(at));
    if (!character.in_word) break;
    at += character.bytes;
  }
  std::string_view word = text.substr(begin, at - begin);
  while (word.ends_with('\'')) word.remove_suffix(1);
  return word;
}

}  // namespace ps
