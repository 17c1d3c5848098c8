#include "data/data_set.h"

#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "data/csv/learn.h"
#include "data/transform.h"

namespace ps {

static void find_files(const std::vector<std::string>& paths, const SourceContext& context, DataSet& data) {
  data.files = expand_inputs(paths);
  if (data.files.empty())
    fail(Code::kUsage, "no data: name a file, a list, a folder, or - for standard input");
  for (const InputFile& file : data.files) {
    data.stream = data.stream || file.stream;
    data.may_wait = data.may_wait || may_wait(file, context);
    data.total_bytes += file.bytes;
  }
}

// Returns the schema.  Errors about the header name the file.
static DataSchema schema_of(const FormatEntry& format, const DataOptions& options, std::string_view head,
                            const std::string& name) {
  try {
    return format.schema(options, head);
  } catch (const Error& error) {
    throw error.code() == Code::kUsage ? error : error.within(name);
  }
}

static void check_labels(const DataOptions& options, const FormatEntry& format) {
  if (options.labelled()) return;
  if (format.always_labelled) {
    fail(Code::kUsage, "data.labels: false, but files of format ", quote(format.name), " always have labels");
  }
  if (options.label_use == LabelUse::kNeeded) {
    fail(Code::kUsage, "data.labels: false, but to train and to test takes labels; predict does without");
  }
}

// Throws kUsage if the options ask for a part of the data, and the format cannot tell which examples are in
// it.
static void check_parts(const DataOptions& options, const DataSet& data) {
  if (!data.parser->has_parts()) {
    fail(Code::kUsage, "data.validation: files of format ", quote(data.format->name),
         " have no parts of which one could be kept: give test data instead");
  }
  const std::string& by = options.validation_by;
  if (!by.empty() && data.format->needs_vocabulary) {
    fail(Code::kUsage, "data.validation_by: files of format ", quote(data.format->name),
         " have no columns: set data.validation alone");
  }
  if (!by.empty() && !data.parser->has_parts_by(by)) {
    std::vector<std::string> names;
    for (const SlotSchema& slot : data.parsed_schema.slots) names.push_back(slot.name);
    fail(Code::kUsage, "data.validation_by: there is no slot ", quote(by), did_you_mean(by, names),
         ", expected one of ", join(names, ", "));
  }
  if (!options.validation_values.empty() && !is_table_format(data.format->name)) {
    fail(Code::kUsage, "data.validation_values: files of format ", quote(data.format->name),
         " have no columns of words: set data.validation, and a slot in data.validation_by");
  }
}

// Opens the data step by step, as each step needs the one before: files, format, schema, vocabulary,
// parser.  The head of the first file is read only if the format is unknown or needs it, because that waits
// for a stream.  Checks of the options and the format alone come before the vocabulary, which reads all
// files.
DataSet open_data_set(const DataOptions& options, const std::vector<std::string>& paths,
                      const SourceContext& context, std::shared_ptr<const Vocabulary> vocabulary) {
  DataSet data;
  find_files(paths, context, data);
  data.blocks = std::make_unique<BlockStream>(data.files, context, options);
  const FormatEntry* named = options.format == "auto" ? nullptr : &find_format(options.format);
  std::string name = data.files[0].name();
  std::string_view head;
  if (!named || named->needs_head) head = data.blocks->head(name);
  if (!named && head.empty()) fail(Code::kData, name, ": no data, so that the format is unknown");
  data.format = named ? named : &recognize_format(options, head, name);
  check_labels(options, *data.format);
  check_label_sets(options, *data.format);
  data.blocks->set_format(*data.format);
  data.parsed_schema = schema_of(*data.format, options, head, name);
  data.schema = transformed_schema(options, data.parsed_schema);
  if (data.format->needs_vocabulary) {
    data.vocabulary = vocabulary ? std::move(vocabulary) : Vocabulary::make(options, paths);
  }
  data.parser = data.format->make({options, data.parsed_schema, head, data.vocabulary});
  if (options.part != DataPart::kAll && options.validates()) check_parts(options, data);
  if (options.samples_negatives() && !data.parser->samples_negatives()) {
    fail(Code::kUsage, "data.negative_rate: the labels of format ", quote(data.format->name),
         " are words, of which none is negative: leave it out");
  }
  return data;
}

}  // namespace ps
