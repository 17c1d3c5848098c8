// Tables: columns of all types, crosses, quotes and escapes; and what is learnt from them.
#include <string>

#include "data/csv/learn.h"
#include "fuzz_reader.h"
#include "table_column.h"

namespace {

// The header that the corpus begins with; other headers lack columns.
ps::DataOptions known_table() {
  ps::DataOptions options;
  options.format = "csv";
  options.csv.escape = "\\";
  options.csv.label = "y";
  options.csv.classes = {"no", "yes"};
  options.csv.weight = "w";
  options.csv.group = "g";
  options.csv.columns = {ps::table_column("n", "number", "log"), ps::table_column("b", "number", "bins"),
                         ps::table_column("c", "category"), ps::table_column("d", "category"),
                         ps::table_column("m", "categories")};
  options.csv.columns[3].dictionary = 2;
  options.csv.learnt = true;
  return options;
}

// Any error is a good answer; what is learnt has to be good options.
void learn(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ps::DataOptions options;
  const auto guess = ps::guess_table(text);
  options.format = guess ? guess->format : "csv";
  const int descriptor = memfd_create("fuzz", MFD_CLOEXEC);
  PS_CHECK(write(descriptor, data, size) == static_cast<ssize_t>(size));
  lseek(descriptor, 0, SEEK_SET);
  ps::SourceContext context;
  context.stdin_descriptor = descriptor;
  try {
    options.csv = ps::learn_table(options, {"-"}, context, 1000);
    PS_CHECK(options.csv.learnt && !options.csv.label.empty());
    ps::read_all(options, descriptor, nullptr);
  } catch (const ps::Error&) {
  }
  close(descriptor);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ps::fuzz_reader(known_table(), data, size);
  ps::DataOptions texts = known_table();
  texts.csv.columns[4].type = "text";
  texts.csv.columns[4].word_ngrams = 3;
  texts.csv.columns[4].char_ngrams = 5;
  texts.cross = {{"c", "m"}, {"m", "m", "b"}};
  ps::fuzz_reader(texts, data, size);
  learn(data, size);
  return 0;
}
