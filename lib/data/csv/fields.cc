#include "data/csv/fields.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"

namespace ps {

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

// Returns a mask of the 8 bytes at p: the high bit is set in each byte that equals the byte repeated in `each`.
// It is exact, since no carry runs from byte to byte.
uint64_t equal_bytes(const char* p, uint64_t each) {
  constexpr uint64_t kLow = 0x7f7f7f7f7f7f7f7fu;
  uint64_t others;
  std::memcpy(&others, p, 8);
  others ^= each;
  return ~(((others & kLow) + kLow) | others | kLow);
}

// Returns a mask of 8 bytes as bits, the first one lowest.  The product moves the mark of byte i to
// bit 56 + i; no two of its terms meet.
uint64_t equal_bits(const char* p, uint64_t each) {
  return (equal_bytes(p, each) >> 7) * 0x0102040810204080u >> 56;
}

// Does the same for the first 64 bytes of [p, end).  8 bytes past `end` may be read.
uint64_t equal_bits_64(const char* p, const char* end, uint64_t each) {
  const auto size = static_cast<size_t>(end - p);
  uint64_t bits = 0;
  if (size >= 64) {
    for (size_t w = 0; w < 8; ++w) bits |= equal_bits(p + 8 * w, each) << 8 * w;
    return bits;
  }
  for (size_t w = 0; 8 * w < size; ++w) bits |= equal_bits(p + 8 * w, each) << 8 * w;
  return bits & ((uint64_t{1} << size) - 1);
}

// Returns the byte behind the closing quote of the field whose opening quote is at p; null if there is
// none.
// Two quotes in a row stand for one, and so does an escape with the byte behind it.  Without an escape the
// loop jumps from quote to quote.  A byte that is both escape and quote is treated as a quote, which
// doubled means the same.
const char* skip_quoted(const char* p, const char* stop, const CsvDialect& dialect) {
  for (++p; p < stop; ++p) {
    if (dialect.escape == 0) {
      p = static_cast<const char*>(std::memchr(p, dialect.quote, static_cast<size_t>(stop - p)));
      if (p == nullptr) return nullptr;
    }
    if (dialect.escape != 0 && *p == dialect.escape && *p != dialect.quote) {
      ++p;
    } else if (*p == dialect.quote) {
      if (p + 1 == stop || p[1] != dialect.quote) return p + 1;
      ++p;
    }
  }
  return nullptr;
}

const char* skip_blanks(const char* p, const char* stop, char separator) {
  while (p < stop && is_blank(*p) && *p != separator) ++p;
  return p;
}

}  // namespace

// A quote opens only at the beginning of a field; so in records with a quote each field is examined.
const char* find_record_end(const char* p, const char* stop, const CsvDialect& dialect, bool& open) {
  open = false;
  if (p == stop) return stop;  // memchr takes no null pointer, even for no bytes
  const size_t size = static_cast<size_t>(stop - p);
  const char* end = static_cast<const char*>(std::memchr(p, '\n', size));
  if (end == nullptr) end = stop;
  if (dialect.quote == 0 || std::memchr(p, dialect.quote, static_cast<size_t>(end - p)) == nullptr)
    return end;
  // Each turn passes one field.  A quoted field is passed as a whole, with the line feeds in it; text
  // behind its closing quote, which is an error, is left to the parser.
  while (p < stop && *p != '\n') {
    p = skip_blanks(p, stop, dialect.separator);
    if (p < stop && *p == dialect.quote) {
      p = skip_quoted(p, stop, dialect);
      open = p == nullptr;
      if (open) return stop;
    }
    while (p < stop && *p != dialect.separator && *p != '\n') ++p;
    if (p < stop && *p == dialect.separator) ++p;
  }
  return p;
}

void CsvFields::cut(const char* p, const char* end) {
  size_ = 0;
  const bool quoted = p != end && dialect_.quote != 0 &&
                      std::memchr(p, dialect_.quote, static_cast<size_t>(end - p)) != nullptr;
  quoted ? cut_quoted(p, end) : cut_plain(p, end);
}

// Records of one line are nearly all there are.  The line is searched for quotes first; if they are of the
// simplest form, or there are none, a line feed cannot be within quotes, and the line is the record.
const char* CsvFields::cut_line(const char* p, const char* stop) {
  size_ = 0;
  if (p == stop) return nullptr;
  const char* line_end = static_cast<const char*>(std::memchr(p, '\n', static_cast<size_t>(stop - p)));
  if (line_end == nullptr) line_end = stop;
  const char* end = line_end > p && line_end[-1] == '\r' ? line_end - 1 : line_end;
  if (dialect_.quote == 0 || p == end ||
      std::memchr(p, dialect_.quote, static_cast<size_t>(end - p)) == nullptr) {
    cut_plain(p, end);
    return line_end;
  }
  return cut_simply_quoted(p, end) ? line_end : nullptr;
}

