// Formats: how the bytes of a file become examples.  A format is one file in formats/ that ends in one
// FormatEntry, and a line in catalog.cc.  Used by BatchReader.
//
//   ByteSource --Splitter--> Block --Parser--> Parsed          one thread splits, many parse different blocks
#ifndef PS_DATA_FORMAT_H_
#define PS_DATA_FORMAT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/fwd.h"
#include "data/batch.h"
#include "data/options.h"
#include "data/source.h"
#include "data/vocabulary.h"

namespace ps {

// A piece of a file that can be parsed by itself.  Reused: it keeps its memory.
struct Block {
  static constexpr size_t kPadding = 16;  // bytes after the text: scanners load 8 at a time

  std::shared_ptr<const std::string> file;  // its name, for messages
  uint64_t place = 0;                       // number of the first line (from 1), or offset of the first byte
  size_t skip = 0, size = 0;                // the text is bytes [skip, size); more may follow
  std::string bytes;
  std::string carry;  // what the format needs of the text before

  std::string_view text() const { return std::string_view(bytes).substr(skip, size - skip); }
};

// Cuts one file into blocks.  One owner thread.
class Splitter {
 public:
  virtual ~Splitter() = default;

  // False at the end of the file.  What was whole before a fault is given before the fault is thrown.
  virtual bool next(Block& block) = 0;
};

// A line that was left out.
struct BadLine {
  int64_t before;       // the example of the block that it would have been
  std::string message;  // "file:line: what is wrong"
};

// The examples of a block.  Reused: it keeps its memory.
struct Parsed {
  Batch batch;
  std::vector<BadLine> bad;
};

// Throws kData when a label makes no sense to whoever uses it: "label 7.5 is not a class of 10".
using LabelCheck = std::function<void(float label)>;

// Makes examples of blocks.  Constant once it is used: many threads use one parser.
class Parser {
 public:
  virtual ~Parser() = default;

  // Lines whose label is refused are bad lines; formats without lines have none of those.
  virtual void check_labels(LabelCheck check) { (void)check; }

  // Replaces `out`.  A bad line is listed in `out.bad`; anything worse is thrown.
  virtual void parse(const Block& block, Parsed& out) const = 0;
};

// What the parser of a data set is made from.
struct ParserSetup {
  const DataOptions& options;
  const DataSchema& schema;  // of the examples as they are parsed, before transformations
  std::string_view head;     // the first bytes of the first file, with its first line, or empty
  std::shared_ptr<const Vocabulary> vocabulary;  // of text
};

struct FormatEntry : CatalogEntry {
  bool needs_head;  // schema and parser depend on the first bytes
  bool needs_vocabulary;
  bool (*recognize)(std::string_view line, const DataOptions& data);  // is this its first line?
  DataSchema (*schema)(const DataOptions& data, std::string_view head);
  std::unique_ptr<Splitter> (*split)(const DataOptions& data, ByteSource& source);
  std::unique_ptr<Parser> (*make)(const ParserSetup& setup);
  bool always_labelled = false;  // its files hold labels by themselves
};

// For FormatEntry::schema, of formats with one slot; and for FormatEntry::make.
inline DataSchema single_slot_schema(const DataOptions& data, std::string_view) {
  return data.single_slot();
}
template <class ConcreteParser>
std::unique_ptr<Parser> make_parser(const ParserSetup& setup) {
  return std::make_unique<ConcreteParser>(setup);
}

// Every format, in the order of the manual, and of recognition.
std::span<const FormatEntry* const> format_catalog();
std::vector<std::string> format_names();  // with "auto", which comes first

// Throws kUsage when there is none of this name.
const FormatEntry& find_format(const std::string& name);

// The format of a file that begins with `head`.  Throws kData, naming the file, when none fits.
const FormatEntry& recognize_format(const DataOptions& data, std::string_view head, std::string_view file);

// True when `head` holds all that recognition and FormatEntry::schema need.
bool head_is_enough(std::string_view head);

// The first line of `head` that is neither blank nor a comment, without its end.
std::string_view first_line(std::string_view head);

const AnySpec& no_own_keys();  // the "data" section holds the keys of all formats

}  // namespace ps

#endif  // PS_DATA_FORMAT_H_
