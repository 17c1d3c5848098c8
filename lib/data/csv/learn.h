// Learns what the columns of a table hold from its records.  Used where a job leaves that to the data.
#ifndef PS_DATA_CSV_LEARN_H_
#define PS_DATA_CSV_LEARN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/options.h"
#include "data/source.h"

namespace ps {

// True of csv, tsv and jsonl: the formats whose columns data.csv describes.
bool is_table_format(std::string_view format);

struct TableGuess {
  std::string format;     // csv or tsv
  std::string separator;  // as data.csv.separator has it
};

// The format of a file that begins with `head`, if that is a table with a header: the names in its first line are
// no numbers and differ, and the second line has as many columns.  Commas, tabs, semicolons and bars may separate.
std::optional<TableGuess> guess_table(std::string_view head);

// Fills in options.csv, whose format is csv, tsv or jsonl: the label, its classes, all columns, their types, and
// the numbers, bins and words that are learnt from the first `most_records` records.  Keys that are not auto are kept.
// Records that are no good are passed over.  `cut_short`: the data are the beginning of others, and may end within a
// record or a compressed block.  `threads` share the columns of csv and tsv; their number changes nothing.  Throws
// kData for a header without sense, and kUsage when it has not the columns that the options name.
CsvOptions learn_table(const DataOptions& options, const std::vector<std::string>& paths,
                       const SourceContext& context, int64_t most_records, bool cut_short = false,
                       int threads = 1);

}  // namespace ps

#endif  // PS_DATA_CSV_LEARN_H_
