#include "data/words.h"

#include <array>
#include <cstdint>

namespace ps {

namespace {

// A character of a text: its length in bytes, and its role in words.
struct Character {
  size_t bytes;
  bool in_word;
};

// Returns the first character of a text, which begins with a byte from 0xc0 on: a character of UTF-8, with up to three
// bytes behind it that are 10xxxxxx.  Any other byte is a character by itself.  U+0080 to U+00BF begin with
// 0xc2, and U+2000 to U+207F with 0xe2 0x80 or 0xe2 0x81.
Character character_at(std::string_view text) {
  const unsigned char first = static_cast<unsigned char>(text[0]);
  size_t bytes = 1;
  while (bytes < text.size() && bytes < 4 && (text[bytes] & 0xc0) == 0x80) ++bytes;
  bool latin_sign = first == 0xc2,
       punctuation = first == 0xe2 && bytes > 1 && (text[1] == '\x80' || text[1] == '\x81');
  return {bytes, !latin_sign && !punctuation};
}

// The role of a character that begins with a byte: most are ASCII, and need no further look.
enum class Role : uint8_t { kOutside, kInWord, kOfUtf8 };

constexpr std::array<Role, 256> kRoles = [] {
  std::array<Role, 256> roles{};
  for (size_t c = 0; c < roles.size(); ++c) {
    const bool letter = (c | 0x20) - 'a' < 26, digit = c - '0' < 10;
    roles[c] = c >= 0xc0                                    ? Role::kOfUtf8
               : c < 0x80 && (letter || digit || c == '\'') ? Role::kInWord
                                                            : Role::kOutside;
  }
  return roles;
}();

Role role_at(std::string_view text, size_t at) {
  return kRoles[static_cast<unsigned char>(text[at])];
}

}  // namespace

// The first loop goes to the first character of a word that is no apostrophe, the second to the end of the
// word.  `at` is behind apostrophes at its end, which are not part of it.
std::string_view next_word(std::string_view text, size_t& at) {
  for (; at < text.size(); ++at) {
    const Role role = role_at(text, at);
    if (role == Role::kInWord && text[at] != '\'') break;
    if (role != Role::kOfUtf8) continue;
    const Character character = character_at(text.substr(at));
    if (character.in_word) break;
    at += character.bytes - 1;
  }
  const size_t begin = at;
  while (at < text.size()) {
    const Role role = role_at(text, at);
    if (role == Role::kOutside) break;
    const Character character = role == Role::kInWord ? Character{1, true} : character_at(text.substr(at));
    if (!character.in_word) break;
    at += character.bytes;
  }
  std::string_view word = text.substr(begin, at - begin);
  while (word.ends_with('\'')) word.remove_suffix(1);
  return word;
}

}  // namespace ps
