// LineParser: the loop that all line formats share.  A line is one example; bad lines are listed apart.  Used
// by the formats.
#ifndef PS_DATA_LINE_PARSER_H_
#define PS_DATA_LINE_PARSER_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "data/format.h"
#include "data/negatives.h"
#include "data/part.h"

namespace ps {

// Appends the value of example `size` to an array that stays empty as long as all its elements are standard.
template <class T>
void put_optional(std::vector<T>& values, size_t size, T value, T standard) {
  if (values.empty() && value == standard) return;
  values.resize(size, standard);
  values.push_back(value);
}

// Checks the labels of an example and of those after it; with `sets`, also the labels in the last slot.
void check_labels_from(const LabelCheck& check, const Batch& batch, bool sets, int64_t example);

// Ends the labels of the example that is being added, unless they are ended already.
inline void end_label_set(Batch& batch) {
  SlotData& slot = batch.slots.back();
  if (slot.offsets.size() == batch.labels.size() + 1)
    slot.offsets.push_back(static_cast<uint32_t>(slot.keys.size()));
}

// Memory of a format that lasts for a block.
struct LineScratch {
  virtual ~LineScratch() = default;
};

// Constant once parsing begins: many threads share one parser.
class LineParser : public Parser {
 public:
  explicit LineParser(const ParserSetup& setup)
      : schema_(setup.schema),
        max_bad_lines_(static_cast<uint64_t>(setup.options.max_bad_lines)),
        part_(setup.options),
        negatives_(setup.options),
        part_slot_(setup.schema.find(setup.options.validation_by)),
        sets_(setup.options.multi_label) {}

  void parse(const Block& block, Parsed& out) const final;
  void check_labels(LabelCheck check) final { label_check_ = std::move(check); }
  bool has_parts() const final { return true; }
  bool has_parts_by(const std::string& column) const override { return schema_.find(column) >= 0; }

 protected:
  // Appends the example of a line, or nothing for a comment; the label must be appended last.  The line is
  // [p, end), without \r, and not empty. 8 bytes past the end may be read, and the byte at the end is no part
  // of a number.  Throws kData with the reason alone.
  virtual void parse_line(const char* p, const char* end, Batch& batch) const = 0;

  // Does the same with memory that lasts for a block, for formats that need some, which make_scratch makes.
  virtual void parse_with(LineScratch* scratch, const char* p, const char* end, Batch& batch) const;
  virtual std::unique_ptr<LineScratch> make_scratch() const { return nullptr; }

  // Returns false if the last appended example is not of the part that is read, by the value of its slot.
  // Formats whose examples are decided otherwise override it.
  virtual bool keeps_last(const Batch& batch) const;

  const PartFilter& part() const { return part_; }

  // Returns true if labels are the ids of the last slot of the schema, with data.multi_label.
  bool has_label_sets() const { return sets_; }

  const DataSchema schema_;

 private:
  // Parses all lines; checks the label of each if `checks` is true.
  void parse_lines(const Block& block, bool checks, Parsed& out) const;
  void parse_or_reject(LineScratch* scratch, const char* p, const char* end, const Block& block,
                       uint64_t line, bool checks, Parsed& out) const;
  bool labels_fit(const Batch& batch) const;

  const uint64_t max_bad_lines_;
  const PartFilter part_;
  const NegativeFilter negatives_;
  const int part_slot_;  // the slot whose value decides about parts; -1: none, or the groups
  const bool sets_;
  LabelCheck label_check_;  // empty: all labels are accepted
};

}  // namespace ps

#endif  // PS_DATA_LINE_PARSER_H_
