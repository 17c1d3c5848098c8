// The text of Vowpal Wabbit (its wiki, "Input format").
//
//   line      = [ label [ weight [ base ] ] ] [ tag ] { "|" namespace }
//   namespace = [ name [ ":" scale ] ] { blank name [ ":" value ] }          a value left out is 1
//
// A word that touches the first bar, or begins with an apostrophe, is the tag; base and tag are ignored.  A
// name follows its bar at once; after a blank come the features of the nameless namespace.
//
// The id of a feature is hash_bytes(name, hash_bytes(namespace)), modulo the dim of its slot if that is not 0.
#include <algorithm>
#include <map>
#include <memory>

#include "base/hash.h"
#include "data/features.h"
#include "data/line_parser.h"
#include "data/scan.h"
#include "data/splitter.h"

namespace ps {

namespace {

bool is_vw_blank(char c) {
  return c == ' ' || c == '\t';
}

// Constant once parsing begins: many threads share one parser.
class VwParser : public LineParser {
 public:
  explicit VwParser(const ParserSetup& setup)
      : LineParser(setup),
        labelled_(setup.options.labelled() && setup.options.label_use != LabelUse::kIgnored),
        one_slot_(setup.options.slots.empty()) {
    for (size_t s = 0; s < schema_.slots.size(); ++s) {
      slots_.emplace_back(schema_.slots[s]);
      by_name_.emplace(schema_.slots[s].name, s);
    }
  }

 private:
  // A line, by which messages give positions: columns count from 1.
  struct Line {
    const char* begin;
    const char* end;

    std::string column(const char* p) const { return cat("column ", p - begin + 1, ": "); }
  };

  // A line is a header and any number of namespaces, each of which begins with a bar.  Several may have the
  // same slot, so slots end with the line.
  void parse_line(const char* p, const char* end, Batch& batch) const override {
    const Line line{p, end};
    while (p != end && is_vw_blank(*p)) ++p;
    if (p == end) return;
    const char* bar = std::find(p, end, '|');
    float label = 0, weight = 1;
    parse_header(line, p, bar, label, weight);
    for (p = bar; p != end;) p = parse_namespace(line, p + 1, batch);
    for (size_t s = 0; s < slots_.size(); ++s) slots_[s].end(batch.slots[s]);
    put_optional(batch.weights, batch.labels.size(), weight, 1.0f);
    batch.labels.push_back(label);
  }

  // Parses the words before the first bar: up to three numbers, label, weight and base, and a tag behind
  // them.  A word is a tag if it begins with an apostrophe or touches the bar; nothing may follow it.
  // Throws kData for further words, and if an example that needs a label has none.
  void parse_header(const Line& line, const char* p, const char* bar, float& label, float& weight) const {
    static constexpr const char* kHeader[] = {"label", "weight", "base"};
    size_t numbers = 0;
    bool tagged = false;
    while (p != bar) {
      const char* word_end = std::find_if(p, bar, is_vw_blank);
      const bool is_tag = *p == '\'' || (word_end == bar && bar != line.end);
      if (tagged || (!is_tag && numbers == 3)) {
        fail(Code::kData, line.column(p), "expected '|', found ",
             quote({p, static_cast<size_t>(word_end - p)}));
      }
      if (!is_tag) {
        const float number = parse_number(line, p, word_end, kHeader[numbers]);
        if (numbers == 0) label = number;
        if (numbers == 1) weight = number;
        ++numbers;
      }
      tagged = is_tag;
      for (p = word_end; p != bar && is_vw_blank(*p);) ++p;
    }
    if (weight < 0) fail(Code::kData, "weight ", weight, " is negative");
    if (numbers > 0 || !labelled_) return;
    fail(Code::kData, line.column(bar), "no label before the first '|', which a word that touches it is not");
  }

