#include "data/csv/label_columns.h"

#include <algorithm>
#include <cctype>

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

LabelColumn::LabelColumn(const std::string& name, const std::vector<std::string>& classes) : name_(name) {
  const std::string prefix = class_prefix(name);
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] == name) truth_ = i;
    if (classes[i].starts_with(prefix)) words_.emplace(classes[i].substr(prefix.size()), i);
  }
  if (!truth_ && words_.empty()) {
    fail(Code::kUsage, "data.csv.classes: none is of the label column ", quote(name), ": expected ",
         quote(name), " or ", quote(class_of_word(name, "WORD")));
  }
}

void LabelColumn::put(std::string_view word, bool lenient, std::vector<Key>& classes) const {
  if (truth_) {
    const std::optional<bool> truth = truth_of(word);
    if (truth.value_or(false)) classes.push_back(*truth_);
    if (truth || lenient) return;
    fail(Code::kData, "value ", quote(word), " of label column ", quote(name_),
         " is none of 1, 0, true, false, yes, no");
  }
  const auto found = words_.find(word);
  if (found != words_.end()) return classes.push_back(found->second);
  if (!lenient) fail(Code::kData, "value ", quote(word), " of label column ", quote(name_), " is no class");
}

}  // namespace ps
