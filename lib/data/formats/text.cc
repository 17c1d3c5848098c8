// Plain text, for language models and word vectors: every word is an example.
//
// The label is the word's id.  The slot "context" has the ids of the `context` words before it, the oldest
// first, then of the `context_after` words behind it.  Id 0 stands for the words before the first word of a
// file and behind the last.  Ids come from a Vocabulary.  Some words of training data may be left out, and
// contexts cut: data/word_sampler.h.
#include <algorithm>
#include <memory>
#include <vector>

#include "base/error.h"
#include "data/format.h"
#include "data/part.h"
#include "data/text_splitter.h"
#include "data/word_sampler.h"
#include "data/words.h"

namespace ps {

namespace {

// Returns the vocabulary; throws kUsage if it is null.
const std::shared_ptr<const Vocabulary>& need_words(const std::shared_ptr<const Vocabulary>& vocabulary) {
  if (!vocabulary) fail(Code::kUsage, "format 'text' needs a vocabulary");
  return vocabulary;
}

// Constant once parsing begins: many threads share one parser.
class TextParser : public Parser {
 public:
  explicit TextParser(const ParserSetup& setup)
      : schema_(setup.schema),
        before_(static_cast<size_t>(setup.options.text.context)),
        after_(static_cast<size_t>(setup.options.text.context_after)),
        vocabulary_(need_words(setup.vocabulary)),
        sampler_(setup.options, *vocabulary_),
        part_(setup.options) {}

  bool has_parts() const override { return true; }
  bool samples_negatives() const override { return false; }

  // Makes an example of each word of the block.
  // `words` has, in this order: before_ times no_word(), the words before the block (carry), those of the
  // block itself, which are words [first, last), those behind it (follow), and after_ times no_word().  So
  // each word of the block has enough neighbours on both sides, at the beginning and the end of the file
  // too, and contexts reach across blocks as if there were none.  Offsets make the sampler's draws for a
  // word the same in whichever block it is.
  void parse(const Block& block, Parsed& out) const override {
    out.bad.clear();
    out.batch.clear(schema_);
    std::vector<Word> words(before_, no_word());
    auto put = [&](std::string_view word, uint64_t offset) { words.push_back(looked_up(word, offset)); };
    each_word_at(block.carry, put);
    const size_t first = words.size();
    const std::string_view text = block.text();
    size_t at = 0;
    const uint64_t file = block.file ? PartFilter::named_file(*block.file) : 0;
    for (std::string_view word = next_word(text, at); !word.empty(); word = next_word(text, at)) {
      put(word, block.position + at);
      words.back().is_example = words.back().reach > 0 && part_.keeps_stretch(file, block.position + at);
    }
    const size_t last = words.size();
    each_word_at(block.follow, put);
    words.insert(words.end(), after_, no_word());
    for (size_t i = first; i < last; ++i) {
      if (words[i].is_example) append(words, i, out.batch);
    }
  }

 private:
  struct Word {
    uint32_t id;
    uint8_t reach;  // words of its context on each side; 0: it is left out
    bool is_example = false;
  };

  // Returns the word that stands before the first word of a file, and behind the last.
  Word no_word() const { return {0, sampler_.longest()}; }

  Word looked_up(std::string_view word, uint64_t offset) const {
    const uint32_t id = vocabulary_->id(word);
    return {id, sampler_.reach(id, offset)};
  }

  // Appends word i with its context: the words from `begin` to `end` without i itself.  Words that are left
  // out are no features of others, and no word from farther away takes their place.
  void append(const std::vector<Word>& words, size_t i, Batch& batch) const {
    const size_t reach = words[i].reach;
    const size_t begin = i - std::min(before_, reach), end = i + std::min(after_, reach);
    SlotData& slot = batch.slots[0];
    for (size_t k = begin; k <= end; ++k) {
      if (k != i && words[k].reach > 0) slot.keys.push_back(words[k].id);
    }
    slot.offsets.push_back(static_cast<uint32_t>(slot.keys.size()));
    batch.labels.push_back(static_cast<float>(words[i].id));
  }

  const DataSchema schema_;
  const size_t before_, after_;
  const std::shared_ptr<const Vocabulary> vocabulary_;
  const WordSampler sampler_;
  const PartFilter part_;
};

}  // namespace

extern const FormatEntry kText;
const FormatEntry kText = {
    {"text", "words; each is an example with those around it, or before it, as features", no_own_keys},
    false,
    true,
    [](std::string_view, const DataOptions& data) { return !data.text.vocabulary.empty(); },
    [](const DataOptions& data, std::string_view) {
      return DataSchema{{SlotSchema{"context", false, data.text.vocabulary_size}}};
    },
    [](const DataOptions& data, ByteSource& source) -> std::unique_ptr<Splitter> {
      return std::make_unique<TextSplitter>(source, data.text.context, data.text.context_after);
    },
    make_parser<TextParser>,
    /*always_labelled=*/true,
};

}  // namespace ps
