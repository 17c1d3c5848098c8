// npy: a folder with the files of each table: the rows as one array of numpy, which numpy.load maps into memory where
// it is larger than that, beside it the keys of the rows, and their names.
//
//   TABLE.npy          weights [N, D]
//   TABLE.keys.npy     u64 [N], unless the keys are 0, 1, …, N - 1
//   TABLE.scales.npy   f32 [N], of int8
//   TABLE.shows.npy, TABLE.clicks.npy, TABLE.unseen.npy    f64, f64, u32 [N], where they are asked for
//   TABLE.names.txt    a line for each row: its name, or its key; where rows have names
#include "checkpoint/model/npy.h"
#include "checkpoint/model/numbers.h"

namespace ps {

namespace {

void write_rows(ModelSource& source, const ModelSettings& settings, ByteSink& out) {
  const ModelTable& table = source.tables()[0];
  out.write(npy_header(npy_type(settings.type, "npy"), {table.count, static_cast<uint64_t>(table.width)}));
  write_table_array(source, 0, 0, settings.type, out);
}

void write_keys(ModelSource& source, const ModelSettings&, ByteSink& out) {
  out.write(npy_header(kNpyKeys, {source.tables()[0].count}));
  write_table_keys(source, 0, out);
}

void write_scales(ModelSource& source, const ModelSettings&, ByteSink& out) {
  out.write(npy_header(kNpyFloats, {source.tables()[0].count}));
  write_table_scales(source, 0, out);
}

void write_names(ModelSource& source, const ModelSettings& settings, ByteSink& out) {
  auto cursor = source.rows(0);
  std::string text;
  while (const RowBlock* rows = cursor->next()) {
    text.clear();
    for (uint64_t key : rows->keys) text += settings.names.word(source.tables()[0].name, key) + '\n';
    out.write(text);
  }
}

template <size_t kArray>
void write_counts(ModelSource& source, const ModelSettings&, ByteSink& out) {
  out.write(npy_header(kCountArrays[kArray].npy_type, {source.tables()[0].count}));
  write_table_counts(source, 0, kArray, out);
}

bool always(const ModelTable&, const ModelSettings&) {
  return true;
}
bool has_keys(const ModelTable& table, const ModelSettings&) {
  return !table.whole();
}
bool has_scales(const ModelTable&, const ModelSettings& settings) {
  return settings.type == NumberType::kI8;
}
bool has_counts(const ModelTable& table, const ModelSettings& settings) {
  return settings.counts && table.counted;
}
bool has_names(const ModelTable& table, const ModelSettings& settings) {
  return settings.names.has(table.name);
}

constexpr TableFile kFiles[] = {{".npy", always, write_rows},
                                {".keys.npy", has_keys, write_keys},
                                {".scales.npy", has_scales, write_scales},
                                {".shows.npy", has_counts, write_counts<0>},
                                {".clicks.npy", has_counts, write_counts<1>},
                                {".unseen.npy", has_counts, write_counts<2>},
                                {".names.txt", has_names, write_names}};

}  // namespace

constinit const ModelFormat kNpyModel = {
    .name = "npy",
    .help = "a folder with an array of numpy for each table, and its keys",
    .binary = true,
    .other_types = true,
    .holds_counts = true,
    .table_files = kFiles};

}  // namespace ps
