#include "checkpoint/model/row_names.h"

#include <algorithm>
#include <cctype>

#include "base/hash.h"

namespace ps {

NameList::NameList(std::vector<std::pair<uint64_t, std::string>> names, std::vector<Hashed> hashed)
    : hashed_(std::move(hashed)) {
  for (auto& [key, name] : names) {
    keys_.emplace(name, key);
    names_.emplace(key, std::move(name));
  }
}

std::string_view NameList::name(uint64_t key) const {
  const auto found = names_.find(key);
  return found == names_.end() ? std::string_view() : found->second;
}

// A name in the list comes first.  Any other with a prefix of a hashed feature has the hash of the rest as
// its key, as when the data was read.
std::optional<uint64_t> NameList::key(const std::string& name) const {
  if (const auto found = keys_.find(name); found != keys_.end()) return found->second;
  for (const Hashed& one : hashed_) {
    if (name.starts_with(one.prefix)) {
      return hash_bytes(std::string_view(name).substr(one.prefix.size()), one.seed);
    }
  }
  return std::nullopt;
}

std::string_view RowNames::name(const std::string& table, uint64_t key) const {
  const auto found = lists_.find(table);
  return found == lists_.end() ? std::string_view() : found->second->name(key);
}

std::optional<uint64_t> RowNames::key(const std::string& table, const std::string& name) const {
  const auto found = lists_.find(table);
  return found == lists_.end() ? std::nullopt : found->second->key(name);
}

// Formats divide words by white space, so a name loses its own.
std::string RowNames::word(const std::string& table, uint64_t key) const {
  std::string word(name(table, key));
  if (word.empty()) return std::to_string(key);
  std::replace_if(
      word.begin(), word.end(), [](unsigned char c) { return std::isspace(c) != 0; }, '_');
  return word;
}

}  // namespace ps
