#include "data/text_features.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "base/hash.h"
#include "base/hash_words.h"
#include "base/text.h"
#include "config/spec.h"
#include "data/words.h"

namespace ps {

namespace {

std::string_view next_between_blanks(std::string_view text, size_t& at) {
  constexpr std::string_view kBlanks = " \t\v\f\r\n";
  const size_t begin = std::min(text.find_first_not_of(kBlanks, at), text.size());
  at = std::min(text.find_first_of(kBlanks, begin), text.size());
  return text.substr(begin, at - begin);
}

// The positions at which characters of UTF-8 begin, and the end.
void find_characters(std::string_view word, std::vector<size_t>& boundaries) {
  boundaries.clear();
  for (size_t i = 0; i < word.size(); ++i) {
    if ((static_cast<unsigned char>(word[i]) & 0xc0) != 0x80 || i == 0) boundaries.push_back(i);
  }
  boundaries.push_back(word.size());
}

void check_text_features(const TextFeatureOptions& options, std::string_view path) {
  if (options.whole_words) return;
  if (options.char_ngrams == 0)
    fail(Code::kUsage, path,
         ".whole_words: false, but char_ngrams is 0: nothing of a text would be a feature");
  if (options.word_ngrams > 1)
    fail(Code::kUsage, path, ".whole_words: false, but word_ngrams is ", options.word_ngrams,
         ": leave out one of the two");
}

// Appends the runs of `shortest` to `longest` characters of a word: run [first, first + size) is the text
// between boundaries first and first + size.  `boundaries` is scratch.
void add_characters(const TextFeatureOptions& options, std::string_view word, uint64_t seed,
                    std::vector<size_t>& boundaries, std::vector<Key>& keys) {
  find_characters(word, boundaries);
  const size_t count = boundaries.size() - 1;
  const auto shortest = static_cast<size_t>(std::max(1, options.shortest_char_ngram));
  const auto longest = static_cast<size_t>(options.char_ngrams);
  for (size_t first = 0; first < count; ++first) {
    for (size_t size = shortest; size <= std::min(longest, count - first); ++size) {
      const std::string_view run =
          word.substr(boundaries[first], boundaries[first + size] - boundaries[first]);
      keys.push_back(hash_bytes(run, seed + 1));
    }
  }
}

std::string_view next_of(std::string_view text, bool blanks, size_t& at) {
  return blanks ? next_between_blanks(text, at) : next_word(text, at);
}

void lower_ascii(std::string& text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

// Appends the ids of the words of a text, some words at a time.
void add_words(std::string_view text, uint64_t seed, bool blanks, std::vector<Key>& keys) {
  constexpr size_t kAtOnce = 64;
  std::string_view words[kAtOnce];
  size_t at = 0, count = 0;
  do {
    for (count = 0; count < kAtOnce; ++count) {
      words[count] = next_of(text, blanks, at);
      if (words[count].empty()) break;
    }
    keys.resize(keys.size() + count);
    hash_texts({words, count}, seed, keys.data() + keys.size() - count);
  } while (count == kAtOnce);
}

// Appends the ids of runs of two and up to `longest` words, given the ids of all words: `run` is the id of words
// [first, first + size), which follows from that of the run one shorter.
void add_runs(int longest, const std::vector<Key>& words, std::vector<Key>& keys) {
  for (size_t first = 0; first < words.size(); ++first) {
    Key run = words[first];
    const size_t most = std::min<size_t>(static_cast<size_t>(longest), words.size() - first);
    for (size_t size = 2; size <= most; ++size) {
      run = hash_key(run) + words[first + size - 1];
      keys.push_back(run);
    }
  }
}

}  // namespace

const ObjectSpec<TextFeatureOptions>& TextFeatureOptions::spec() {
  static const ObjectSpec<TextFeatureOptions> spec = [] {
    ObjectSpec<TextFeatureOptions> s;
    s.field("word_ngrams", &TextFeatureOptions::word_ngrams,
            "texts: runs of so many words are features too, and shorter ones")
        .at_least(1)
        .at_most(10);
    s.field("char_ngrams", &TextFeatureOptions::char_ngrams,
            "texts: runs of at most so many characters of a word are features too; 0: none")
        .at_least(0)
        .at_most(20);
    s.field("shortest_char_ngram", &TextFeatureOptions::shortest_char_ngram,
            "texts: runs of fewer characters are not")
        .at_least(0)
        .at_most(20);
    s.field("whole_words", &TextFeatureOptions::whole_words,
            "texts: false: runs of characters are the only features, and none has the ends of its word, as "
            "k-mers of DNA");
    s.check(check_text_features);
    return s;
  }();
  return spec;
}

// Without runs of characters, nothing but the words themselves is hashed, which are views of the text in lower case.
// Else `bracketed` is "<word>", and `word` the part of it without brackets.  Words between blanks keep their case.
void add_text_features(const TextFeatureOptions& options, std::string_view text, uint64_t seed, bool blanks,
                       std::vector<Key>& keys) {
  std::string lower;
  if (!blanks) {
    lower = text;
    lower_ascii(lower);
    text = lower;
  }
  const size_t first_key = keys.size();
  if (options.char_ngrams == 0) {
    add_words(text, seed, blanks, keys);
    if (options.word_ngrams > 1)
      add_runs(options.word_ngrams, {keys.begin() + static_cast<ptrdiff_t>(first_key), keys.end()}, keys);
    return;
  }
  std::vector<Key> words;
  std::vector<size_t> boundaries;
  std::string bracketed;
  size_t at = 0;
  for (;;) {
    const std::string_view found = next_of(text, blanks, at);
    if (found.empty()) break;
    bracketed.assign("<").append(found).append(">");
    const std::string_view word = std::string_view(bracketed).substr(1, found.size());
    if (options.whole_words) {
      words.push_back(hash_bytes(word, seed));
      keys.push_back(words.back());
    }
    add_characters(options, options.whole_words ? bracketed : word, seed, boundaries, keys);
  }
  add_runs(options.word_ngrams, words, keys);
}

}  // namespace ps
