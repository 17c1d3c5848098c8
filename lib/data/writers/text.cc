// Plain text: a sentence a line, word number n written as "w<n>".
#include "base/error.h"
#include "data/row_text.h"
#include "data/writer.h"

namespace ps {
namespace {

class TextWriter : public Writer {
 public:
  using Writer::Writer;

  void format(const Batch& batch, std::string& out) const override {
    const SlotData& words = batch.slots[0];
    for (size_t b = 0; b + 1 < words.offsets.size(); ++b) {
      RowText row(out, words.offsets[b + 1] - words.offsets[b], 0);
      for (size_t k = words.offsets[b]; k < words.offsets[b + 1]; ++k) {
        row.add(k == words.offsets[b] ? std::string_view("w") : std::string_view(" w"));
        row.add_uint(words.keys[k]);
      }
      row.add('\n');
    }
  }
};

void check_text(const DataTraits& traits) {
  if (traits.content != DataTraits::kSentences) fail(Code::kUsage, "format text holds sentences only");
}

std::unique_ptr<Writer> make_text(const DataTraits& traits) {
  return std::make_unique<TextWriter>(traits.schema);
}

}  // namespace

extern const WriterEntry kTextWriter = {
    "text", "plain text, a sentence a line, words such as w17", false, false, check_text, make_text};

}  // namespace ps
