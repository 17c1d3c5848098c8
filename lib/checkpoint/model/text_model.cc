// Text, for people and for tools that read lines:
//
//   line := table " " key (" " value)*
//
// with the shortest decimals that read back as the same 32-bit floats.
#include "checkpoint/model/model_format.h"
#include "data/row_text.h"

namespace ps {

namespace {

void write_table(ModelSource& source, size_t t, ByteSink& out) {
  const ModelTable& table = source.tables()[t];
  const size_t width = static_cast<size_t>(table.values());
  auto cursor = source.rows(t);
  std::string text;
  while (const RowBlock* rows = out.open() ? cursor->next() : nullptr) {
    text.clear();
    for (size_t i = 0; i < rows->size(); ++i) {
      text += table.name;
      RowText line(text, 1, width);
      line.add(' ');
      line.add_uint(rows->keys[i]);
      for (size_t v = 0; v < width; ++v) {
        line.add(' ');
        line.add_float(rows->values[i * width + v]);
      }
      line.add('\n');
    }
    out.write(text);
  }
}

void write_text(ModelSource& source, const ModelSettings&, ByteSink& out) {
  for (size_t t = 0; t < source.tables().size(); ++t) write_table(source, t, out);
}

}  // namespace

constinit const ModelFormat kTextModel = {
    .name = "text", .help = "a line a row: table, key, values", .holds_state = true, .write = write_text};

}  // namespace ps
