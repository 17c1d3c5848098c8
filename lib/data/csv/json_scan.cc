#include "data/csv/json_scan.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "base/utf8.h"
#include "data/csv/fields.h"
#include "data/scan.h"

namespace ps {

namespace {

constexpr uint64_t kLows = 0x0101010101010101u, kHighs = 0x8080808080808080u;

// Sets the high bit of each of 8 bytes of a string that is not plain: a quote, a backslash, a control
// character, or not ASCII. A borrow may mark bytes above the lowest marked one, so only that one may be used.
uint64_t marks_of(uint64_t bytes) {
  const uint64_t quotes = bytes ^ (kLows * '"'), slashes = bytes ^ (kLows * '\\');
  const uint64_t controls = (bytes - kLows * 0x20) & ~bytes;
  return (controls | ((quotes - kLows) & ~quotes) | ((slashes - kLows) & ~slashes) | bytes) & kHighs;
}

// Returns the first byte from p on that is not plain.
const char* skip_plain(const char* p) {
  for (;; p += 8) {
    uint64_t bytes;
    std::memcpy(&bytes, p, 8);
    if (const uint64_t marks = marks_of(bytes); marks != 0) return p + std::countr_zero(marks) / 8;
  }
}

// Does the same, but skips characters beyond ASCII; returns null if one of them is invalid.
const char* skip_text(const char* p) {
  for (p = skip_plain(p); static_cast<signed char>(*p) < 0; p = skip_plain(p)) {
    const int bytes = utf8_bytes(p);
    if (bytes == 0) return nullptr;
    p += bytes;
  }
  return p;
}

// Returns the first byte from p on that is no digit.
const char* skip_digits(const char* p) {
  for (;; p += 8) {
    uint64_t bytes;
    std::memcpy(&bytes, p, 8);
    if (const int count = scan_internal::count_digits(bytes ^ scan_internal::kZeros); count < 8)
      return p + count;
  }
}

// Appends a code point in UTF-8: 7 bits in one byte, 11 in two, 16 in three, or 21 in four.  Each byte
// behind the first has 6 of them.
void append_utf8(uint32_t code, std::string& out) {
  auto tail = [&](int shift) { out += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    tail(12), tail(6), tail(0);
  }
}

// Returns the value of the four hexadecimal digits at p; -1: they are no such digits.
int32_t four_digits(const char* p) {
  int32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = p[i], letter = static_cast<char>(c | 0x20);
    const bool is_letter = letter >= 'a' && letter <= 'f';
    if (!is_digit(c) && !is_letter) return -1;
    value = value * 16 + (is_letter ? letter - 'a' + 10 : c - '0');
  }
  return value;
}

}  // namespace

void JsonScan::skip_blanks() {
  while (*p_ == ' ' || *p_ == '\t') ++p_;
}

// No function below compares p_ with end_: the byte at `end` is a control character, such as the line feed,
// which no text or number contains, so that each of them stops there and finds a byte that does not fit.
// Only literals, which are compared at once, look at the length.
bool JsonScan::run(const char* p, const char* end) {
  begin_ = p_ = p;
  end_ = end;
  skip_blanks();
  if (*p_++ != '{') return false;
  skip_blanks();
  if (*p_ == '}') {
    ++p_;
  } else if (!scan_fields()) {
    return false;
  }
  skip_blanks();
  return p_ == end_;
}

// Scans from the first name to behind the closing brace.
bool JsonScan::scan_fields() {
  for (;;) {
    std::string_view name;
    if (!scan_string(name)) return false;
    skip_blanks();
    if (*p_++ != ':') return false;
    skip_blanks();
    const size_t column = static_cast<size_t>(p_ - begin_) + 1;
    fields_.push_back({name, JsonField::Kind::kNull, column, words_.size(), 0});
    if (!scan_value()) return false;
    skip_blanks();
    const char next = *p_++;
    if (next == '}') return true;
    if (next != ',') return false;
    skip_blanks();
  }
}

// Scans the value of the last field of fields_, and sets its kind.  An object is passed over at once; a
// list becomes nested when such a value is found in it.
bool JsonScan::scan_value() {
  JsonField& field = fields_.back();
  if (*p_ == '[') return scan_list();
  if (*p_ == 'n') return scan_null();
  if (*p_ != '{') return scan_word(field);
  field.kind = JsonField::Kind::kNested;
  return pass_over(0);
}

// Scans a string, a number, true or false, as the field's value or as an item of its list.  A list that is
// nested keeps no further words, and a field that had no kind yet is a single word.
bool JsonScan::scan_word(JsonField& field) {
  std::string_view word;
  const char c = *p_;
  const bool good = c == '"'   ? scan_string(word)
                    : c == 't' ? scan_literal("true", word)
                    : c == 'f' ? scan_literal("false", word)
                               : scan_number(word);
  if (!good) return false;
  if (field.kind == JsonField::Kind::kNested) return true;
  if (field.kind == JsonField::Kind::kNull) field.kind = JsonField::Kind::kWord;
  words_.push_back(word);
  ++field.num_words;
  return true;
}

bool JsonScan::scan_list() {
  fields_.back().kind = JsonField::Kind::kList;
  ++p_;
  skip_blanks();
  if (*p_ != ']') return scan_list_items();
  ++p_;
  return true;
}

