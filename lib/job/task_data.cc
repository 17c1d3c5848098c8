#include "job/task_data.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "data/input.h"
#include "train/model_file.h"

namespace ps {

// The data of a job that names none, unless standard input is a terminal.
static const std::vector<std::string> kStandardInput = {"-"};

// Uses the words of a model folder, unless the job names others.
static void use_saved_vocabulary(const std::string& model, DataOptions& data) {
  std::string path = join_path(model, kModelVocabulary);
  if (data.text.vocabulary.empty() && is_directory(model) && exists(path)) data.text.vocabulary = path;
}

// Returns the files that the task reads: lists of files and the files that they name, and the model.
static std::vector<std::string> read_files(const Job& job, const RunOptions& options) {
  std::vector<std::string> files = {options.init_model};
  auto add = [&](const std::vector<std::string>& inputs) {
    files.insert(files.end(), inputs.begin(), inputs.end());
    for (const InputFile& file : expand_inputs(inputs)) files.push_back(file.path);
  };
  add(job.data.files.empty() ? kStandardInput : job.data.files);
  if (options.task == "train" || options.task == "test") add(job.data.test_files);
  for (std::string& file : files) {
    if (file == "-") file = "/dev/stdin";
  }
  return files;
}

// Throws kUsage if `output`, which the flag names, is one of the files that are read: to write it empties it, before it
// is read.
static void check_output(const Job& job, const RunOptions& options, const char* flag,
                         const std::string& output) {
  if (output.empty() || output == "-" || !exists(output)) return;
  for (const std::string& path : read_files(job, options)) {
    std::error_code ignored;
    const bool is_file = std::filesystem::is_regular_file(path, ignored);
    if (!is_file || !std::filesystem::equivalent(path, output, ignored)) continue;
    fail(Code::kUsage, flag, ": ", quote(output), " is among the data that are read: name another file");
  }
}

TaskData::TaskData(const Job& job, const RunOptions& options, Log& log)
    : job_(job), options_(options), log_(log), data_(job.data) {
  const bool has_output = options.task == "predict" || options.task == "convert";
  check_output(job, options, has_output ? "--output" : "--metrics",
               has_output ? options.output : options.metrics);
  if (!options.init_model.empty()) use_saved_vocabulary(options.init_model, data_);
  if (options.task == "train" || options.task == "test") data_.label_use = LabelUse::kNeeded;
  if (options.task == "predict") data_.label_use = LabelUse::kIgnored;
}

// A batch that is read has the examples of share.accumulate batches of the job, which the computation cuts
// apart again.  The first reader of a text collects its vocabulary, and later ones, as for validation, get
// the same ids from it.
std::unique_ptr<BatchReader> TaskData::make_reader(const std::vector<std::string>& paths,
                                                   const std::string& shuffle, int passes,
                                                   const DataShare& share, DataPart part) {
  if (paths.empty() && isatty(STDIN_FILENO) == 1) {
    fail(Code::kUsage, "no data: give --data FILE, data.files in the job file, or a pipe on standard input");
  }
  DataOptions data = data_;
  data.shuffle = shuffle;
  data.part = part;
  data.batch_size *= share.accumulate;
  data.sampling_seed = job_.job.seed;
  ReaderSettings settings;
  settings.threads = options_.threads;
  settings.passes = passes;
  settings.seed = job_.job.seed;
  settings.log = &log_;
  settings.stdin_head = options_.input_head;
  settings.vocabulary = vocabulary_;
  settings.share = share.rank;
  settings.num_shares = share.trainers;
  settings.first = share.first;
  settings.stride = share.stride;
  auto reader = std::make_unique<BatchReader>(data, paths.empty() ? kStandardInput : paths, settings);
  vocabulary_ = reader->vocabulary();
  return reader;
}

}  // namespace ps
