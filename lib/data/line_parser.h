// The loop that all line formats share: one example a line, bad lines set aside.
#ifndef PS_DATA_LINE_PARSER_H_
#define PS_DATA_LINE_PARSER_H_

#include <cstdint>
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

class LineParser : public Parser {
 public:
  explicit LineParser(const ParserSetup& setup)
      : schema_(setup.schema),
        max_bad_lines_(static_cast<uint64_t>(setup.options.max_bad_lines)),
        part_(setup.options),
        negatives_(setup.options),
        part_slot_(setup.schema.find(setup.options.validation_by)) {}

  void parse(const Block& block, Parsed& out) const final;
  void check_labels(LabelCheck check) final { label_check_ = std::move(check); }
  bool has_parts() const final { return true; }
  bool has_parts_by(const std::string& column) const override { return schema_.find(column) >= 0; }

 protected:
  // Appends the example of a line, or nothing for a comment; the label must be appended last.  The line is
  // [p, end), without \r, and not empty. 8 bytes past the end may be read, and the byte at the end is no part
  // of a number.  Throws kData with the reason alone.
  virtual void parse_line(const char* p, const char* end, Batch& batch) const = 0;

  // False when the example that was appended last is not of the part that is read, by the value of its slot.  Formats
  // that know it better leave it to this, or replace it.
  virtual bool keeps_last(const Batch& batch) const;

  const PartFilter& part() const { return part_; }

  const DataSchema schema_;

 private:
  // Parses all lines; checks the label of each if `checks` is true.
  void parse_lines(const Block& block, bool checks, Parsed& out) const;
  void parse_or_reject(const char* p, const char* end, const Block& block, uint64_t line, bool checks,
                       Parsed& out) const;
  bool labels_fit(const Batch& batch) const;

  const uint64_t max_bad_lines_;
  const PartFilter part_;
  const NegativeFilter negatives_;
  const int part_slot_;     // whose value decides about parts; -1: none, or the groups
  LabelCheck label_check_;  // empty: all labels are accepted
};

}  // namespace ps

#endif  // PS_DATA_LINE_PARSER_H_
