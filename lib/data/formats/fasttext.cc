// The lines of fastText's classifiers: words between blanks.  Words that begin with the prefix are labels.
//
//   line = { word blank } prefix label { blank word }          exactly one label, anywhere in the line
//
// With data.multi_label a line has any number of labels.
//
// A label is a class of data.fasttext.classes, or a number if that is empty.  The features are those of
// data/text_features.h, with hash_bytes("features") as their seed, modulo the dim if that is not 0.
#include <cmath>
#include <memory>
#include <optional>
#include <unordered_map>

#include "base/hash.h"
#include "data/line_parser.h"
#include "data/scan.h"
#include "data/splitter.h"
#include "data/text_features.h"

namespace ps {

namespace {

// Constant once parsing begins: many threads share one parser.
class FastTextParser : public LineParser {
 public:
  explicit FastTextParser(const ParserSetup& setup)
      : LineParser(setup),
        options_(setup.options.fasttext),
        needs_label_(setup.options.labelled() && setup.options.label_use != LabelUse::kIgnored &&
                     !setup.options.multi_label),
        ignores_label_(setup.options.label_use == LabelUse::kIgnored),
        seed_(hash_bytes("features")) {
    for (const std::string& word : options_.classes) classes_.emplace(word, classes_.size());
  }

 private:
  // Sorts the words of a line into labels and text.  Each turn takes the word [begin, at).  The text is put
  // together again without the labels, so that runs of words reach across them.  A line without words is no
  // example.
  void parse_line(const char* p, const char* end, Batch& batch) const override {
    const std::string_view line(p, static_cast<size_t>(end - p));
    std::string text;  // the line without labels
    bool labelled = false;
    float label = 0;
    for (size_t at = 0; at < line.size();) {
      const size_t begin = std::min(line.find_first_not_of(" \t", at), line.size());
      at = std::min(line.find_first_of(" \t", begin), line.size());
      const std::string_view word = line.substr(begin, at - begin);
      if (!word.starts_with(options_.label_prefix) || options_.label_prefix.empty()) {
        text.append(word).append(" ");
        continue;
      }
      if (labelled && !ignores_label_ && !has_label_sets()) {
        fail(Code::kData, "a second label, ", quote(word),
             ": one is expected (data.multi_label is for any number of them)");
      }
      add_label(word, label, batch);
      labelled = true;
    }
    if (!labelled && text.empty()) return;
    if (has_label_sets()) end_label_set(batch);
    if (!labelled && needs_label_)
      fail(Code::kData, "no label: no word begins with ", quote(options_.label_prefix));
    put_features(text, batch);
    batch.labels.push_back(label);
  }

  // Appends the features of the text, as ids below the dim if it has one, and ends the example's slot.
  void put_features(std::string_view text, Batch& batch) const {
    SlotData& slot = batch.slots[0];
    const size_t first = slot.keys.size();
    add_text_features(options_, text, seed_, /*blanks=*/true, slot.keys);
    const auto dim = static_cast<Key>(schema_.slots[0].dim);
    for (size_t k = first; dim > 0 && k < slot.keys.size(); ++k) slot.keys[k] %= dim;
    slot.offsets.push_back(static_cast<uint32_t>(slot.keys.size()));
  }

  void add_label(std::string_view word, float& label, Batch& batch) const {
    const std::optional<float> found = parse_label(word.substr(options_.label_prefix.size()));
    if (!has_label_sets()) return void(label = found.value_or(0.0f));
    if (!found) return;
    if (!(*found >= 0 && *found < 1 << 24) || *found != std::trunc(*found))
      fail(Code::kData, "label ", quote(word), " is no class");
    batch.slots[1].keys.push_back(static_cast<Key>(*found));
  }

  // Returns nullopt for an invalid label if labels are ignored.  Behind the word lie the bytes that scanners
  // may read.
  std::optional<float> parse_label(std::string_view word) const {
    if (!classes_.empty()) {
      const auto found = classes_.find(std::string(word));
      if (found != classes_.end()) return static_cast<float>(found->second);
    } else {
      const char* p = word.data();
      float number = 0;
      if (!word.empty() && scan_float(p, number) == Scan::kNumber && p == word.data() + word.size())
        return number;
    }
    if (ignores_label_) return std::nullopt;
    if (!classes_.empty()) fail(Code::kData, "label ", quote(word), " is none of data.fasttext.classes");
    fail(Code::kData, "label ", quote(word), " is not a number, and data.fasttext.classes is empty");
  }

  const FastTextOptions options_;
  const bool needs_label_, ignores_label_;
  const uint64_t seed_;
  std::unordered_map<std::string, size_t> classes_;
};

DataSchema fasttext_schema(const DataOptions& data, std::string_view) {
  if (data.dense) fail(Code::kUsage, "data.dense: words of format 'fasttext' have no places");
  DataSchema schema = data.single_slot();
  if (data.multi_label) schema.slots.back().dim = static_cast<int64_t>(data.fasttext.classes.size());
  return schema;
}

bool recognize_fasttext(std::string_view line, const DataOptions& data) {
  return !data.fasttext.label_prefix.empty() && line.starts_with(data.fasttext.label_prefix);
}

}  // namespace

extern const FormatEntry kFastText;
const FormatEntry kFastText = {
    {"fasttext", "__label__CLASS word word ..., of fastText's classifiers", no_own_keys},
    false,
    false,
    recognize_fasttext,
    fasttext_schema,
    split_lines,
    make_parser<FastTextParser>,
    false,
    true,
};

}  // namespace ps