  // Parses the namespace that begins after a bar.  Returns its end: the next bar, or the end of the line.
  const char* parse_namespace(const Line& line, const char* p, Batch& batch) const {
    const char* stop = std::find(p, line.end, '|');
    const char* name_end = std::find_if(p, stop, is_vw_blank);
    const char* colon = std::find(p, name_end, ':');
    const std::string_view name(p, static_cast<size_t>(colon - p));
    const float scale = colon == name_end ? 1 : parse_number(line, colon + 1, name_end, "scale");
    const size_t s = find_slot(line, p, name);
    const uint64_t seed = hash_bytes(name);
    for (p = name_end; p != stop;) {
      while (p != stop && is_vw_blank(*p)) ++p;
      const char* word_end = std::find_if(p, stop, is_vw_blank);
      if (word_end != p) add_feature(line, p, word_end, seed, scale, s, batch);
      p = word_end;
    }
    return stop;
  }

  // Appends name[:value] of a namespace.  `seed` is the hash of the namespace's name, so that the same name
  // in two namespaces gives two ids.  `scale` multiplies each value.
  void add_feature(const Line& line, const char* p, const char* end, uint64_t seed, float scale, size_t s,
                   Batch& batch) const {
    const char* colon = std::find(p, end, ':');
    Key key = hash_bytes({p, static_cast<size_t>(colon - p)}, seed);
    if (schema_.slots[s].dim > 0) key %= static_cast<Key>(schema_.slots[s].dim);
    const float value = scale * (colon == end ? 1 : parse_number(line, colon + 1, end, "value"));
    if (!std::isfinite(value)) fail(Code::kData, line.column(p), "the value times its scale is not finite");
    slots_[s].add(batch.slots[s], key, value);
  }

  size_t find_slot(const Line& line, const char* p, std::string_view name) const {
    if (one_slot_) return 0;
    const auto found = by_name_.find(name.empty() ? std::string_view("features") : name);
    if (found != by_name_.end()) return found->second;
    std::vector<std::string> names;
    for (const SlotSchema& slot : schema_.slots) names.push_back(slot.name);
    fail(Code::kData, line.column(p), "namespace ", quote(name),
         " is none of data.slots: ", join(names, ", "));
  }

  static float parse_number(const Line& line, const char* p, const char* end, const char* what) {
    const char* begin = p;
    float number = 0;
    const Scan found = scan_float(p, number);
    if (found == Scan::kNumber && p == end) return number;
    fail(Code::kData, line.column(begin), what, " ", quote({begin, static_cast<size_t>(end - begin)}),
         found == Scan::kNotFinite ? " is not finite" : " is not a number");
  }

  const bool labelled_;  // each example needs a label
  const bool one_slot_;  // all namespaces share one slot
  std::vector<FeatureSlot> slots_;
  std::map<std::string, size_t, std::less<>> by_name_;
};

DataSchema vw_schema(const DataOptions& data, std::string_view) {
  if (data.slots.empty()) {
    if (data.dense) fail(Code::kUsage, "data.dense: the features of format 'vw' have names, and no places");
    return data.single_slot();
  }
  DataSchema schema;
  for (const SlotOptions& slot : data.slots) {
    if (slot.type == "dense")
      fail(Code::kUsage, "data.slots: ", quote(slot.name),
           " is dense, and namespaces of format 'vw' are sparse");
    schema.slots.push_back({slot.name, false, slot.dim});
  }
  return schema;
}

// Recognises a bar at the beginning of the line or after a blank, with only numbers and a tag before it.
bool recognize_vw(std::string_view line, const DataOptions&) {
  const size_t bar = line.find('|');
  if (bar == std::string_view::npos) return false;
  std::string_view header = line.substr(0, bar);
  // Each turn takes one word of the header: at most three numbers and a tag make sense, and the fifth turn
  // finds the end.
  for (size_t words = 0; words < 5; ++words) {
    header.remove_prefix(std::min(header.find_first_not_of(" \t"), header.size()));
    if (header.empty()) return true;
    const size_t size = std::min(header.find_first_of(" \t"), header.size());
    const bool last = size == header.size();
    if (!parse_double(header.substr(0, size)) && header[0] != '\'') return last && words > 0;
    if (last) return words > 0;  // the word touches the bar, as a tag does
    header.remove_prefix(size);
  }
  return false;
}

}  // namespace

extern const FormatEntry kVw;
const FormatEntry kVw = {
    {"vw", "[label [weight]] ['tag] |namespace[:scale] feature[:value] ..., of Vowpal Wabbit", no_own_keys},
    false,
    false,
    recognize_vw,
    vw_schema,
    split_lines,
    make_parser<VwParser>,
};

}  // namespace ps
