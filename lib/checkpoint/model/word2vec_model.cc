// The text format of word2vec (Mikolov et al. 2013), which gensim, fastText and GloVe's tools read too:
//
//   file := count " " width line*
//   line := name (" " value)*
//
// The name of a row is one word; a row without a name is called by its key.
#include "base/error.h"
#include "checkpoint/model/model_format.h"
#include "data/row_text.h"

namespace ps {

namespace {

const ModelTable& only_table(const ModelSource& source) {
  const std::vector<ModelTable>& tables = source.tables();
  if (tables.size() == 1) return tables[0];
  std::vector<std::string> names;
  for (const ModelTable& table : tables) names.push_back(table.name);
  fail(Code::kUsage, "format word2vec holds one table: choose one of ", join(names, ", "), " with --tables");
}

// Blocks are written as they come, so that memory does not grow with the table.
void write_word2vec(ModelSource& source, const ModelSettings& settings, ByteSink& out) {
  const ModelTable& table = only_table(source);
  const size_t width = static_cast<size_t>(table.width);
  out.write(cat(table.count, " ", width, "\n"));
  auto cursor = source.rows(0);
  std::string text;
  while (const RowBlock* rows = out.open() ? cursor->next() : nullptr) {
    text.clear();
    for (size_t i = 0; i < rows->size(); ++i) {
      text += settings.names.word(table.name, rows->keys[i]);
      RowText line(text, 0, width);
      for (size_t v = 0; v < width; ++v) {
        line.add(' ');
        line.add_float(rows->values[i * width + v]);
      }
      line.add('\n');
    }
    out.write(text);
  }
}

}  // namespace

constinit const ModelFormat kWord2vecModel = {
    .name = "word2vec",
    .help = "one table: a line a row: name, values, as word2vec's text",
    .write = write_word2vec};

}  // namespace ps
