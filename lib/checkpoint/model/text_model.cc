// Text, for people and for tools that read lines:
//
//   line := table " " key (" " value)* [" " shows " " clicks " " unseen]
//
// with the shortest decimals that read back as the same 32-bit floats, or, for shows and clicks, 64-bit ones.
#include <span>

#include "base/text.h"
#include "checkpoint/model/model_format.h"
#include "checkpoint/model/numbers.h"
#include "data/row_text.h"

namespace ps {

namespace {

void add_values(uint64_t key, std::span<const float> values, std::string& text) {
  RowText line(text, 1, values.size());
  line.add(' ');
  line.add_uint(key);
  for (float value : values) {
    line.add(' ');
    line.add_float(value);
  }
}

// Lines of a block are collected in `text` and written together.
void write_table(ModelSource& source, size_t t, bool counts, ByteSink& out) {
  const ModelTable& table = source.tables()[t];
  const size_t width = static_cast<size_t>(table.values());
  auto cursor = source.rows(t);
  std::string text;
  while (const RowBlock* rows = out.open() ? cursor->next() : nullptr) {
    text.clear();
    for (size_t i = 0; i < rows->size(); ++i) {
      text += table.name;
      add_values(rows->keys[i], std::span(rows->values).subspan(i * width, width), text);
      if (counts && table.counted) {
        const RowHistory history = counts_of(*rows, i);
        for (double count : {history.shows, history.clicks, double{1} * history.unseen})
          text += cat(" ", count);
      }
      text += '\n';
    }
    out.write(text);
  }
}

void write_text(ModelSource& source, const ModelSettings& settings, ByteSink& out) {
  for (size_t t = 0; t < source.tables().size(); ++t) write_table(source, t, settings.counts, out);
}

}  // namespace

constinit const ModelFormat kTextModel = {.name = "text",
                                          .help = "a line a row: table, key, values",
                                          .holds_state = true,
                                          .holds_counts = true,
                                          .write = write_text};

}  // namespace ps
