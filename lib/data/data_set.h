// What a reader reads: files, their format, the schema, the parser.  Used by BatchReader.
#ifndef PS_DATA_DATA_SET_H_
#define PS_DATA_DATA_SET_H_

#include <memory>
#include <string>
#include <vector>

#include "data/block_stream.h"
#include "data/format.h"

namespace ps {

struct DataSet {
  std::vector<InputFile> files;
  bool stream = false;       // one of them can be read only once
  bool may_wait = false;     // for one of them
  uint64_t total_bytes = 0;  // of all files, as stored
  const FormatEntry* format = nullptr;
  DataSchema parsed_schema;                      // as parsers make examples
  DataSchema schema;                             // after the transformations
  std::shared_ptr<const Vocabulary> vocabulary;  // of text
  std::unique_ptr<Parser> parser;
  std::unique_ptr<BlockStream> blocks;  // of the first pass, whose first bytes may have been read already
};

// Waits for the first bytes where format or schema depend on them.  `options` must outlive the data set; a
// `vocabulary` is made when it is needed and null.  Throws what BatchReader's constructor does.
DataSet open_data_set(const DataOptions& options, const std::vector<std::string>& paths,
                      const SourceContext& context, std::shared_ptr<const Vocabulary> vocabulary);

}  // namespace ps

#endif  // PS_DATA_DATA_SET_H_
