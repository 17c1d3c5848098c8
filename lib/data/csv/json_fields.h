// The fields of one object of JSON, as it stands on a line.  Used by the parser of jsonl and by whoever learns about its
// columns.
#ifndef PS_DATA_CSV_JSON_FIELDS_H_
#define PS_DATA_CSV_JSON_FIELDS_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ps {

struct JsonField {
  enum class Kind {
    kNull,
    kWord,    // one text: of a string, of a number as it is written, "true" or "false"
    kList,    // several, of an array; nulls in it are left out
    kNested,  // an object, or an array with objects or arrays in it: its words are passed over
  };

  std::string_view name;
  Kind kind = Kind::kNull;
  size_t column = 0;  // the byte of the line, from 1, at which the value begins
  size_t first_word = 0, num_words = 0;
};

// Reused, it keeps its memory.  One owner thread.
class JsonFields {
 public:
  // Reads the line [p, end), fast where a control character follows it, such as that of the line's end, and 8 bytes more
  // may be read; the fields are the same.  Behind each word lie 8 bytes that scanners may read.  All views are good until
  // the next parse, as long as the line is.  Throws kData "column 7: …" for a line that is not one object of JSON.
  void parse(const char* p, const char* end);

  std::span<const JsonField> fields() const { return fields_; }
  std::string_view word(const JsonField& field) const { return words_[field.first_word]; }
  std::span<const std::string_view> words(const JsonField& field) const {
    return std::span(words_).subspan(field.first_word, field.num_words);
  }

 private:
  class Handler;

  void clear();

  std::vector<JsonField> fields_;
  std::vector<std::string_view> words_;  // of all fields, in order
  std::string text_;                     // that of names and words which do not lie in the line
};

// Throws kData "column 7: field 'x' holds …".
[[noreturn]] void fail_nested(const JsonField& field);

}  // namespace ps

#endif  // PS_DATA_CSV_JSON_FIELDS_H_
