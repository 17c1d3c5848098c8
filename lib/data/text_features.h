// Features of a text: the hashes of its words, of runs of words, and of runs of characters within words.  Used by the
// parsers of tables and of fastText's lines.
#ifndef PS_DATA_TEXT_FEATURES_H_
#define PS_DATA_TEXT_FEATURES_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "config/fwd.h"
#include "data/batch.h"

namespace ps {

// Keys of data.fasttext and of the columns of a table.
struct TextFeatureOptions {
  int word_ngrams = 1;                           // longest run of words that is a feature
  int shortest_char_ngram = 0, char_ngrams = 0;  // runs of characters: from, to; to 0: none
  bool whole_words = true;                       // false: runs of characters alone, and no ends of words

  static const ObjectSpec<TextFeatureOptions>& spec();
};

// Appends the features of a text to `keys`.  Words are what next_word (data/vocabulary.h) finds, in lower case; or, with
// `blanks`, what stands between blanks, as it is.
//   a word                  hash_bytes(word, seed)
//   words v and w, …        hash_key(id of v) + id of w, and so on
//   characters of a word    hash_bytes(characters, seed + 1), of the word with "<" before it and ">" behind it; characters
//                           are those of UTF-8
// Without whole_words, the last alone, of the word without "<" and ">".
void add_text_features(const TextFeatureOptions& options, std::string_view text, uint64_t seed, bool blanks,
                       std::vector<Key>& keys);

}  // namespace ps

#endif  // PS_DATA_TEXT_FEATURES_H_
