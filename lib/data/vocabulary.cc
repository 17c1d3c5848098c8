#include "data/vocabulary.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "data/options.h"
#include "data/source.h"
#include "data/splitter.h"
#include "data/words.h"

namespace ps {

namespace {

constexpr size_t kMaxWordBytes = 64;
// This word stands for all words without an id of their own; no text contains it.
constexpr std::string_view kOther = "<other>";

// The first kMaxWordBytes bytes of a word, with ASCII letters in lower case.  Constant after construction.
class LoweredWord {
 public:
  explicit LoweredWord(std::string_view word) : size_(std::min(word.size(), kMaxWordBytes)) {
    for (size_t i = 0; i < size_; ++i) {
      bytes_[i] = word[i] >= 'A' && word[i] <= 'Z' ? static_cast<char>(word[i] + 32) : word[i];
    }
  }
  std::string_view view() const { return {bytes_, size_}; }

 private:
  char bytes_[kMaxWordBytes];
  size_t size_;
};

// The number of occurrences of each word of a text, and of all words.
struct Counts {
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view word) const { return hash_bytes(word); }
  };
  std::unordered_map<std::string, uint64_t, Hash, std::equal_to<>> words;
  uint64_t total = 0;

  void add(std::string_view text) {
    size_t at = 0;
    for (std::string_view word = next_word(text, at); !word.empty(); word = next_word(text, at)) {
      LoweredWord lowered(word);
      auto found = words.find(lowered.view());
      ++(found != words.end() ? found->second : words[std::string(lowered.view())]);
      ++total;
    }
  }
};

}  // namespace

size_t Vocabulary::Hash::operator()(std::string_view word) const {
  return hash_bytes(word);
}

// The most frequent word has id 1, and words of equal counts have the order of their bytes, so that the ids
// do not depend on the order of a hash table.  `size` counts id 0 too.
Vocabulary::Vocabulary(std::vector<Word> counted, int64_t size, uint64_t total)
    : words_(std::move(counted)), total_(total) {
  std::sort(words_.begin(), words_.end(), [](const Word& a, const Word& b) {
    return a.count != b.count ? a.count > b.count : a.word < b.word;
  });
  if (static_cast<int64_t>(words_.size()) > size - 1) words_.resize(static_cast<size_t>(size - 1));
  words_.shrink_to_fit();
  for (size_t i = 0; i < words_.size(); ++i) ids_.emplace(words_[i].word, static_cast<uint32_t>(i + 1));
}

uint32_t Vocabulary::id(std::string_view word) const {
  LoweredWord lowered(word);
  auto found = ids_.find(lowered.view());
  return found == ids_.end() ? 0 : found->second;
}

std::shared_ptr<const Vocabulary> Vocabulary::make(const DataOptions& data,
                                                   const std::vector<std::string>& paths) {
  if (!data.text.vocabulary.empty()) {
    return std::make_shared<const Vocabulary>(load(data.text.vocabulary, data.text.vocabulary_size));
  }
  Counts counts;
  Block block;
  for (const InputFile& file : expand_inputs(paths)) {
    if (file.stream) {
      fail(Code::kUsage, "cannot count the words of ", quote(file.name()),
           ", which can be read once: name a file of words in ", quote("data.text.vocabulary"));
    }
    ByteSource source(file, {});
    LineSplitter lines(source);
    while (lines.next(block)) counts.add(block.text());
  }
  std::vector<Word> words;
  for (const auto& [word, count] : counts.words) words.push_back({word, count});
  return std::make_shared<const Vocabulary>(std::move(words), data.text.vocabulary_size, counts.total);
}

// A line is a word, a blank and its count.  The counts of all lines make the total, also that of kOther and
// of words that are too rare for an id.
Vocabulary Vocabulary::load(const std::string& path, int64_t size) {
  std::string text = read_file(path);
  std::vector<Word> words;
  uint64_t line_number = 0, total = 0;
  for (std::string_view line : split(text, '\n')) {
    ++line_number;
    if (line.empty()) continue;
    size_t space = line.find(' ');
    std::optional<uint64_t> count;
    if (space != std::string_view::npos) count = parse_uint(line.substr(space + 1));
    if (!count || space == 0) fail(Code::kUsage, path, ":", line_number, ": expected a word and its count");
    total += *count;
    if (line.substr(0, space) != kOther) words.push_back({std::string(line.substr(0, space)), *count});
  }
  return Vocabulary(std::move(words), size, total);
}

void Vocabulary::save(const std::string& path) const {
  uint64_t other = total_;
  for (const Word& word : words_) other -= word.count;
  std::string text = cat(kOther, " ", other, "\n");
  for (const Word& word : words_) text += cat(word.word, " ", word.count, "\n");
  write_file(path, text);
}

}  // namespace ps