bool JsonScan::scan_list_items() {
  JsonField& field = fields_.back();
  for (;;) {
    const bool nested = *p_ == '[' || *p_ == '{';
    if (nested) field.kind = JsonField::Kind::kNested;
    if (!(nested ? pass_over(0) : *p_ == 'n' ? scan_null() : scan_word(field))) return false;
    skip_blanks();
    const char next = *p_++;
    if (next == ']') return true;
    if (next != ',') return false;
    skip_blanks();
  }
}

// Scans a string from its opening quote on.
bool JsonScan::scan_string(std::string_view& out) {
  if (*p_ != '"') return false;
  const char* begin = ++p_;
  p_ = skip_text(p_);
  if (p_ == nullptr) return false;
  if (*p_ == '\\') return scan_escaped(begin, out);
  out = {begin, static_cast<size_t>(p_ - begin)};
  return *p_++ == '"';
}

// Scans the rest of a string from its first escape on, and writes it into text_.
bool JsonScan::scan_escaped(const char* begin, std::string_view& out) {
  const size_t start = text_.size();
  for (;;) {
    text_.append(begin, p_);
    if (*p_ == '"') break;
    if (*p_ != '\\' || !scan_escape()) return false;
    begin = p_;
    p_ = skip_text(p_);
    if (p_ == nullptr) return false;
  }
  ++p_;
  out = {text_.data() + start, text_.size() - start};
  text_.append(kScanPadding, '\0');
  return true;
}

// Scans one escape, from its backslash on, and appends its character to text_.
bool JsonScan::scan_escape() {
  constexpr std::string_view kNames = "\"\\/bfnrt", kBytes = "\"\\/\b\f\n\r\t";
  const char name = p_[1];
  p_ += 2;
  if (name == 'u') return scan_code_point();
  const size_t index = kNames.find(name);
  if (index == std::string_view::npos) return false;
  text_ += kBytes[index];
  return true;
}

// Scans the digits of an escape, together with those of the next one if both are halves of a pair.
bool JsonScan::scan_code_point() {
  int32_t code = four_digits(p_);
  if (code < 0 || (code >= 0xdc00 && code <= 0xdfff)) return false;
  p_ += 4;
  if (code >= 0xd800 && code <= 0xdbff) {
    if (p_[0] != '\\' || p_[1] != 'u') return false;
    const int32_t low = four_digits(p_ + 2);
    if (low < 0xdc00 || low > 0xdfff) return false;
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    p_ += 6;
  }
  append_utf8(static_cast<uint32_t>(code), text_);
  return true;
}

// Scans a number.  Numbers so long, or with exponents so large, that they could overflow are left to the other
// parser; so is -0, which is 0.
bool JsonScan::scan_number(std::string_view& out) {
  constexpr std::ptrdiff_t kMostBytes = 200, kMostExponent = 2;
  const char* begin = p_;
  const char* p = begin + (*begin == '-');
  const char* digits = p;
  p = *p == '0' ? p + 1 : skip_digits(p);
  if (p == digits) return false;
  const bool whole = *p != '.' && (*p | 0x20) != 'e';
  if (*p == '.') {
    digits = ++p;
    p = skip_digits(p);
    if (p == digits) return false;
  }
  if ((*p | 0x20) == 'e') {
    ++p;
    p += *p == '+' || *p == '-';
    digits = p;
    p = skip_digits(p);
    if (p == digits || p - digits > kMostExponent) return false;
  }
  out = {begin, static_cast<size_t>(p - begin)};
  p_ = p;
  return p - begin <= kMostBytes && !(whole && out == "-0");
}

bool JsonScan::scan_literal(std::string_view word, std::string_view& out) {
  if (static_cast<size_t>(end_ - p_) < word.size() || std::memcmp(p_, word.data(), word.size()) != 0)
    return false;
  out = {p_, word.size()};
  p_ += word.size();
  return true;
}

bool JsonScan::scan_null() {
  std::string_view ignored;
  return scan_literal("null", ignored);
}

// Skips a value whose words do not count.
bool JsonScan::pass_over(int level) {
  std::string_view ignored;
  switch (*p_) {
    case '"':
      return scan_string(ignored);
    case 't':
      return scan_literal("true", ignored);
    case 'f':
      return scan_literal("false", ignored);
    case 'n':
      return scan_null();
    case '[':
      return level < kMostLevels && pass_over_items(level, /*named=*/false);
    case '{':
      return level < kMostLevels && pass_over_items(level, /*named=*/true);
    default:
      return scan_number(ignored);
  }
}

// Skips from the opening bracket to behind the closing one.
bool JsonScan::pass_over_items(int level, bool named) {
  const char close = named ? '}' : ']';
  ++p_;
  skip_blanks();
  if (*p_ == close) {
    ++p_;
    return true;
  }
  for (;;) {
    std::string_view name;
    if (named && !scan_string(name)) return false;
    if (named) skip_blanks();
    if (named && *p_++ != ':') return false;
    if (named) skip_blanks();
    if (!pass_over(level + 1)) return false;
    skip_blanks();
    const char next = *p_++;
    if (next == close) return true;
    if (next != ',') return false;
    skip_blanks();
  }
}

}  // namespace ps
