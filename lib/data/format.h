// Formats, which turn the bytes of a file into examples.  A format is one file in formats/ that ends in one
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
#include "data/block.h"
#include "data/options.h"
#include "data/source.h"
#include "data/vocabulary.h"

namespace ps {

// A bad line, which was left out.
struct BadLine {
  int64_t before;       // number of good examples of the block before it
  std::string message;  // "file:line: reason"
};

// The examples of a block.  Reused, it keeps its memory.
struct Parsed {
  size_t file_number = 0;  // file_number of the block
  Batch batch;
  std::vector<BadLine> bad;
};

// Throws kData if a label makes no sense for the task: "label 7.5 is not a class of 10".
using LabelCheck = std::function<void(float label)>;

// Turns blocks into examples.  Constant once parsing begins: many threads share one parser.
class Parser {
 public:
  virtual ~Parser() = default;

  // Sets the check of labels: a line whose label it refuses is a bad line.  Formats without lines do not call
  // it.
  virtual void check_labels(LabelCheck check) { (void)check; }

  // Returns true if the format obeys DataOptions::part, as formats do that can decide about single examples.
  virtual bool has_parts() const { return false; }

  // Returns true if the format obeys DataOptions::negative_rate.
  virtual bool samples_negatives() const { return has_parts(); }

  // Returns true if DataOptions::validation_by may be this column or slot.
  virtual bool has_parts_by(const std::string& column) const {
    (void)column;
    return false;
  }

  // Replaces `out` by the examples of the block.  Lists bad lines in `out.bad`, and throws all other errors.
  virtual void parse(const Block& block, Parsed& out) const = 0;
};

// The arguments from which the parser of a data set is made.
struct ParserSetup {
  const DataOptions& options;
  const DataSchema& schema;  // schema of the parsed examples, before transformations
  std::string_view head;     // the first bytes of the first file, with its first line, or empty
  std::shared_ptr<const Vocabulary> vocabulary;  // for plain text, else null
};

struct FormatEntry : CatalogEntry {
  bool needs_head;  // schema and parser depend on the first bytes
  bool needs_vocabulary;
  // True if the line is a first line of this format.
  bool (*recognize)(std::string_view line, const DataOptions& data);
  DataSchema (*schema)(const DataOptions& data, std::string_view head);
  std::unique_ptr<Splitter> (*split)(const DataOptions& data, ByteSource& source);
  std::unique_ptr<Parser> (*make)(const ParserSetup& setup);
  bool always_labelled = false;  // its files always contain labels
  bool label_sets = false;       // it supports data.multi_label
};

// Formats with one slot use this as their FormatEntry::schema.
inline DataSchema single_slot_schema(const DataOptions& data, std::string_view) {
  return data.single_slot();
}
template <class ConcreteParser>
std::unique_ptr<Parser> make_parser(const ParserSetup& setup) {
  return std::make_unique<ConcreteParser>(setup);
}

// All formats, in the order of the manual and of recognition.
std::span<const FormatEntry* const> format_catalog();
std::vector<std::string> format_names();  // with "auto" as the first one

// Throws kUsage if there is no format of this name.
const FormatEntry& find_format(const std::string& name);

// Returns the format of a file that begins with `head`.  Throws kData, naming the file, if none fits.
const FormatEntry& recognize_format(const DataOptions& data, std::string_view head, std::string_view file);

// Throws kUsage if the data have data.multi_label and the format does not support it.
void check_label_sets(const DataOptions& data, const FormatEntry& format);

// Returns true if `head` is long enough for recognition and for FormatEntry::schema.
bool head_is_enough(std::string_view head);

// Returns the first line of `head` that is neither blank nor a comment, without its end.
std::string_view first_line(std::string_view head);

const AnySpec& no_own_keys();  // the "data" section holds the keys of all formats

}  // namespace ps

#endif  // PS_DATA_FORMAT_H_