// Cuts a record without quotes.  It finds separators 64 bytes at a time: bit i of `marks` is set if at[i]
// is one.  `begin` is where the current field begins, perhaps in 64 bytes before.  64 bytes have at most 64
// separators, so there is room for all fields that end in them.
void CsvFields::cut_plain(const char* p, const char* end) {
  const uint64_t each = 0x0101010101010101u * static_cast<unsigned char>(dialect_.separator);
  const char* begin = p;
  for (const char* at = p; at < end; at += 64) {
    uint64_t marks = equal_bits_64(at, end, each);
    grow(64);
    for (; marks != 0; marks &= marks - 1) {
      const char* separator = at + std::countr_zero(marks);
      add(begin, separator);
      begin = separator + 1;
    }
  }
  grow(1);
  add(begin, end);
}

// Makes room for some more fields.
void CsvFields::grow(size_t more) {
  if (fields_.size() < size_ + more) fields_.resize(2 * (size_ + more));
}

// Adds a field without the blanks around it.  The caller has made room.  The first comparison is right for
// fields without blanks, which are most, and costs less than the two loops.
void CsvFields::add(const char* begin, const char* end) {
  if (begin < end && (*begin <= ' ' || end[-1] <= ' ')) {
    while (begin < end && is_blank(*begin)) ++begin;
    while (begin < end && is_blank(end[-1])) --end;
  }
  fields_[size_++] = {begin, static_cast<size_t>(end - begin)};
}

// Cuts a record with quotes that are all of the simplest form, in which nothing has to be removed within
// them.  Scanners of numbers must stop at the closing quote.
bool CsvFields::cut_simply_quoted(const char* p, const char* end) {
  if (dialect_.escape != 0 || (dialect_.quote != '"' && dialect_.quote != '\'')) return false;
  for (;; ++p) {
    grow(1);
    const char* begin = skip_blanks(p, end, dialect_.separator);
    if (begin < end && *begin == dialect_.quote) {
      p = view_quoted(begin, end);
      if (p == nullptr) return false;
    } else {
      p = begin == end ? end
                       : static_cast<const char*>(
                             std::memchr(begin, dialect_.separator, static_cast<size_t>(end - begin)));
      if (p == nullptr) p = end;
      add(begin, p);
    }
    if (p == end) return true;
  }
}

// Returns the separator behind the field, or the end; null if the field has another form.
const char* CsvFields::view_quoted(const char* p, const char* end) {
  const char* begin = p + 1;
  if (begin == end) return nullptr;
  const auto* close =
      static_cast<const char*>(std::memchr(begin, dialect_.quote, static_cast<size_t>(end - begin)));
  if (close == nullptr) return nullptr;
  const char* next = skip_blanks(close + 1, end, dialect_.separator);
  if (next != end && *next != dialect_.separator) return nullptr;
  fields_[size_++] = {begin, static_cast<size_t>(close - begin)};
  return next;
}

// Cuts a record with quotes.  Text without its quotes is never longer than with them, so `unquoted_` does not
// move while fields are views into it.
void CsvFields::cut_quoted(const char* p, const char* end) {
  unquoted_.clear();
  const auto quotes = static_cast<size_t>(std::count(p, end, dialect_.quote));
  unquoted_.reserve(static_cast<size_t>(end - p) + (quotes + 1) * kScanPadding);
  for (;; ++p) {
    grow(1);
    const char* begin = skip_blanks(p, end, dialect_.separator);
    if (begin < end && *begin == dialect_.quote) {
      p = scan_quoted(begin, end);
    } else {
      p = std::find(p, end, dialect_.separator);
      add(begin, p);
    }
    if (p == end) return;
  }
}

// Returns the separator behind the field, or the end.
const char* CsvFields::scan_quoted(const char* p, const char* end) {
  const char* stop = skip_quoted(p, end, dialect_);
  if (stop == nullptr) fail(Code::kData, "a quote is not closed: ", quote({p, static_cast<size_t>(end - p)}));
  const char* next = skip_blanks(stop, end, dialect_.separator);
  if (next != end && *next != dialect_.separator)
    fail(Code::kData, quote({next, static_cast<size_t>(end - next)}), " follows a closing quote");
  const size_t begin = unquoted_.size();
  // A quote or an escape makes the byte behind it text, and is none itself.
  for (const char* c = p + 1; c < stop - 1; ++c) {
    const bool escaped =
        (*c == dialect_.quote || (dialect_.escape != 0 && *c == dialect_.escape)) && c + 1 < stop - 1;
    unquoted_ += escaped ? *++c : *c;
  }
  const size_t size = unquoted_.size() - begin;
  unquoted_.append(kScanPadding, '\0');
  fields_[size_++] = {unquoted_.data() + begin, size};
  return next;
}

}  // namespace ps
