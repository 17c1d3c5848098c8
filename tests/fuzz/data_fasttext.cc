// fastText's lines: labels that are numbers, and classes with n-grams of words and characters.
#include "fuzz_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ps::DataOptions options;
  options.format = "fasttext";
  ps::fuzz_reader(options, data, size);
  options.fasttext.classes = {"good", "bad"};
  options.fasttext.word_ngrams = 3;
  options.fasttext.shortest_char_ngram = 2;
  options.fasttext.char_ngrams = 4;
  options.dim = 1000;
  ps::fuzz_reader(options, data, size);
  return 0;
}
