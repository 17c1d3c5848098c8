// ColumnStatistics: the numbers and words of a table's column in the records seen so far.  Used by learn_table.
#ifndef PS_DATA_CSV_COLUMN_STATISTICS_H_
#define PS_DATA_CSV_COLUMN_STATISTICS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/csv/word_numbers.h"

namespace ps {

// Mean and deviation of numbers, which are added one after the other (Welford 1962).
class Moments {
 public:
  void add(double value);
  double mean() const { return mean_; }
  double deviation() const;  // deviation of the population; 0: all numbers are equal

 private:
  int64_t count_ = 0;
  double mean_ = 0, squares_ = 0;
};

// The use of a column's words: all are counted, or they are listed as long as they are few, or none is wanted.  Where the
// column may turn out to hold numbers, fewer are listed as long as all of them are numbers.
enum class WordUse { kNone, kListed, kListedUnlessNumbers, kCounted };

class ColumnStatistics {
 public:
  // `words`: what is wanted of the words of the column, one a field, or, with a separator, several.
  explicit ColumnStatistics(WordUse words = WordUse::kNone, char separator = 0)
      : word_use_(words), separator_(separator) {}

  void add(std::string_view field);
  void add_list(std::span<const std::string_view> words);
  void add_missing() { ++missing_; }

  int64_t num_fields() const { return missing_ + numbers_ + others_ + lists_; }
  bool all_numbers() const { return numbers_ > 0 && others_ == 0 && lists_ == 0; }
  bool has_lists() const { return lists_ > 0; }
  // Returns true if its fields have five words or more on average.
  bool is_text() const { return others_ > 0 && blanks_ >= 4 * others_; }
  bool has_missing() const { return missing_ > 0; }
  double smallest() const { return smallest_; }
  double largest() const { return largest_; }
  const Moments& moments() const { return moments_; }
  const Moments& logarithms() const { return logarithms_; }  // moments of sign(x) log(1 + |x|)

  // Returns true if the largest number is so far from the others that only the logarithm brings them together.
  bool is_skewed() const;

  // Returns up to bins - 1 ascending numbers that divide the column's numbers into bins of equal counts, of at
  // least `least` each.  A number that occurs more often than a bin has numbers gets a bin of its own.
  std::vector<double> edges(int bins, int64_t least) const;

  // Returns the most frequent words, at most `most`, with ties in the order of their bytes.
  std::vector<std::string> frequent_words(size_t most) const;
  size_t num_words() const { return words_.size(); }

  // All words that are text in UTF-8, in the order of their bytes; none if there are more than 10,000 words, or more than
  // 256 KiB of them.
  std::vector<std::string> listed_words() const;

 private:
  void add_number(double value);
  void add_words(std::string_view field);
  void add_word(std::string_view word);
  bool has_few_words() const;

  WordUse word_use_;
  const char separator_;
  int64_t missing_ = 0, numbers_ = 0, others_ = 0, lists_ = 0;
  int64_t blanks_ = 0;  // blanks in the fields that are no numbers
  double smallest_ = 0, largest_ = 0;
  Moments moments_, logarithms_;
  std::vector<double> sample_;  // of the numbers, each as likely as any other
  WordNumbers words_;           // with their counts
  size_t word_bytes_ = 0;       // of all of them
};

}  // namespace ps

#endif  // PS_DATA_CSV_COLUMN_STATISTICS_H_
