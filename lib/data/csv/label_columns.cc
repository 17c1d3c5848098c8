#include "data/csv/label_columns.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace ps {

namespace {

// Compares with a word in small letters.
bool is_word(std::string_view text, std::string_view word) {
  return std::equal(text.begin(), text.end(), word.begin(), word.end(), [](char a, char b) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(a))) == b;
  });
}

std::string class_prefix(std::string_view column) {
  return cat(column, "=");
}

}  // namespace

std::optional<bool> truth_of(std::string_view word) {
  if (word == "1" || is_word(word, "true") || is_word(word, "yes")) return true;
  if (word == "0" || is_word(word, "false") || is_word(word, "no")) return false;
  const std::optional<double> number = parse_double(word);
  if (number && *number == 1) return true;
  if (number && (*number == 0 || *number == -1)) return false;
  return std::nullopt;
}

std::string class_of_word(std::string_view column, std::string_view word) {
  return cat(class_prefix(column), word);
}

// A class called as the column is that of truths; a class "COLUMN=WORD" is that of a word.
LabelColumn::LabelColumn(const std::string& name, const std::vector<std::string>& classes, bool own)
    : name_(name) {
  const std::string prefix = class_prefix(name);
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] == name) truth_ = i;
    if (classes[i].starts_with(prefix))
      words_.emplace(classes[i].substr(prefix.size()), own ? words_.size() : i);
  }
  if (!truth_ && words_.empty() && !own) {
    fail(Code::kUsage, "data.csv.classes: none is of the label column ", quote(name), ": expected ",
         quote(name), " or ", quote(class_of_word(name, "WORD")));
  }
}

void LabelColumn::put(std::string_view word, bool lenient, std::vector<Key>& classes) const {
  if (truth_) {
    const std::optional<bool> truth = truth_of(word);
    if (truth.value_or(false)) classes.push_back(*truth_);
    if (truth || lenient) return;
    fail_no_truth(word);
  }
  const auto found = words_.find(word);
  if (found != words_.end()) return classes.push_back(found->second);
  if (!lenient) fail_no_class(word);
}

// A column is of one of three kinds, which its classes tell: truths, words, or, without classes, numbers.
std::optional<float> LabelColumn::value(std::string_view word, bool lenient) const {
  if (truth_) {
    const std::optional<bool> truth = truth_of(word);
    if (truth) return *truth ? 1.0F : 0.0F;
    if (!lenient) fail_no_truth(word);
  } else if (!words_.empty()) {
    const auto found = words_.find(word);
    if (found != words_.end()) return static_cast<float>(found->second);
    if (!lenient) fail_no_class(word);
  } else {
    const std::optional<double> number = parse_double(word);
    if (number && std::isfinite(static_cast<float>(*number))) return static_cast<float>(*number);
    if (!lenient)
      fail(Code::kData, "value ", quote(word), " of label column ", quote(name_), " is no number");
  }
  return std::nullopt;
}

void LabelColumn::fail_no_truth(std::string_view word) const {
  fail(Code::kData, "value ", quote(word), " of label column ", quote(name_),
       " is none of 1, 0, true, false, yes, no");
}

void LabelColumn::fail_no_class(std::string_view word) const {
  fail(Code::kData, "value ", quote(word), " of label column ", quote(name_), " is no class");
}

}  // namespace ps
