// RowNames: readable names of rows, such as words of a dictionary or columns of a table.  Used to look into
// models, and by formats that hold names.
#ifndef PS_CHECKPOINT_MODEL_ROW_NAMES_H_
#define PS_CHECKPOINT_MODEL_ROW_NAMES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ps {

// The names of some rows of one table.  Constant once made: any thread may ask.
class NameList {
 public:
  // Names that follow a prefix, as words of a column do: the key of prefix + word is hash_bytes(word, seed).
  struct Hashed {
    std::string prefix;
    uint64_t seed;
  };

  // key() returns the first of several keys that have the same name.
  explicit NameList(std::vector<std::pair<uint64_t, std::string>> names, std::vector<Hashed> hashed = {});

  std::string_view name(uint64_t key) const;  // empty: the row has none
  std::optional<uint64_t> key(const std::string& name) const;

 private:
  std::vector<Hashed> hashed_;
  std::unordered_map<uint64_t, std::string> names_;
  std::unordered_map<std::string, uint64_t> keys_;
};

// The names of all tables of a model.  Tables may share a list.
class RowNames {
 public:
  void add(const std::string& table, std::shared_ptr<const NameList> names) {
    lists_[table] = std::move(names);
  }

  bool empty() const { return lists_.empty(); }
  bool has(const std::string& table) const { return lists_.contains(table); }
  std::string_view name(const std::string& table, uint64_t key) const;
  std::optional<uint64_t> key(const std::string& table, const std::string& name) const;

  // Returns the name of a row in one word, with '_' for blanks, or its key if it has no name.
  std::string word(const std::string& table, uint64_t key) const;

 private:
  std::map<std::string, std::shared_ptr<const NameList>> lists_;
};

}  // namespace ps

#endif  // PS_CHECKPOINT_MODEL_ROW_NAMES_H_
