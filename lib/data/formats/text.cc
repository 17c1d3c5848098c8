// Plain text, for language models: every word is an example.
//
// The label is the word's id; the slot "context" has the ids of the `context` words before it, the oldest
// first, and id 0 in place of those before the first word of a file.  Ids come from a Vocabulary.
#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "data/format.h"
#include "data/splitter.h"

namespace ps {

namespace {

// Splits text into blocks of lines.  Each block carries the last words of the text before it.
class TextSplitter : public Splitter {
 public:
  TextSplitter(ByteSource& source, int context) : lines_(source), context_(static_cast<size_t>(context)) {}

  bool next(Block& block) override {
    if (!lines_.next(block)) return false;
    block.carry = carry_;
    remember(block.text());
    return true;
  }

 private:
  // Keeps the last words of `text`. It looks at the last bytes only, and at more of them if they hold too few
  // words; the first word found there is dropped, since it may be the end of a longer one.
  void remember(std::string_view text) {
    for (size_t tail = 4096;; tail *= 8) {
      bool whole = text.size() <= tail;
      std::string joined = whole ? cat(carry_, text) : std::string(text.substr(text.size() - tail));
      std::vector<std::string_view> words;
      size_t at = 0;
      for (std::string_view word = next_word(joined, at); !word.empty(); word = next_word(joined, at))
        words.push_back(word);
      if (!whole && words.size() < context_ + 1) continue;
      std::string last;
      for (size_t i = words.size() - std::min(words.size(), context_); i < words.size(); ++i)
        last += cat(words[i], " ");
      carry_ = std::move(last);
      return;
    }
  }

  LineSplitter lines_;
  const size_t context_;
  std::string carry_;
};

class TextParser : public Parser {
 public:
  explicit TextParser(const ParserSetup& setup)
      : schema_(setup.schema),
        context_(static_cast<size_t>(setup.options.text.context)),
        vocabulary_(setup.vocabulary) {
    if (!vocabulary_) fail(Code::kUsage, "format 'text' needs a vocabulary");
  }

  void parse(const Block& block, Parsed& out) const override {
    out.bad.clear();
    out.batch.clear(schema_);
    std::vector<Key> recent(context_, 0);
    each_word(block.carry, [&](Key id) { push(recent, id); });
    SlotData& slot = out.batch.slots[0];
    each_word(block.text(), [&](Key id) {
      slot.keys.insert(slot.keys.end(), recent.begin(), recent.end());
      slot.offsets.push_back(static_cast<uint32_t>(slot.keys.size()));
      out.batch.labels.push_back(static_cast<float>(id));
      push(recent, id);
    });
  }

 private:
  template <class Use>
  void each_word(std::string_view text, Use&& use) const {
    size_t at = 0;
    for (std::string_view word = next_word(text, at); !word.empty(); word = next_word(text, at))
      use(vocabulary_->id(word));
  }

  static void push(std::vector<Key>& recent, Key id) {
    recent.erase(recent.begin());
    recent.push_back(id);
  }

  const DataSchema schema_;
  const size_t context_;
  const std::shared_ptr<const Vocabulary> vocabulary_;
};

}  // namespace

extern const FormatEntry kText;
const FormatEntry kText = {
    {"text", "words; each is an example with those before it as features", no_own_keys},
    false,
    true,
    [](std::string_view, const DataOptions& data) { return !data.text.vocabulary.empty(); },
    [](const DataOptions& data, std::string_view) {
      return DataSchema{{SlotSchema{"context", false, data.text.vocabulary_size}}};
    },
    [](const DataOptions& data, ByteSource& source) -> std::unique_ptr<Splitter> {
      return std::make_unique<TextSplitter>(source, data.text.context);
    },
    make_parser<TextParser>,
    /*always_labelled=*/true,
};

}  // namespace ps
