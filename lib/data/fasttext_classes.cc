#include "data/fasttext_classes.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "data/splitter.h"

namespace ps {

namespace {

constexpr size_t kMostLabels = 100000;

// Collects the labels of lines.  One owner thread.
class LabelLearner {
 public:
  LabelLearner(const DataOptions& options, int64_t most_lines)
      : prefix_(options.fasttext.label_prefix), left_(most_lines) {}

  void read(const InputFile& file, const SourceContext& context) {
    ByteSource source(file, context);
    LineSplitter splitter(source);
    Block block;
    while (left_ > 0 && splitter.next(block)) read(block.text());
  }

  // Returns the labels as classes, in the order of their bytes; none if all of them are numbers, which are
  // classes as they are.
  std::vector<std::string> finish() const {
    if (!words_) return {};
    return {labels_.begin(), labels_.end()};
  }

 private:
  void read(std::string_view text) {
    while (!text.empty() && left_ > 0) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      --left_;
      for (size_t at = 0; at < line.size();) add_word(line, at);
    }
  }

  void add_word(std::string_view line, size_t& at) {
    constexpr std::string_view kBlanks = " \t\r";
    const size_t begin = std::min(line.find_first_not_of(kBlanks, at), line.size());
    at = std::min(line.find_first_of(kBlanks, begin), line.size());
    std::string_view word = line.substr(begin, at - begin);
    if (prefix_.empty() || !word.starts_with(prefix_)) return;  // without a prefix there are no labels
    word.remove_prefix(prefix_.size());
    words_ = words_ || !parse_double(word);
    labels_.emplace(word);
    if (labels_.size() > kMostLabels)
      fail(Code::kUsage, "data.fasttext: there are more than ", kMostLabels, " different labels");
  }

  const std::string prefix_;
  int64_t left_;
  bool words_ = false;  // a label is no number
  std::set<std::string> labels_;
};

}  // namespace

std::vector<std::string> learn_fasttext_classes(const DataOptions& options,
                                                const std::vector<std::string>& paths,
                                                const SourceContext& context, int64_t most_lines) {
  LabelLearner learner(options, most_lines);
  for (const InputFile& file : expand_inputs(paths)) {
    try {
      learner.read(file, context);
    } catch (const Error& error) {
      if (error.code() != Code::kCorrupt)
        throw;  // the reader of the data reports it, unless it comes from the cut of a stream
    }
  }
  return learner.finish();
}

}  // namespace ps
