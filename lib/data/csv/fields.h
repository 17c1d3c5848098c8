// The fields of one record of a table.  Used by the parser and by whoever learns about its columns.
#ifndef PS_DATA_CSV_FIELDS_H_
#define PS_DATA_CSV_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ps {

// Bytes that scanners may read behind a field.
inline constexpr size_t kScanPadding = 8;

// How a table is written.
struct CsvDialect {
  char separator = ',';
  char quote = 0;   // 0: none
  char escape = 0;  // within quotes; 0: none, and a doubled quote stands for one
};

// The end of the record at `p`: its line feed, or `stop` when the record has none before.  `open` becomes true when
// the record ends within quotes.
const char* find_record_end(const char* p, const char* stop, const CsvDialect& dialect, bool& open);

// Reused, it keeps its memory.  One owner thread.
class CsvFields {
 public:
  explicit CsvFields(const CsvDialect& dialect) : dialect_(dialect) {}

  // Cuts the record [p, end), which has no line end, into fields.  They lie in the record itself, unless they have
  // quotes to be taken out; blanks around a field without quotes are left out.  8 bytes past `end` may be read.  Throws
  // kData when a quote is not closed, or something follows it.
  void cut(const char* p, const char* end);

  size_t size() const { return fields_.size(); }
  std::string_view operator[](size_t i) const { return fields_[i]; }

 private:
  void cut_plain(const char* p, const char* end);
  void cut_quoted(const char* p, const char* end);
  const char* scan_quoted(const char* p, const char* end);
  void add(const char* begin, const char* end);

  const CsvDialect dialect_;
  std::vector<std::string_view> fields_;
  std::string unquoted_;  // fields whose quotes were taken out, each with padding for scanners
};

}  // namespace ps

#endif  // PS_DATA_CSV_FIELDS_H_
