// CsvSplitter: splits tables into blocks of whole records.  Used by the formats csv and tsv.
#ifndef PS_DATA_CSV_SPLITTER_H_
#define PS_DATA_CSV_SPLITTER_H_

#include <cstdint>
#include <string>

#include "data/csv/fields.h"
#include "data/splitter.h"

namespace ps {

// A record ends with its line, unless the line ends within quotes.  The header of the file is the carry of each
// of its blocks.  One owner thread.
class CsvSplitter : public Splitter {
 public:
  CsvSplitter(ByteSource& source, const CsvDialect& dialect, bool has_header)
      : name_(source.name()), lines_(source), dialect_(dialect), has_header_(has_header) {}

  // Throws kData "file:line: …" if the quotes of a record are not closed within 16 MiB.
  bool next(Block& block) override;

 private:
  void move_pending(Block& block);
  void hold_open_record(Block& block);
  void move_header(Block& block);
  [[noreturn]] void fail_open() const;

  const std::shared_ptr<const std::string> name_;
  LineSplitter lines_;
  const CsvDialect dialect_;
  const bool has_header_;
  bool header_moved_ = false;
  std::string header_;
  std::string pending_;        // the beginning of a record that continues in the next block
  uint64_t pending_line_ = 0;  // number of its first line
};

}  // namespace ps

#endif  // PS_DATA_CSV_SPLITTER_H_
