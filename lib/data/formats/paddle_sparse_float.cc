// The text of PaddlePaddle's demo sparse_train/sparse_float.
//
//   line = [ label "," ] id " " value { "," id " " value } | label       with data.labels false there is no label
#include <memory>

#include "data/feature_run.h"
#include "data/features.h"
#include "data/line_parser.h"
#include "data/scan.h"
#include "data/splitter.h"

namespace ps {

namespace {

// Constant once parsing begins: many threads share one parser.
class PaddleSparseFloatParser : public LineParser {
 public:
  explicit PaddleSparseFloatParser(const ParserSetup& setup)
      : LineParser(setup), labelled_(setup.options.labelled()), slot_(setup.schema.slots[0]) {}

 private:
  void parse_line(const char* p, const char* end, Batch& batch) const override {
    float label = 0;
    if (labelled_) parse_label(p, end, label);
    SlotData& slot = batch.slots[0];
    slot_.begin(slot);
    if (!labelled_) parse_features(p, end, slot);
    while (p != end) parse_features(++p, end, slot);
    slot_.end(slot);
    batch.labels.push_back(label);
  }

  static void parse_label(const char*& p, const char* end, float& label) {
    const char* begin = p;
    const Scan found = scan_float(p, label);
    if (found != Scan::kNumber || !(p == end || *p == ',')) fail_number(found, "label", begin, end);
  }

  void parse_features(const char*& p, const char* end, SlotData& slot) const {
    parse_runs(p, slot);
    parse_feature(p, end, slot);
  }

  // The fast path for plain features.  It stops at the first feature that is not plain or is refused, at the
  // latest before the last feature of the line; parse_feature reads the rest.
  void parse_runs(const char*& p, SlotData& slot) const {
    FeatureRun run;
    const char* begin = p;
    for (scan_run<' ', ',', false>(p, 0, run); run.size > 0; scan_run<' ', ',', false>(p, 0, run)) {
      if (!slot_.add_run(slot, run)) {
        p = begin;
        return;
      }
      begin = p;
    }
  }

  void parse_feature(const char*& p, const char* end, SlotData& slot) const {
    const char* begin = p;
    Key key;
    if (!scan_uint(p, key) || !(p == end || *p == ' ' || *p == ','))
      fail_number(Scan::kNotNumber, "id", begin, end);
    if (p == end || *p != ' ') fail(Code::kData, "no value after id ", key);
    float value = 0;
    begin = ++p;
    Scan found = scan_float(p, value);
    if (found != Scan::kNumber || !(p == end || *p == ','))
      fail_number(found, "value", begin, end, cat(" of key ", key));
    slot_.add(slot, key, value);
  }

  const bool labelled_;
  const FeatureSlot slot_;
};

// Recognises a line of a number and a comma, if there are labels, followed by "id value".
bool recognize_sparse_float(std::string_view line, const DataOptions& data) {
  std::string padded = std::string(line) + std::string(Block::kPadding, '\0');
  const char* p = padded.data();
  float label;
  uint64_t id;
  if (data.labelled() && (scan_float(p, label) != Scan::kNumber || *p++ != ',')) return false;
  return scan_uint(p, id) && *p == ' ';
}

}  // namespace

extern const FormatEntry kPaddleSparseFloat;
const FormatEntry kPaddleSparseFloat = {
    {"paddle_sparse_float", "label,id value,id value,...", no_own_keys},
    false,
    false,
    recognize_sparse_float,
    single_slot_schema,
    split_lines,
    make_parser<PaddleSparseFloatParser>,
};

}  // namespace ps
