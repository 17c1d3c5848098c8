// Words and their ids, for plain text.  Used by the format `text`, and where a reader of it is prepared.
#ifndef PS_DATA_VOCABULARY_H_
#define PS_DATA_VOCABULARY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ps {

struct DataOptions;

// Gives ids 1, 2, … to words by falling frequency, with ties in the order of their bytes; id 0 stands for all
// others.  Words are compared by their first 64 bytes, in lower case.  Constant after construction: any thread
// may look words up.
class Vocabulary {
 public:
  struct Word {
    std::string word;
    uint64_t count;
  };

  // Keeps the most frequent size - 1 of the counted words.  `total` counts all words, kept or not.
  Vocabulary(std::vector<Word> counted, int64_t size, uint64_t total);
  Vocabulary(Vocabulary&&) = default;
  Vocabulary(const Vocabulary&) = delete;

  // Makes the vocabulary that the options ask for: reads the file data.text.vocabulary, or counts the words
  // of `paths`.  Streams cannot be read twice, so counting from one throws kUsage.
  static std::shared_ptr<const Vocabulary> make(const DataOptions& data,
                                                const std::vector<std::string>& paths);

  // A file has one "word count" a line, by id; the first, "<other>", counts the words of id 0.  Throws
  // kUsage.
  static Vocabulary load(const std::string& path, int64_t size);
  void save(const std::string& path) const;

  // Returns the id of a word that next_word has returned.
  uint32_t id(std::string_view word) const;

  int64_t size() const { return static_cast<int64_t>(words_.size()) + 1; }
  const Word& word(uint32_t id) const { return words_[id - 1]; }  // id > 0
  uint64_t total() const { return total_; }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view word) const;
  };

  std::vector<Word> words_;
  std::unordered_map<std::string_view, uint32_t, Hash, std::equal_to<>> ids_;  // views into words_
  uint64_t total_;
};

}  // namespace ps

#endif  // PS_DATA_VOCABULARY_H_
