#include "job/convert.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "data/output.h"
#include "data/reader.h"
#include "data/writer.h"
#include "job/task_data.h"

namespace ps {

// Throws kUsage if the format would lose values, weights or groups.  These show up in the data, not in their
// schema.
static void check_can_hold(const WriterEntry& entry, const DataTraits& traits, const Batch& batch) {
  bool valued = std::any_of(batch.slots.begin(), batch.slots.end(),
                            [](const SlotData& slot) { return !slot.keys.empty() && slot.valued(); });
  if (valued) entry.check({.schema = traits.schema, .content = traits.content, .valued = true});
  bool weighted = !batch.weights.empty() || !batch.groups.empty();
  if (weighted && entry.name != "libsvm" && entry.name != "records") {
    fail(Code::kUsage, "format ", entry.name, " cannot hold weights and groups; use libsvm or records");
  }
}

// Throws kUsage if the format would hold the labels of a slot as features.
static void check_label_slots(const WriterEntry& entry, const DataOptions& data, const DataSchema& schema) {
  if (entry.name == "records") return;
  for (const SlotSchema& slot : schema.slots) {
    if (!data.is_label(slot)) continue;
    fail(Code::kUsage, "format ", entry.name, " would hold the labels of slot ", quote(slot.name),
         " as features; use records");
  }
}

namespace {

// Watches over a format that writes the ids of all slots in one list, where an id of two slots would become one
// feature.  One owner thread.
class SlotsOfIds {
 public:
  // Both arguments outlive this.
  SlotsOfIds(const WriterEntry& entry, const DataSchema& schema) : entry_(entry), schema_(schema) {}

  // Throws kUsage if an id of the batch has occurred in another slot too.  Looks at so many ids only as need little
  // memory: slots that have ids in common show it among the first.
  void check(const Batch& batch) {
    constexpr size_t kMostIds = size_t{1} << 20;
    if (slots_.size() >= kMostIds) return;
    for (size_t s = 0; s < schema_.slots.size(); ++s) {
      for (const Key key : batch.slots[s].keys) {
        const size_t first = slots_.try_emplace(key, s).first->second;
        if (first != s) refuse(key, first, s);
      }
    }
  }

 private:
  [[noreturn]] void refuse(Key key, size_t a, size_t b) const {
    fail(Code::kUsage, "format ", entry_.name, " has one list of ids, and id ", key, " is in slot ",
         quote(schema_.slots[a].name), " and in slot ", quote(schema_.slots[b].name),
         "; use multislot or records");
  }

  const WriterEntry& entry_;
  const DataSchema& schema_;
  std::unordered_map<Key, size_t> slots_;  // the slot of each id
};

}  // namespace

// Returns the part of the data that is to be written.  Throws kUsage if the job keeps none for validation.
static DataPart asked_part(const DataOptions& data, const std::string& part) {
  if (part == "all") return DataPart::kAll;
  if (!data.validates()) {
    fail(Code::kUsage, "--part ", part,
         ": no part of the data is kept: set data.validation, to 0.1 for a tenth, or ",
         "data.validation_values");
  }
  return part == "training" ? DataPart::kTraining : DataPart::kValidation;
}

// Switches off the transformations that a job which reads the converted data applies itself.  Returns their
// names.
static std::string leave_as_read(DataOptions& data, DataPart part) {
  std::vector<std::string> left_out;
  if (data.shuffle != "none") left_out.emplace_back("shuffle");
  if (!data.cross.empty()) left_out.emplace_back("cross");
  if (data.log_counts) left_out.emplace_back("log_counts");
  if (data.unit_length) left_out.emplace_back("unit_length");
  if (data.hash_bits > 0) left_out.emplace_back("hash_bits");
  if (part == DataPart::kTraining) {
    if (data.negative_rate < 1) left_out.emplace_back("negative_rate");
    if (data.text.shrink_windows) left_out.emplace_back("text.shrink_windows");
    if (data.text.subsample > 0) left_out.emplace_back("text.subsample");
  }
  data.shuffle = "none";
  data.cross.clear();
  data.log_counts = data.unit_length = false;
  data.hash_bits = 0;
  data.negative_rate = 1;
  data.text.shrink_windows = false;
  data.text.subsample = 0;
  return join(left_out, ", ");
}

// Reads the part of the data and writes it batch by batch, after the heading.  The loop ends when the data
// end, when the reader of the output closes it, or when the run is to stop; a batch that was read is written.
bool convert_data(const Job& given, const RunOptions& options, Log& log) {
  Job job = given;
  const DataPart part = asked_part(job.data, options.part);
  const std::string left_out = options.transform ? std::string() : leave_as_read(job.data, part);
  if (!left_out.empty())
    log.info("Examples are written as they are read, without ", left_out, ": --transform applies them");
  TaskData data(job, options, log);
  const std::unique_ptr<BatchReader> reader = data.make_reader(job.data.files, job.data.shuffle, 1, {}, part);
  const WriterEntry& entry = find_writer(options.output_format);
  DataTraits traits{.schema = reader->schema(), .keeps_empty = true};
  check_label_slots(entry, data.options(), traits.schema);
  const bool one_list = entry.name != "records" && entry.name != "multislot";
  std::optional<SlotsOfIds> slots_of_ids;
  if (one_list && traits.schema.slots.size() > 1) slots_of_ids.emplace(entry, traits.schema);
  std::unique_ptr<Writer> writer = make_writer(entry, traits);
  if (options.dry_run) return true;
  OutputStream output(options.output, Compression::kNone, entry.binary);
  Batch batch;
  std::string bytes;
  writer->begin(bytes);
  reader->begin_pass(0);
  bool open = output.write(bytes);
  int64_t samples = 0;
  while (open && !options.stop() && reader->next(batch)) {
    bytes.clear();
    check_can_hold(entry, traits, batch);
    if (slots_of_ids) slots_of_ids->check(batch);
    writer->format(batch, bytes);
    open = output.write(bytes);
    samples += batch.size();
  }
  bytes.clear();
  writer->end(bytes);
  output.write(bytes);
  output.finish();
  log.info("Converted samples=", samples);
  return !options.stop();
}

}  // namespace ps
