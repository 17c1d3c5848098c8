// Lines of JSON: fields of all types, crosses, lists; and what is learnt from them.
#include <string>

#include "data/csv/learn.h"
#include "fuzz_reader.h"
#include "table_column.h"

namespace {

// The fields of the corpus.
ps::DataOptions known_fields() {
  ps::DataOptions options;
  options.format = "jsonl";
  options.csv.label = "y";
  options.csv.classes = {"no", "yes"};
  options.csv.weight = "w";
  options.csv.group = "g";
  options.csv.columns = {ps::table_column("n", "number", "log"), ps::table_column("b", "number", "bins"),
                         ps::table_column("c", "category"),      ps::table_column("d", "category"),
                         ps::table_column("m", "categories"),    ps::table_column("t", "text")};
  options.csv.columns[3].dictionary = 2;
  options.csv.columns[5].word_ngrams = 2;
  options.csv.learnt = true;
  return options;
}

// Any error is a good answer; what is learnt has to be good options.
void learn(const uint8_t* data, size_t size) {
  const int descriptor = memfd_create("fuzz", MFD_CLOEXEC);
  PS_CHECK(write(descriptor, data, size) == static_cast<ssize_t>(size));
  lseek(descriptor, 0, SEEK_SET);
  ps::DataOptions options;
  options.format = "jsonl";
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
  ps::fuzz_reader(known_fields(), data, size);
  ps::DataOptions crossed = known_fields();
  crossed.csv.weight = crossed.csv.group = "";
  crossed.cross = {{"c", "m"}, {"m", "m", "b"}};
  crossed.label_use = ps::LabelUse::kIgnored;
  ps::fuzz_reader(crossed, data, size);
  learn(data, size);
  return 0;
}
