// The words of a text.  Used by all that count, hash or number them.
#ifndef PS_DATA_WORDS_H_
#define PS_DATA_WORDS_H_

#include <cstddef>
#include <string_view>

namespace ps {

// Returns the next word of a text, from `at` on; an empty one at the end.  A word is a run of letters, digits,
// apostrophes within it, and bytes of UTF-8 other than those of punctuation (U+0080 to U+00BF, U+2000 to
// U+207F).
std::string_view next_word(std::string_view text, size_t& at);

}  // namespace ps

#endif  // PS_DATA_WORDS_H_
