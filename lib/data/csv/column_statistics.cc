#include "data/csv/column_statistics.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "data/scan.h"

namespace ps {

namespace {

constexpr size_t kSampleSize = 65536;
constexpr size_t kMostWords = size_t{1} << 20;  // further words of a column are not counted

}  // namespace

void Moments::add(double value) {
  const double before = value - mean_;
  mean_ += before / static_cast<double>(++count_);
  squares_ += before * (value - mean_);
}

double Moments::deviation() const {
  return count_ == 0 ? 0 : std::sqrt(squares_ / static_cast<double>(count_));
}

// Behind the field lies what scanners may read.
void ColumnStatistics::add(std::string_view field) {
  const char* p = field.data();
  float value = 0;
  if (!field.empty() && scan_float(p, value) == Scan::kNumber && p == field.data() + field.size()) {
    add_number(value);
  } else {
    ++others_;
    blanks_ += std::count(field.begin(), field.end(), ' ');
  }
  if (!counts_words_) return;
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
    if (counts_words_ && !word.empty()) add_word(word);
  }
}

// The n-th number takes the place of a random one of the sample with probability kSampleSize / n (Vitter's algorithm R).
void ColumnStatistics::add_number(double value) {
  smallest_ = numbers_ == 0 ? value : std::min(smallest_, value);
  largest_ = numbers_ == 0 ? value : std::max(largest_, value);
  ++numbers_;
  moments_.add(value);
  logarithms_.add(std::copysign(std::log1p(std::fabs(value)), value));
  if (sample_.size() < kSampleSize) return sample_.push_back(value);
  const uint64_t place = hash_key(static_cast<uint64_t>(numbers_)) % static_cast<uint64_t>(numbers_);
  if (place < kSampleSize) sample_[place] = value;
}

void ColumnStatistics::add_word(std::string_view word) {
  const auto found = words_.find(std::string(word));
  if (found != words_.end()) {
    ++found->second;
  } else if (words_.size() < kMostWords) {
    words_.emplace(word, 1);
  }
}

bool ColumnStatistics::is_skewed() const {
  // Deviations.  The six numbers of Adult, already scaled, reach 2.3 to 5.1; 10 is a guess beyond that.
  constexpr double kFar = 10;
  const double deviation = moments_.deviation();
  return deviation > 0 &&
         (largest_ - moments_.mean() > kFar * deviation || moments_.mean() - smallest_ > kFar * deviation);
}

std::vector<double> ColumnStatistics::edges(int bins) const {
  std::vector<double> sorted = sample_;
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> out;
  for (int i = 1; i < bins && !sorted.empty(); ++i) {
    const double edge = sorted[sorted.size() * static_cast<size_t>(i) / static_cast<size_t>(bins)];
    if (edge > sorted.front() && (out.empty() || edge > out.back())) out.push_back(edge);
  }
  return out;
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

}  // namespace ps
