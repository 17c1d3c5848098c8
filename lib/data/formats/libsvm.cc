// The text of libsvm and svmlight (Chang and Lin, "LIBSVM", 2011), with extensions of other programs.
//
//   line    = [ example ] [ "#" comment ]
//   example = label [ ":" weight ] features
//           | features                                                               with data.labels false
//           | [ class { "," class } ] features                                     with data.multi_label
//   features = [ "qid:" uint ] { index [ ":" value ] }                               a value left out is 1
#include <algorithm>
#include <cstring>
#include <memory>

#include "data/feature_run.h"
#include "data/features.h"
#include "data/line_parser.h"
#include "data/scan.h"
#include "data/splitter.h"

namespace ps {

namespace {

void skip_blanks(const char*& p) {
  while (*p == ' ' || *p == '\t') ++p;
}

// Returns true at the end of a token: at a blank, a comment, or the end of the line.
bool at_end(const char* p, const char* end) {
  return p == end || *p == ' ' || *p == '\t' || *p == '#';
}

// Constant once parsing begins: many threads share one parser.
class LibsvmParser : public LineParser {
 public:
  explicit LibsvmParser(const ParserSetup& setup)
      : LineParser(setup),
        base_(static_cast<Key>(setup.options.index_base)),
        labelled_(setup.options.labelled()),
        guesses_(setup.options.label_use == LabelUse::kIgnored && !setup.options.labels),
        slot_(setup.schema.slots[0], base_) {}

  bool has_parts_by(const std::string& column) const override {
    return column == "qid" || LineParser::has_parts_by(column);
  }

 private:
  // With multi_label, a line that begins with a blank has no labels: its first word is a feature.  The loop
  // over features tries to read many at once; where that ends early, it reads one in any form and tries
  // again.  The label is appended last, because it makes the example count.
  void parse_line(const char* p, const char* end, Batch& batch) const override {
    const char* const begin = p;
    skip_blanks(p);
    if (p == end || *p == '#') return;
    float label = 0, weight = 1;
    if (has_label_sets()) {
      if (labelled_ && p == begin) parse_labels(p, end, batch.slots[1]);
      end_label_set(batch);
    } else if (labelled_) {
      parse_label(p, end, label, weight);
    }
    skip_blanks(p);
    uint64_t group = 0;
    if (*p == 'q') parse_group(p, end, group);
    SlotData& slot = batch.slots[0];
    slot_.begin(slot);
    for (skip_blanks(p); p != end && *p != '#'; skip_blanks(p)) {
      if (!parse_runs(p, end, slot)) parse_feature(p, end, slot);
    }
    slot_.end(slot);
    put_optional(batch.weights, batch.labels.size(), weight, 1.0f);
    put_optional(batch.groups, batch.labels.size(), group, uint64_t{0});
    batch.labels.push_back(label);
  }

  // Parses "label" or "label:weight".  Without data.labels, and for a task that needs none, the latter
  // might be the first feature of a line without a label, and only the user can tell.
  void parse_label(const char*& p, const char* end, float& label, float& weight) const {
    if (is_digit(p[0]) && p[1] == ' ') {  // the label of nearly every line
      label = static_cast<float>(*p++ - '0');
      return;
    }
    const char* begin = p;
    Scan found = scan_float(p, label);
    if (found != Scan::kNumber || !(at_end(p, end) || *p == ':')) fail_number(found, "label", begin, end);
    if (*p != ':') return;
    if (guesses_) {
      const std::string_view line(begin, static_cast<size_t>(end - begin));
      fail(Code::kUsage, quote(line.substr(0, line.find_first_of(" \t"))),
           " at the beginning of a line is a label with its weight, or the first feature of a line without a "
           "label: say which with --set data.labels=true or false");
    }
    begin = ++p;
    found = scan_float(p, weight);
    if (found != Scan::kNumber || !at_end(p, end)) fail_number(found, "weight", begin, end);
    if (weight < 0) fail(Code::kData, "weight ", quote(token_at(begin, end)), " is negative");
  }

  // Takes the first word of a line as its labels, unless it has a colon: then it is a feature of an example
  // without labels.
  static void parse_labels(const char*& p, const char* end, SlotData& slot) {
    const char* colon = p;
    while (!at_end(colon, end) && *colon != ':') ++colon;
    if (!at_end(colon, end)) return;
    for (const char* begin = p;; begin = ++p) {
      Key label;
      if (!scan_uint(p, label) || !(at_end(p, end) || *p == ','))
        fail_number(Scan::kNotNumber, "label", begin, end);
      slot.keys.push_back(label);
      if (*p != ',') return;
    }
  }

