#include "data/csv/column_statistics.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "base/utf8.h"
#include "data/scan.h"

namespace ps {

namespace {

constexpr size_t kSampleSize = 65536;
constexpr size_t kMostWords = size_t{1} << 20;  // further words of a column are not counted
constexpr size_t kMostListed = 10000, kMostListedNumbers = 1000, kMostListedBytes = size_t{256} << 10;

struct EqualNumbers {
  double value, count;
};

// Returns the different numbers in ascending order, each with its count.
std::vector<EqualNumbers> runs_of(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  std::vector<EqualNumbers> runs;
  for (const double number : numbers) {
    if (runs.empty() || runs.back().value != number) runs.push_back({number, 0});
    ++runs.back().count;
  }
  return runs;
}

// Computes the edges of bins, as LightGBM does.  It goes through the numbers in ascending order, and ends a bin
// when it has its part of the numbers that are not frequent, or before and after a frequent number.  One owner
// thread.
class BinEdges {
 public:
  BinEdges(std::vector<EqualNumbers> runs, int bins, double numbers, double least)
      : runs_(std::move(runs)),
        most_edges_(static_cast<size_t>(bins) - 1),
        least_(least),
        frequent_(std::max(least, numbers / bins)),
        bins_left_(bins) {
    for (const EqualNumbers& run : runs_) is_frequent(run) ? bins_left_ -= 1 : rare_left_ += run.count;
  }

  // Adds the numbers run by run to the bin that is open.  An edge is the smallest number of the bin behind
  // it.  The last bin may be left with too few numbers; it is joined with the one before.
  std::vector<double> find() {
    for (const EqualNumbers& run : runs_) {
      if (edges_.size() < most_edges_ && is_full_before(run)) end_bin(run.value);
      in_bin_ += run.count;
      is_frequent(run) ? has_frequent_ = true : rare_in_bin_ += run.count;
    }
    if (in_bin_ < least_ && !edges_.empty()) edges_.pop_back();
    return std::move(edges_);
  }

 private:
  bool is_frequent(const EqualNumbers& run) const { return run.count >= frequent_; }

  // A bin with a frequent number is full at once, and an empty one is not.  Else it is full when it has its
  // part of the rare numbers that are left, shared evenly among bins_left_.  Half of it is enough before a
  // frequent number, which would join the bin otherwise.
  bool is_full_before(const EqualNumbers& run) const {
    if (in_bin_ == 0 || has_frequent_) return has_frequent_;
    const double part = rare_left_ / std::max(1, bins_left_);
    return in_bin_ >= std::max(least_, is_frequent(run) ? part / 2 : part);
  }

  void end_bin(double edge) {
    edges_.push_back(edge);
    rare_left_ -= rare_in_bin_;
    if (!has_frequent_) --bins_left_;
    in_bin_ = rare_in_bin_ = 0;
    has_frequent_ = false;
  }

  const std::vector<EqualNumbers> runs_;
  const size_t most_edges_;
  const double least_, frequent_;  // least count of a bin; count of equal numbers that get a bin of their own
  int bins_left_;                  // bins left for rare numbers
  double rare_left_ = 0, in_bin_ = 0, rare_in_bin_ = 0;
  bool has_frequent_ = false;  // the bin has a frequent number
  std::vector<double> edges_;
};

}  // namespace

void Moments::add(double value) {
  const double before = value - mean_;
  mean_ += before / static_cast<double>(++count_);
  squares_ += before * (value - mean_);
}

double Moments::deviation() const {
  return count_ == 0 ? 0 : std::sqrt(squares_ / static_cast<double>(count_));
}

// Behind the field lie the bytes that scanners may read.
void ColumnStatistics::add(std::string_view field) {
  const char* p = field.data();
  float value = 0;
  if (scan_short_float(field, value) ||
      (!field.empty() && scan_float(p, value) == Scan::kNumber && p == field.data() + field.size())) {
    add_number(value);
  } else {
    ++others_;
    blanks_ += std::count(field.begin(), field.end(), ' ');
  }
  if (word_use_ != WordUse::kNone) add_words(field);
}

void ColumnStatistics::add_words(std::string_view field) {
  if (separator_ == 0) return add_word(field);
  while (!field.empty()) {
    const size_t size = std::min(field.find(separator_), field.size());
    if (size > 0) add_word(field.substr(0, size));
    field.remove_prefix(std::min(size + 1, field.size()));
  }
}

void ColumnStatistics::add_list(std::span<const std::string_view> words) {
  ++lists_;
  for (std::string_view word : words) {
    if (!word.empty()) add_word(word);
  }
}

// Adds a number to the sample: the n-th one replaces a random element with probability kSampleSize / n
// (Vitter's algorithm R).
void ColumnStatistics::add_number(double value) {
  smallest_ = numbers_ == 0 ? value : std::min(smallest_, value);
  largest_ = numbers_ == 0 ? value : std::max(largest_, value);
  ++numbers_;
  moments_.add(value);
  logarithms_.add(std::copysign(std::log1p(std::fabs(value)), value));
  if (sample_.size() < kSampleSize) return sample_.push_back(value);
  const uint64_t position = hash_key(static_cast<uint64_t>(numbers_)) % static_cast<uint64_t>(numbers_);
  if (position < kSampleSize) sample_[position] = value;
}

// Counts a word.  Columns whose words are only listed give up, and free the memory, as soon as there are
// too many words or bytes; a column of numbers does so sooner, since nobody needs its words.
void ColumnStatistics::add_word(std::string_view word) {
  if (word_use_ == WordUse::kNone) return;
  if (const auto found = words_.find(word); found != words_.end()) {
    ++found->second;
    return;
  }
  if (words_.size() == kMostWords) return;
  words_.emplace(word, 1);
  word_bytes_ += word.size();
  if (word_use_ == WordUse::kCounted || has_few_words()) return;
  words_ = {};
  word_use_ = WordUse::kNone;
}

bool ColumnStatistics::has_few_words() const {
  const bool may_be_number = word_use_ == WordUse::kListedUnlessNumbers && all_numbers();
  return words_.size() <= (may_be_number ? kMostListedNumbers : kMostListed) &&
         word_bytes_ <= kMostListedBytes;
}

bool ColumnStatistics::is_skewed() const {
  // The distance, in deviations.  The six numbers of Adult, already scaled, reach 2.3 to 5.1; 10 is a guess
  // beyond that.
  constexpr double kFar = 10;
  const double deviation = moments_.deviation();
  return deviation > 0 &&
         (largest_ - moments_.mean() > kFar * deviation || moments_.mean() - smallest_ > kFar * deviation);
}

// The counts are those of the sample, so `least`, a number of examples, is scaled to it.
std::vector<double> ColumnStatistics::edges(int bins, int64_t least) const {
  if (sample_.empty()) return {};
  const auto size = static_cast<double>(sample_.size());
  return BinEdges(runs_of(sample_), bins, size,
                  static_cast<double>(least) * size / static_cast<double>(numbers_))
      .find();
}

std::vector<std::string> ColumnStatistics::frequent_words(size_t most) const {
  std::vector<std::pair<uint64_t, std::string>> all;
  for (const auto& [word, count] : words_) all.emplace_back(count, word);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<std::string> out;
  for (size_t i = 0; i < std::min(most, all.size()); ++i) out.push_back(std::move(all[i].second));
  return out;
}

// Bytes that are no UTF-8 have no place in a job file.
std::vector<std::string> ColumnStatistics::listed_words() const {
  std::vector<std::string> out;
  if (!has_few_words()) return out;
  for (const auto& [word, count] : words_) {
    if (is_utf8(word)) out.push_back(word);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace ps
