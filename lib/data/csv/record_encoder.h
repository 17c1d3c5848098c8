// RecordEncoder: turns the fields of a table's records into labels, weights, groups and slots, following
// data.csv.  Used by the parsers of csv, tsv and jsonl.
#ifndef PS_DATA_CSV_RECORD_ENCODER_H_
#define PS_DATA_CSV_RECORD_ENCODER_H_

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "data/batch.h"
#include "data/csv/columns.h"
#include "data/csv/field_rows.h"
#include "data/csv/label_columns.h"
#include "data/csv/word_numbers.h"
#include "data/options.h"

namespace ps {

// The words that stand for no value.  Most fields have another length or another first byte than they.
class MissingValues {
 public:
  explicit MissingValues(const std::vector<std::string>& words);

  bool contain(std::string_view field) const {
    if ((lengths_ & bit(field.size())) == 0) return false;
    return field.empty() ? empty_ : first_bytes_[static_cast<unsigned char>(field[0])] && is_listed(field);
  }

 private:
  bool is_listed(std::string_view field) const;

  // Returns the bit for words of this length.
  static uint64_t bit(size_t length) { return uint64_t{1} << std::min<size_t>(length, 63); }

  const std::vector<std::string> words_;
  uint64_t lengths_ = 0;
  std::bitset<256> first_bytes_;
  bool empty_ = false;  // the empty word is one of them
};

// Constant after construction: many threads share one.  Behind each field lie 8 bytes that scanners may read.
// All functions throw kData with the column and the value if a field does not fit its column.
class RecordEncoder {
 public:
  explicit RecordEncoder(const DataOptions& options);

  // Returns the class or number of a field of the label's column.
  float label(std::string_view field) const;

  // Returns the label of a record without one: 0 if labels are ignored; else it throws.
  float missing_label() const;

  // Appends one field of any other column to the example that is being added to `batch`.
  void add(std::string_view field, const FieldUse& use, Batch& batch) const;

  // Appends a column of some records, which are all that are being added to `batch`; columns of labels are those of one
  // label alone.  It gives what label() and add() give field by field.
  void add_column(const FieldColumn& fields, const FieldUse& use, Batch& batch) const;

  // Appends a list of fields: words of a column with several, or texts whose features count together.  Empty
  // words are left out; an empty list is a missing value.
  void add_list(std::span<const std::string_view> fields, const FieldUse& use, Batch& batch) const;

  // Appends a missing value.
  void add_missing(const FieldUse& use, Batch& batch) const;

  // Ends the labels of the example that is being added, of label columns without data.multi_label.  Returns the label of
  // the first of these columns, 0 if it has none.
  float end_own_labels(Batch& batch) const;

 private:
  // The prepared form of one column.
  struct Column {
    CsvColumn options;
    float offset, scale;
    bool logarithm, indicates_missing;
    bool hashes;    // words have no numbers of their own
    uint64_t seed;  // seed of the hashes
    // first id of bins or words; then follow the id of other words, and the id of missing values
    Key first_id;
    WordIndex words;

    Column(const CsvColumn& column, Key first);
    float scaled(float value) const;
    Key bin(float value) const;
    Key word(std::string_view field) const { return hashes ? hash_bytes(field, seed) : known_word(field); }
    Key known_word(std::string_view field) const;
    Key id_at(uint64_t place) const;  // of the word at this place of `words`
    void put_words(std::span<const std::string_view> fields, Key* ids) const;
    [[noreturn]] void fail_scaled(std::string_view field) const;
    Key missing() const;
  };

  std::optional<uint64_t> find_class(std::string_view field) const;
  void put_labels(std::string_view field, SlotData& slot) const;
  void put_label(std::string_view word, SlotData& slot) const;
  void put_label_column_word(std::string_view word, const FieldUse& use, Batch& batch) const;
  void put_label_column(std::string_view field, const FieldUse& use, Batch& batch) const;
  void put_own_label(std::string_view field, const FieldUse& use, SlotData& slot) const;
  void put_weight(std::string_view field, Batch& batch) const;
  bool read_number(std::string_view field, const Column& column, float& value) const;
  void put_number(std::string_view field, const Column& column, SlotData& slot) const;
  static void put_missing_number(const Column& column, SlotData& slot);
  void put_numbers(const FieldColumn& fields, const Column& column, SlotData& slot, SlotData* bins) const;
  void put_one_word_each(const FieldColumn& fields, const Column& column, SlotData& slot) const;
  void put_ids(std::string_view field, FieldKind kind, const Column& column, SlotData& slot) const;
  static void put_words(std::string_view field, const Column& column, SlotData& slot);
  static void put_missing_id(const Column& column, SlotData& slot);
  [[noreturn]] void fail_list(const FieldUse& use) const;

  const CsvOptions csv_;
  const bool ignores_label_;
  const bool own_labels_;    // each label column is a label of its own
  const size_t label_slot_;  // index of the slot of the first of them
  const MissingValues missing_;
  const WordNumbers classes_;
  std::vector<Column> columns_;
  std::vector<LabelColumn> label_columns_;
};

}  // namespace ps

#endif  // PS_DATA_CSV_RECORD_ENCODER_H_
