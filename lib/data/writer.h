// Writers of every data format: they turn batches into bytes that the readers turn back into the same
// batches.  Used by ps-datagen and by `ps-train --job convert`.
//
// Adding a format is a file writer_<name>.cc that ends in one WriterEntry, and a line in writer.cc.
#ifndef PS_DATA_WRITER_H_
#define PS_DATA_WRITER_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "data/batch.h"

namespace ps {

// Facts about the batches of a source that their schema does not tell.
struct DataTraits {
  enum Content {
    kFeatures,   // labels and slots
    kSentences,  // one sparse slot whose keys are the numbers of words, in order, repeats included; no labels
    kCriteoSlots,  // the slots that writers/criteo.cc lists
  };
  DataSchema schema;
  Content content = kFeatures;
  bool valued = false;       // a sparse slot may have values other than 1
  bool keeps_empty = false;  // sparse slots without ids are written so, and not as others want them
};

// Appends the examples of batches to strings.  Constant after construction: any thread may format, so that
// threads may format the blocks of one stream.
class Writer {
 public:
  explicit Writer(DataSchema schema) : schema_(std::move(schema)) {}
  virtual ~Writer() = default;
  const DataSchema& schema() const { return schema_; }

  virtual void begin(std::string&) const {}  // before the first example
  virtual void format(const Batch& batch, std::string& out) const = 0;
  virtual void end(std::string&) const {}  // after the last one

 private:
  const DataSchema schema_;
};

struct WriterEntry {
  std::string_view name;                    // name of the format
  std::string_view help;                    // one sentence, for lists and manuals
  bool binary;                              // the output is not for terminals
  bool sorted;                              // other programs need the ids of a row in ascending order
  void (*check)(const DataTraits& traits);  // throws kUsage if the format cannot express such batches
  std::unique_ptr<Writer> (*make)(const DataTraits& traits);
};

std::span<const WriterEntry* const> writer_catalog();

// Throws kUsage with the names of all formats.
const WriterEntry& find_writer(std::string_view format);

// Makes a writer.  Throws kUsage if the format cannot express the batches.
std::unique_ptr<Writer> make_writer(const WriterEntry& entry, const DataTraits& traits);

// For the writers' own checks: throws kUsage unless the slots are labelled features of sparse ids.
void expect_sparse_features(const DataTraits& traits, std::string_view format);

// Returns the ids of an example.
inline std::span<const Key> row_keys(const SlotData& slot, size_t example) {
  return std::span(slot.keys).subspan(slot.offsets[example],
                                      slot.offsets[example + 1] - slot.offsets[example]);
}

// Sorts the ids of each row of each sparse slot, with their values.
void sort_rows(const DataSchema& schema, Batch& batch);

}  // namespace ps

#endif  // PS_DATA_WRITER_H_
