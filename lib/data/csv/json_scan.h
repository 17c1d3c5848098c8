// JsonScan: reads one JSON object fast, if it has the usual form.  Used by JsonFields.
#ifndef PS_DATA_CSV_JSON_SCAN_H_
#define PS_DATA_CSV_JSON_SCAN_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ps {

// A field of the object, whose words are in a list of their own.
struct JsonField {
  enum class Kind {
    kNull,
    kWord,    // one text: a string, a number as it is written, "true" or "false"
    kList,    // several texts of an array, whose nulls are left out
    kNested,  // an object, or an array that contains objects or arrays; its words are skipped
  };

  std::string_view name;
  Kind kind = Kind::kNull;
  size_t column = 0;  // the byte of the line, counted from 1, at which the value begins
  size_t first_word = 0, num_words = 0;
};

// Words and names lie in the line itself, unless they have escapes.  All else, and all that is not good, is left to a
// parser that knows every rule and names every fault.  One owner thread.
class JsonScan {
 public:
  // Appends to all three.  `text` must not move while names and words are views into it, so it has room for the
  // line.
  JsonScan(std::vector<JsonField>& fields, std::vector<std::string_view>& words, std::string& text)
      : fields_(fields), words_(words), text_(text) {}

  // Reads the line [p, end).  The byte at `end` is a control character, and 8 more bytes may be read.  Returns
  // false for a line that it leaves to the other parser, and may have appended any fields and words then.
  bool run(const char* p, const char* end);

 private:
  static constexpr int kMostLevels = 32;  // levels of nested values

  bool scan_fields();
  bool scan_value();
  bool scan_list();
  bool scan_list_items();
  bool scan_word(JsonField& field);
  bool scan_string(std::string_view& out);
  bool scan_escaped(const char* begin, std::string_view& out);
  bool scan_escape();
  bool scan_code_point();
  bool scan_number(std::string_view& out);
  bool scan_literal(std::string_view word, std::string_view& out);
  bool scan_null();
  bool pass_over(int level);
  bool pass_over_items(int level, bool named);
  void skip_blanks();

  std::vector<JsonField>& fields_;
  std::vector<std::string_view>& words_;
  std::string& text_;
  const char *begin_ = nullptr, *p_ = nullptr;
  const char* end_ = nullptr;
};

}  // namespace ps

#endif  // PS_DATA_CSV_JSON_SCAN_H_
