// The text of PaddlePaddle's demo sparse_train/sparse_binary.
//
//   line = flag [ "," label ] { "," id " 1" }        all whole numbers; the flag is not used; with data.labels
//                                                    false there is no label
#include <memory>

#include "data/feature_run.h"
#include "data/features.h"
#include "data/line_parser.h"
#include "data/scan.h"
#include "data/splitter.h"

namespace ps {

namespace {

constexpr uint64_t kLargestLabel = uint64_t{1} << 24;  // up to here floats hold whole numbers without error

// Constant once parsing begins: many threads share one parser.
class PaddleSparseBinaryParser : public LineParser {
 public:
  explicit PaddleSparseBinaryParser(const ParserSetup& setup)
      : LineParser(setup), labelled_(setup.options.labelled()), slot_(setup.schema.slots[0]) {}

 private:
  // At the beginning of each turn p is at a comma.  The features behind it are read in runs up to the last
  // one at most, which parse_feature reads, since no comma follows it.
  void parse_line(const char* p, const char* end, Batch& batch) const override {
    uint64_t flag, label = 0;
    parse_uint_before_comma(p, end, "flag", flag);
    if (labelled_ && p == end) fail(Code::kData, "no label after the flag");
    if (labelled_) parse_uint_before_comma(++p, end, "label", label);
    if (label > kLargestLabel) fail(Code::kData, "label ", label, " is larger than ", kLargestLabel);
    SlotData& slot = batch.slots[0];
    slot_.begin(slot);
    while (p != end) {
      parse_runs(++p, slot);
      parse_feature(p, end, slot);
    }
    slot_.end(slot);
    batch.labels.push_back(static_cast<float>(label));
  }

  static void parse_uint_before_comma(const char*& p, const char* end, std::string_view what,
                                      uint64_t& value) {
    const char* begin = p;
    if (!scan_uint(p, value) || !(p == end || *p == ',')) fail_number(Scan::kNotNumber, what, begin, end);
  }

  // The fast path for plain features.  It stops at the first feature that is not plain or is refused, at the
  // latest before the last feature of the line; parse_feature reads the rest.
  void parse_runs(const char*& p, SlotData& slot) const {
    FeatureRun run;
    const char* begin = p;
    for (scan_run<' ', ',', true>(p, 0, run); run.size > 0; scan_run<' ', ',', true>(p, 0, run)) {
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
    bool marked = end - p >= 2 && p[0] == ' ' && p[1] == '1' && (p + 2 == end || p[2] == ',');
    if (!marked) fail(Code::kData, "no ' 1' after id ", key);
    p += 2;
    slot_.add(slot, key);
  }

  const bool labelled_;
  const FeatureSlot slot_;
};

// Recognises a line of two whole numbers, or one without labels, followed by the end or by "id 1".
bool recognize_sparse_binary(std::string_view line, const DataOptions& data) {
  std::string padded = std::string(line) + std::string(Block::kPadding, '\0');
  const char* p = padded.data();
  uint64_t number;
  if (!scan_uint(p, number)) return false;
  if (data.labelled() && (*p++ != ',' || !scan_uint(p, number))) return false;
  return *p == '\0' || (*p++ == ',' && scan_uint(p, number) && *p == ' ');
}

}  // namespace

extern const FormatEntry kPaddleSparseBinary;
const FormatEntry kPaddleSparseBinary = {
    {"paddle_sparse_binary", "flag,label,id 1,id 1,...", no_own_keys},
    false,
    false,
    recognize_sparse_binary,
    single_slot_schema,
    split_lines,
    make_parser<PaddleSparseBinaryParser>,
};

}  // namespace ps
