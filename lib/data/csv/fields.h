// The fields of one record of a table.  Used by the parser, and by the code that learns the columns.
#ifndef PS_DATA_CSV_FIELDS_H_
#define PS_DATA_CSV_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ps {

// Bytes that scanners may read behind a field.
inline constexpr size_t kScanPadding = 8;

// The syntax of a table.
struct CsvDialect {
  char separator = ',';
  char quote = 0;   // 0: none
  char escape = 0;  // escape within quotes; 0: none, and a doubled quote stands for one
};

// Returns the end of the record at `p`: its line feed, or `stop` if there is none before.  `open` becomes true
// if the record ends within quotes.
const char* find_record_end(const char* p, const char* stop, const CsvDialect& dialect, bool& open);

// One owner thread.  It keeps its memory when it is reused.
class CsvFields {
 public:
  explicit CsvFields(const CsvDialect& dialect) : dialect_(dialect) {}

  // Cuts the record [p, end), which has no line end, into fields.  They are views into the record itself,
  // unless quotes have to be removed.  Blanks around a field without quotes are left out. 8 bytes past `end`
  // may be read.  Throws kData if a quote is not closed, or if text follows it.
  void cut(const char* p, const char* end);

  // Does the same with the record at `p` if it is one line, without line feeds and quotes in its quotes, and returns its
  // end: its line feed, or `stop`; all fields are views into it.  Returns null for any other record.
  const char* cut_line(const char* p, const char* stop);

  size_t size() const { return size_; }
  std::string_view operator[](size_t i) const { return fields_[i]; }
  std::span<const std::string_view> all() const { return {fields_.data(), size_}; }

 private:
  void cut_plain(const char* p, const char* end);
  bool cut_simply_quoted(const char* p, const char* end);
  void cut_quoted(const char* p, const char* end);
  const char* scan_quoted(const char* p, const char* end);
  const char* view_quoted(const char* p, const char* end);
  void grow(size_t more);
  void add(const char* begin, const char* end);

  const CsvDialect dialect_;
  std::vector<std::string_view> fields_;  // the first size_ are those of the record
  size_t size_ = 0;
  std::string unquoted_;  // fields without their quotes, each with padding for scanners
};

}  // namespace ps

#endif  // PS_DATA_CSV_FIELDS_H_
