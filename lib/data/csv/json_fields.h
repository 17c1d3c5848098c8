// The fields of one JSON object in one line.  Used by the parser of jsonl, and by the code that learns the
// columns.
#ifndef PS_DATA_CSV_JSON_FIELDS_H_
#define PS_DATA_CSV_JSON_FIELDS_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/csv/json_scan.h"

namespace ps {

// One owner thread.  It keeps its memory when it is reused.
class JsonFields {
 public:
  // Reads the line [p, end).  It is fast if a control character follows the line, such as the line's end, and 8
  // more bytes may be read; the fields are the same otherwise.  Behind each word lie 8 bytes that scanners may
  // read.  All views are valid until the next parse, as long as the line is.  Throws kData "column 7: …" for a
  // line that is not one JSON object.
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
  std::vector<std::string_view> words_;  // words of all fields, in order
  std::string text_;                     // text of the names and words that are no views into the line
};

// Throws kData "column 7: field 'x' holds …".
[[noreturn]] void fail_nested(const JsonField& field);

}  // namespace ps

#endif  // PS_DATA_CSV_JSON_FIELDS_H_