  static void parse_group(const char*& p, const char* end, uint64_t& group) {
    const char* begin = p;
    bool named = std::string_view(p, static_cast<size_t>(end - p)).starts_with("qid:");
    p += named ? 4 : 0;
    if (!named || !scan_uint(p, group) || !at_end(p, end)) {
      fail(Code::kData, quote(std::string_view(begin, static_cast<size_t>(end - begin)).substr(0, 24)),
           " is not a qid:number");
    }
  }

  // The fast path.  Returns false, with p unchanged, when the feature at p is not plain, or an id of the
  // first run is refused.
  // It cuts what is left of the line, or as much as two runs hold, into halves at a blank, and scans both
  // from their beginnings at the same time.  If the first run stops before `middle`, the second is empty,
  // since there would be a gap between them.  If an id of the second run is refused, p is left at `middle`,
  // and parse_feature comes to that id and names it.
  bool parse_runs(const char*& p, const char* end, SlotData& slot) const {
    constexpr std::ptrdiff_t kMostBytes = 4 * FeatureRun::kMost;  // a feature has at least 4 bytes
    std::ptrdiff_t half = std::min((end - p) / 2, kMostBytes), rest = std::min(end - p - half, kMostBytes);
    const void* blank = std::memchr(p + half, ' ', static_cast<size_t>(rest));
    if (!blank) return false;
    const char *middle = static_cast<const char*>(blank) + 1, *stop = p;
    FeatureRun first, second;
    scan_two_runs<':', ' ', false>(stop, middle, base_, first, second);
    if (stop >= middle) scan_last<':', '\n', false>(stop, end, base_, second);
    if (first.size == 0 || !slot_.add_run(slot, first)) return false;
    p = slot_.add_run(slot, second) ? stop : middle;
    return true;
  }

  // Parses "id" or "id:value" of any form.  The value 1 is by far the most frequent one.
  void parse_feature(const char*& p, const char* end, SlotData& slot) const {
    const char* begin = p;
    Key key;
    if (!scan_uint(p, key) || !(at_end(p, end) || *p == ':')) fail_number(Scan::kNotNumber, "id", begin, end);
    if (key < base_) fail(Code::kData, "id ", key, " is below index_base ", base_);
    if (*p != ':') return slot_.add(slot, key - base_);
    if (p[1] == '1' && at_end(p + 2, end)) {
      p += 2;
      return slot_.add(slot, key - base_);
    }
    float value = 0;
    const char* value_begin = ++p;
    Scan found = scan_float(p, value);
    if (found != Scan::kNumber || !at_end(p, end))
      fail_number(found, "value", value_begin, end, cat(" of key ", key));
    slot_.add(slot, key - base_, value);
  }

  const Key base_;
  const bool labelled_;
  const bool guesses_;  // data.labels is not set and the task needs no labels: each line's form decides
  const FeatureSlot slot_;
};

// Recognises a line with a label, if the data have labels, followed by the end, "qid:", or an id with a
// colon.  The line is copied, since scanners read 8 bytes behind its end.
bool recognize_libsvm(std::string_view line, const DataOptions& data) {
  std::string padded = std::string(line) + std::string(Block::kPadding, '\0');
  const char *p = padded.data(), *end = p + line.size();
  float number;
  skip_blanks(p);
  if (data.labelled() && data.multi_label) {
    line = std::string_view(p, static_cast<size_t>(end - p));
    const std::string_view word = line.substr(0, std::min(line.find_first_of(" \t#"), line.size()));
    if (word.find_first_not_of("0123456789,") == std::string_view::npos) p += word.size();
    skip_blanks(p);
  } else if (data.labelled()) {
    if (scan_float(p, number) != Scan::kNumber || (*p == ':' && scan_float(++p, number) != Scan::kNumber))
      return false;
    if (!at_end(p, end)) return false;
    skip_blanks(p);
  }
  uint64_t id;
  return p == end || *p == '#' || std::string_view(p).starts_with("qid:") || (scan_uint(p, id) && *p == ':');
}

}  // namespace

extern const FormatEntry kLibsvm;
const FormatEntry kLibsvm = {
    {"libsvm", "label[:weight] [qid:n] id[:value] ... # comment", no_own_keys},
    false,
    false,
    recognize_libsvm,
    single_slot_schema,
    split_lines,
    make_parser<LibsvmParser>,
    false,
    true,
};

}  // namespace ps
