#include "data/csv/json_fields.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "base/error.h"
#include "base/text.h"
#include "config/json.h"
#include "config/json_message.h"
#include "data/csv/fields.h"
#include "data/csv/json_scan.h"

namespace ps {

namespace {

// An iterator over a line that tells its owner how far the parser has read, since events do not contain that.
class TracedBytes {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  TracedBytes(const char* p, const char*& reached) : p_(p), reached_(&reached) {}
  reference operator*() const { return *p_; }
  TracedBytes& operator++() {
    *reached_ = ++p_;
    return *this;
  }
  bool operator==(const TracedBytes& other) const { return p_ == other.p_; }

 private:
  const char* p_;
  const char** reached_;
};

// Returns the bytes for all names and words of a line, so that they do not move while they are taken.  Text is
// never longer than with its escapes.  A name stands before a colon, and a word after a colon, a comma or a
// bracket.
size_t text_bytes(const char* p, const char* end) {
  auto marks =
      static_cast<size_t>(std::count_if(p, end, [](char c) { return c == ',' || c == '[' || c == ':'; }));
  marks += static_cast<size_t>(std::count(p, end, ':'));
  return static_cast<size_t>(end - p) + marks * kScanPadding;
}

}  // namespace

// Handles the events of the parser, in the order of the line.  Fields are at depth 1, the words of lists at
// depth 2.  One owner thread.
class JsonFields::Handler {
 public:
  Handler(JsonFields& out, const char* begin, const char* end)
      : out_(out), begin_(begin), end_(end), reached_(begin) {}

  void run() {
    Json::sax_parse(TracedBytes(begin_, reached_), TracedBytes(end_, reached_), this);
    // The parser takes a byte of value 0 for the end.
    if (reached_ != end_ || end_[-1] == '\0')
      fail(Code::kData, "column ", reached_ - begin_, ": a byte of value 0");
  }

  bool null() { return depth_ > 0 || fail_value(); }
  bool boolean(bool value) { return word(value ? "true" : "false"); }
  bool number_integer(int64_t value) { return number(value); }
  bool number_unsigned(uint64_t value) { return number(value); }
  bool number_float(double, const std::string& text) { return word(text); }
  bool string(const std::string& text) { return word(text); }
  bool binary(const Json::binary_t&) { return false; }  // JSON text has no binary values

  bool start_object(size_t) { return open(depth_ > 0); }
  bool start_array(size_t) {
    if (depth_ == 0) return fail_value();
    if (depth_ == 1) field().kind = JsonField::Kind::kList;
    return open(depth_ > 1);
  }
  bool end_object() { return --depth_ >= 0; }
  bool end_array() { return --depth_ >= 0; }

  bool key(const std::string& name) {
    if (depth_ == 1)
      out_.fields_.push_back({keep(name), JsonField::Kind::kNull, value_column(), out_.words_.size()});
    return true;
  }

  bool parse_error(size_t position, const std::string& token, const Json::exception& error) {
    std::string_view reason = json_reason(error.what());
    reason = reason.substr(0, reason.find("; last read"));
    fail(Code::kData, "column ", position, ": ", reason, ", at ", quote(token));
  }

 private:
  JsonField& field() { return out_.fields_.back(); }

  bool open(bool nested) {
    ++depth_;
    if (nested) field().kind = JsonField::Kind::kNested;
    return true;
  }

  template <class Integer>
  bool number(Integer value) {
    char text[24];
    return word({text, static_cast<size_t>(std::to_chars(text, text + sizeof text, value).ptr - text)});
  }

  bool word(std::string_view text) {
    if (depth_ == 0) return fail_value();
    if (field().kind == JsonField::Kind::kNested) return true;
    if (depth_ == 1) field().kind = JsonField::Kind::kWord;
    out_.words_.push_back(keep(text));
    ++field().num_words;
    return true;
  }

  std::string_view keep(std::string_view text) {
    const size_t begin = out_.text_.size();
    out_.text_.append(text).append(kScanPadding, '\0');
    return {out_.text_.data() + begin, text.size()};
  }

  // The parser has just read the name: a colon and maybe blanks follow, unless the line is no JSON.
  size_t value_column() const {
    auto is_between = [](char c) { return c == ':' || c == ' ' || c == '\t'; };
    return static_cast<size_t>(std::find_if_not(reached_, end_, is_between) - begin_) + 1;
  }

  bool fail_value() const {
    fail(Code::kData, "column ", reached_ - begin_, ": an object is expected, with the fields of an example");
  }

  JsonFields& out_;
  const char *const begin_, *const end_;
  const char* reached_;
  int64_t depth_ = 0;
};

void JsonFields::clear() {
  fields_.clear();
  words_.clear();
  text_.clear();
}

// The fast scan leaves rare forms and all errors to the general parser, which then starts again.
void JsonFields::parse(const char* p, const char* end) {
  constexpr unsigned char kLargestControl = 0x1f;
  clear();
  if (p != end && static_cast<unsigned char>(*end) <= kLargestControl) {
    if (std::memchr(p, '\\', static_cast<size_t>(end - p)) != nullptr) text_.reserve(text_bytes(p, end));
    if (JsonScan(fields_, words_, text_).run(p, end)) return;
    clear();
  }
  text_.reserve(text_bytes(p, end));
  Handler(*this, p, end).run();
}

void fail_nested(const JsonField& field) {
  fail(Code::kData, "column ", field.column, ": field ", quote(field.name),
       " holds objects or lists of lists, which are no column: give the column the type ignore, or its parts "
       "fields "
       "of their own");
}

}  // namespace ps
