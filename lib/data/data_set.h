// DataSet: the files of a reader, their format, their schema and their parser.  Used by BatchReader.
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
  bool stream = false;       // at least one file can be read only once
  bool may_wait = false;     // reading one of the files may block
  uint64_t total_bytes = 0;  // stored bytes of all files
  const FormatEntry* format = nullptr;
  DataSchema parsed_schema;                      // schema of the examples that parsers make
  DataSchema schema;                             // schema after the transformations
  std::shared_ptr<const Vocabulary> vocabulary;  // vocabulary of text, or null
  std::unique_ptr<Parser> parser;
  // Blocks of the first pass, whose first bytes may have been read already.
  std::unique_ptr<BlockStream> blocks;
};

// Opens a data set.  Blocks until the first bytes have arrived if format or schema depend on them.  `options`
// must outlive the data set.  A vocabulary is made if the format needs one and `vocabulary` is null.  Throws as
// BatchReader's constructor does.
DataSet open_data_set(const DataOptions& options, const std::vector<std::string>& paths,
                      const SourceContext& context, std::shared_ptr<const Vocabulary> vocabulary);

}  // namespace ps

#endif  // PS_DATA_DATA_SET_H_
