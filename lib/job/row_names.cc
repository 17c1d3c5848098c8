#include "job/row_names.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "data/csv/columns.h"
#include "data/csv/learn.h"
#include "data/vocabulary.h"
#include "model/network.h"

namespace ps {

namespace {

using Names = std::vector<std::pair<uint64_t, std::string>>;

Names word_names(const std::string& path) {
  const Vocabulary words = Vocabulary::load(path, INT64_MAX);
  Names names = {{0, "<other>"}};
  for (uint32_t id = 1; id < words.size(); ++id) names.emplace_back(id, words.word(id).word);
  return names;
}

// Names the bins from id `first` on: "age<25", "25<=age<30", "age>=30".
void add_bins(const CsvColumn& column, uint64_t first, Names& names) {
  const std::vector<double>& edges = column.edges;
  for (size_t bin = 0; bin <= edges.size() && !edges.empty(); ++bin) {
    const std::string name = bin == 0              ? cat(column.name, "<", edges[0])
                             : bin == edges.size() ? cat(column.name, ">=", edges.back())
                                                   : cat(edges[bin - 1], "<=", column.name, "<", edges[bin]);
    names.emplace_back(first + bin, name);
  }
}

void add_missing_id(const CsvColumn& column, uint64_t first, Names& names) {
  if (!column.indicates_missing()) return;
  names.emplace_back(first + static_cast<uint64_t>(column.num_ids()) - 1, column.name + "=<missing>");
}

// Names the words of the dictionary: `first` is the id of all others.
void add_words(const CsvColumn& column, uint64_t first, Names& names) {
  names.emplace_back(first, column.name + "=<other>");
  for (size_t i = 0; i < column.words.size(); ++i) {
    names.emplace_back(first + i + 1, cat(column.name, "=", column.words[i]));
  }
}

// The names of the ids of a column, which are those from `first` on, or hashes.
void add_column(const CsvColumn& column, uint64_t first, Names& names) {
  const std::string missing = column.name + "=<missing>";
  if (column.is_number()) {
    names.emplace_back(0, column.name);
    if (column.indicates_missing()) names.emplace_back(1, missing);
    return;
  }
  if (column.num_ids() == 0) {
    if (column.indicates_missing()) names.emplace_back(hash_bytes("missing", column.seed() + 1), missing);
    for (const std::string& word : column.hashed_words) {
      names.emplace_back(hash_bytes(word, column.seed()), cat(column.name, "=", word));
    }
    return;
  }
  if (column.is_binned()) {
    add_bins(column, first, names);
  } else {
    add_words(column, first, names);
  }
  add_missing_id(column, first, names);
}

// The same of the slot with the bins of a number.
void add_bin_column(const CsvColumn& column, uint64_t first, Names& names) {
  add_bins(column, first, names);
  add_missing_id(column, first, names);
}

// The names of the rows that belong to these slots.
std::shared_ptr<const NameList> column_names(const CsvOptions& csv, const DataSchema& schema,
                                             const std::vector<size_t>& slots) {
  Names names;
  std::vector<NameList::Hashed> hashed;
  uint64_t first = 0;
  for (const CsvColumn& column : csv.columns) {
    const auto has_slot = [&](const std::string& name) {
      return std::any_of(slots.begin(), slots.end(),
                         [&](size_t slot) { return schema.slots[slot].name == name; });
    };
    const bool belongs = has_slot(column.name);
    if (belongs) add_column(column, first, names);
    if (has_bins_beside(column) && has_slot(bin_slot(column))) add_bin_column(column, first, names);
    if (belongs && !column.is_number() && column.num_ids() == 0)
      hashed.push_back({column.name + "=", column.seed()});
    first += static_cast<uint64_t>(column.num_ids());
  }
  return std::make_shared<const NameList>(std::move(names), std::move(hashed));
}

}  // namespace

// Only data whose ids have words have names: text with a vocabulary, and tables.  Hashing to fewer bits
// would give several words one id, so that there are none then.  The network tells for each parameter the
// slots whose ids are its rows.
RowNames row_names(const Job& job, const DataSchema& schema, const std::string& vocabulary) {
  RowNames out;
  const std::string& format = job.data.format;
  const bool is_text = format == "text", is_table = is_table_format(format);
  if (job.data.hash_bits > 0 || !(is_table || (is_text && !vocabulary.empty()))) return out;
  const Network<float> network(job.model, schema, job.job.seed);
  std::shared_ptr<const NameList> words;
  if (is_text) words = std::make_shared<const NameList>(word_names(vocabulary));
  for (size_t p = 0; p < network.parameters().size(); ++p) {
    const std::vector<size_t>& slots = network.row_slots(p);
    if (slots.empty()) continue;
    out.add(network.parameters()[p].name, is_table ? column_names(job.data.csv, schema, slots) : words);
  }
  return out;
}

}  // namespace ps
