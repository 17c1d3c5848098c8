#include "job/convert.h"

#include <algorithm>
#include <memory>
#include <string>
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
  if (valued) entry.check({traits.schema, traits.content, true});
  bool weighted = !batch.weights.empty() || !batch.groups.empty();
  if (weighted && entry.name != "libsvm" && entry.name != "records") {
    fail(Code::kUsage, "format ", entry.name, " cannot hold weights and groups; use libsvm or records");
  }
}

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
  DataTraits traits{reader->schema(), DataTraits::kFeatures, /*valued=*/false};
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
