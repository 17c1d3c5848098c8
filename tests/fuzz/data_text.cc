// Plain text, with a vocabulary.
#include <memory>

#include "data/words.h"
#include "fuzz_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto vocabulary = std::make_shared<const ps::Vocabulary>(
      std::vector<ps::Vocabulary::Word>{{"the", 3}, {"cat", 2}, {"don't", 1}}, 4, 6);
  std::string_view text(reinterpret_cast<const char*>(data), size);
  size_t at = 0, before = 0;
  for (std::string_view word = ps::next_word(text, at); !word.empty(); word = ps::next_word(text, at)) {
    PS_CHECK(at > before && at <= size && vocabulary->id(word) < 4);
    before = at;
  }
  ps::DataOptions options;
  options.format = "text";
  options.text.vocabulary_size = 4;
  ps::fuzz_reader(options, data, size, vocabulary);
  options.text.context_after = 4;
  options.text.shrink_windows = true;
  options.text.subsample = 0.1;
  options.part = ps::DataPart::kTraining;
  ps::fuzz_reader(options, data, size, vocabulary);
  return 0;
}
