#include "data/csv/options.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "config/spec.h"

namespace ps {

namespace {

void check_byte(const std::string& text, std::string_view path, const char* key) {
  if (text.size() > 1 || text == "\n" || text == "\r")
    fail(Code::kUsage, path, ".", key, ": ", quote(text), " is not one byte");
}

void check_column(const CsvColumn& column, std::string_view path) {
  if (column.name.empty()) fail(Code::kUsage, path, ".name: empty");
  check_byte(column.separator, path, "separator");
  if (column.separator.empty()) fail(Code::kUsage, path, ".separator: empty, expected one byte");
  if (!(std::isfinite(column.offset) && std::isfinite(column.divisor)) || column.divisor == 0)
    fail(Code::kUsage, path, ".divisor: ", column.divisor, ", expected a number other than 0");
  if (!column.ids_of.empty() && column.dictionary > 0)
    fail(Code::kUsage, path, ".ids_of: words of a dictionary have ids of their own");
  if (column.own_ids && column.dictionary == 0)
    fail(Code::kUsage, path, ".own_ids: words that are hashed have no ids to count: set dictionary");
  if (!std::is_sorted(column.edges.begin(), column.edges.end()))
    fail(Code::kUsage, path, ".edges: not in ascending order");
}

void check_table(const CsvOptions& csv, std::string_view path) {
  check_byte(csv.separator, path, "separator");
  check_byte(csv.quote, path, "quote");
  check_byte(csv.escape, path, "escape");
  if (csv.label_separator.empty()) fail(Code::kUsage, path, ".label_separator: empty, expected one byte");
  check_byte(csv.label_separator, path, "label_separator");
  if (!csv.separator.empty() && csv.separator == csv.quote)
    fail(Code::kUsage, path, ".quote: ", quote(csv.quote), " is the separator too");
  if (!csv.label.empty() && !csv.labels.empty()) {
    fail(Code::kUsage, path, ".label: ", quote(csv.label),
         ", and labels names columns too: leave out one of both");
  }
  std::set<std::string> names;
  for (const CsvColumn& column : csv.columns) {
    if (!names.insert(column.name).second)
      fail(Code::kUsage, path, ".columns: two columns are named ", quote(column.name));
  }
  for (const CsvColumn& column : csv.columns) {
    if (has_bins_beside(column) && names.contains(bin_slot(column)))
      fail(Code::kUsage, path, ".columns: column ", quote(bin_slot(column)), " is called as the bins of ",
           quote(column.name));
  }
}

}  // namespace

bool has_bins_beside(const CsvColumn& column) {
  return (column.type == "number" || column.type == "auto") && column.scale.ends_with(kBinsBeside);
}

std::string bin_slot(const CsvColumn& column) {
  return column.name + ".bin";
}

// Describes the keys of a column, with the help texts that the manual shows and their limits.
const ObjectSpec<CsvColumn>& CsvColumn::spec() {
  static const ObjectSpec<CsvColumn> spec = [] {
    ObjectSpec<CsvColumn> s;
    s.field("name", &CsvColumn::name,
            "its name in the header, and that of its slot; with * (any characters) or ? (one) it stands for "
            "all columns "
            "that match and are not listed by their names")
        .must();
    s.field("type", &CsvColumn::type,
            "number; category, a word; categories, several words; text; ignore.  auto: number if all that is "
            "there is one, text if the mean is five words or more")
        .one_of({"auto", "number", "category", "categories", "text", "ignore"});
    s.field("scale", &CsvColumn::scale,
            "of numbers: as they are (none), to mean 0 and deviation 1 (standard), to 0 to 1 (min_max), the "
            "logarithm of 1 + |x| with the sign of x, then standard (log), ids of bins that have as many "
            "examples each (bins).  auto: log where the largest is far from the others, else standard.  With "
            "+bins behind it: that, and a second slot NAME.bin with the bin, of 20 examples or more")
        .one_of({"auto", "none", "standard", "min_max", "log", "bins", "auto+bins", "none+bins",
                 "standard+bins", "min_max+bins", "log+bins"});
    s.field("bins", &CsvColumn::bins, "scale bins, and +bins: how many at most").at_least(2).at_most(10000);
    s.field("separator", &CsvColumn::separator, "categories: the byte between words");
    s.field("dictionary", &CsvColumn::dictionary,
            "the most frequent words, at most so many, get ids of their own; 0: the id of a word is its hash")
        .at_least(0)
        .at_most(100000);
    s.field("own_ids", &CsvColumn::own_ids,
            "ids of the dictionary count from 0, not on from those of other columns, and their number is the "
            "dim of the slot, as num_classes of nce wants it; layers then give the slot a table of its own");
    s.field("missing", &CsvColumn::missing,
            "where there is no value: indicator, a second value 1 of a number, or an id of its own; none: a "
            "number is 0 once it is scaled, a category has no id.  auto: indicator for categories, and for "
            "numbers of which some are missing")
        .one_of({"auto", "indicator", "none"});
    s.field(
        "ids_of", &CsvColumn::ids_of,
        "categories and texts: a name; columns of the same one give equal words equal ids; empty: the name "
        "of the column");
    s.include(TextFeatureOptions::spec());
    s.field("offset", &CsvColumn::offset, "learnt: subtracted from a number");
    s.field("divisor", &CsvColumn::divisor, "learnt: divides it then");
    s.field("edges", &CsvColumn::edges, "learnt: between bins, ascending");
    s.field("words", &CsvColumn::words, "learnt: the words of the dictionary");
    s.field("hashed_words", &CsvColumn::hashed_words,
            "learnt: the words of a category without a dictionary, by which ps-ckpt2model names rows; no id "
            "depends on them. Empty where there are more than 10,000 of them, or too long ones");
    s.check(check_column);
    return s;
  }();
  return spec;
}

// Describes the keys of the section, with the help texts that the manual shows and their limits.
const ObjectSpec<CsvOptions>& CsvOptions::spec() {
  static const ObjectSpec<CsvOptions> spec = [] {
    ObjectSpec<CsvOptions> s;
    s.field("separator", &CsvOptions::separator, "byte between columns; empty: a comma, or a tab of tsv");
    s.field("quote", &CsvOptions::quote,
            "byte around a value that may hold separators and line ends; empty: none");
    s.field("escape", &CsvOptions::escape,
            "byte before a quote within quotes; empty: a quote there is doubled");
    s.field("names", &CsvOptions::names, "of the columns, for files without a header");
    s.field("missing_values", &CsvOptions::missing_values, "what is written where there is no value");
    s.field("label", &CsvOptions::label,
            "column with the label; empty: that called label, target, class, click or y, else the last");
    s.field(
        "labels", &CsvOptions::labels,
        "several columns that are labels: names, or patterns with * and ?.  Each is the label of the costs "
        "that "
        "name it by their key label: its number, 1 or 0 of true and false or yes and no, or the class of its "
        "word; where it has no value, the example has no part in these costs.  With data.multi_label all "
        "are classes of one cost: a column of 1 and 0, true and false or yes and no is a class called as the "
        "column; of any other column each word is a class, COLUMN=WORD");
    s.field("label_separator", &CsvOptions::label_separator,
            "byte between the labels of an example, with data.multi_label");
    s.field("classes", &CsvOptions::classes,
            "words that labels are, in the order of the classes 0, 1, ...; learnt, sorted, where labels are "
            "words");
    s.field("weight", &CsvOptions::weight, "column with the weights of examples");
    s.field("group", &CsvOptions::group, "column with the groups of examples, numbers or words");
    s.field("columns", &CsvOptions::columns,
            "columns that become slots, and how; those of the header that are not here are added");
    s.field("learnt", &CsvOptions::learnt,
            "what the data tell is filled in: columns has all columns, and what was learnt of each");
    s.check(check_table);
    return s;
  }();
  return spec;
}

uint64_t CsvColumn::seed() const {
  return hash_bytes(ids_of.empty() ? name : ids_of);
}

// E edges make E + 1 bins, and W words need one more id for all others; missing values have the id after
// these.
int64_t CsvColumn::num_ids() const {
  if (is_binned() || has_bins_beside(*this)) return static_cast<int64_t>(edges.size()) + 2;
  if ((type == "category" || type == "categories") && dictionary > 0)
    return static_cast<int64_t>(words.size()) + 2;
  return 0;
}

char CsvOptions::separator_of(const std::string& format) const {
  if (!separator.empty()) return separator[0];
  return format == "tsv" ? '\t' : ',';
}

// Slots may share a table, so the ids of bins and words continue from column to column.  If some ids are
// hashes, ids may be any number.  Columns with ids of their own have no part in that.
DataSchema CsvOptions::schema() const {
  int64_t total = 0;
  bool hashes = false;
  for (const CsvColumn& column : columns) {
    total += column.num_shared_ids();
    hashes |= column.type != "ignore" && column.type != "number" && column.num_ids() == 0;
  }
  DataSchema schema;
  for (const CsvColumn& column : columns) {
    if (column.type == "ignore") continue;
    if (column.is_number()) {
      schema.slots.push_back({column.name, true, column.indicates_missing() ? 2 : 1});
      if (has_bins_beside(column)) schema.slots.push_back({bin_slot(column), false, hashes ? 0 : total});
    } else {
      schema.slots.push_back({column.name, false, column.own_ids ? column.num_ids() : hashes ? 0 : total});
    }
  }
  return schema;
}

}  // namespace ps
