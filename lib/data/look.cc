#include "data/look.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "base/error.h"
#include "data/csv/learn.h"
#include "data/fasttext_classes.h"
#include "data/format.h"
#include "data/infer_slots.h"
#include "data/reader.h"
#include "data/source.h"

namespace ps {

namespace {

constexpr int64_t kBatchSize = 4096;

// A file in memory with these bytes, which stands in for standard input during the look.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(memfd_create("head", MFD_CLOEXEC)) {
    if (descriptor_ < 0) fail_errno(Code::kExhausted, "cannot make", "a file in memory", errno);
    while (!bytes.empty()) {
      const ssize_t size = ::write(descriptor_, bytes.data(), bytes.size());
      if (size < 0) fail_errno(Code::kExhausted, "cannot write", "a file in memory", errno);
      bytes.remove_prefix(static_cast<size_t>(size));
    }
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int rewound() const {
    if (lseek(descriptor_, 0, SEEK_SET) != 0)
      fail_errno(Code::kInternal, "cannot rewind", "a file in memory", errno);
    return descriptor_;
  }

 private:
  const int descriptor_;
};

bool is_compressed(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b") || bytes.starts_with("\x28\xb5\x2f\xfd");
}

// Returns the whole lines of the head of a stream; its last line may continue in later bytes.
std::string_view whole_lines(const InputHead& head) {
  if (!head.bytes) return {};
  const std::string_view bytes = *head.bytes;
  if (head.whole || is_compressed(bytes)) return bytes;
  const size_t end = bytes.rfind('\n');
  return end == std::string_view::npos ? bytes : bytes.substr(0, end + 1);
}

// One look at data.  It checks the files, finds slots, columns or classes, reads examples up to the limit, and
// estimates the rest.  One owner thread.
class Look {
 public:
  // The look reads in the order of the data, once, and without the transformations of values, since those
  // are decided by what it finds.
  Look(const DataOptions& options, const std::vector<std::string>& paths, const LookSettings& settings)
      : options_(options), paths_(paths), settings_(settings), input_(whole_lines(settings.head)) {
    options_.batch_size = kBatchSize;
    options_.shuffle = "none";
    options_.cache = "none";
    options_.unit_length = options_.log_counts = false;
    options_.label_use = LabelUse::kKept;
  }

  DataLook run() {
    check_files();
    try {
      find_slots();
      read();
    } catch (const Error& error) {
      // Compressed bytes that are cut at the end of the head seem damaged, and a record of a table may be cut
      // within quotes.
      const bool at_the_cut = error.code() == Code::kCorrupt || (error.code() == Code::kData && out_.csv);
      if (!at_the_cut || !cut() || out_.examples == 0) throw;
    }
    out_.whole = out_.whole && !cut();
    remove_labels();
    return std::move(out_);
  }

 private:
  void remove_labels() {
    const auto found = std::find_if(out_.seen.begin(), out_.seen.end(), [this](const SlotLook& slot) {
      return options_.has_labels(slot.schema);
    });
    if (found == out_.seen.end()) return;
    out_.labels = *found;
    out_.seen.erase(found);
  }

  bool cut() const { return out_.stream && !settings_.head.whole; }

  void check_files() {
    for (const InputFile& file : expand_inputs(paths_)) {
      if (file.stream && file.path != "-") {
        fail(Code::kUsage, quote(file.path),
             " is a pipe, which cannot be looked at and then read: give - for "
             "standard input, or a job in which nothing is auto");
      }
      out_.stream = out_.stream || file.stream;
      out_.bytes += file.bytes;
    }
  }

  // Finds the slots.  With format auto the order of the questions decides: fasttext and jsonl are told by
  // the beginning of the first line; vw by its bars, which might be taken for separators; then tables by
  // their first two lines; then multislot, if all lines have its form; and last the other formats by the
  // first line.  A format that is found here replaces auto in options_, from which the reader is made.
  void find_slots() {
    if (is_table_format(options_.format)) return learn_columns();
    if (options_.format == "fasttext") return learn_labels();
    if (!options_.slots.empty() || (options_.format != "auto" && options_.format != "multislot")) return;
    std::string name;
    const std::string head = first_bytes(name);
    if (options_.format == "auto" && find_format("fasttext").recognize(first_line(head), options_)) {
      options_.format = "fasttext";
      return learn_labels();
    }
    if (options_.format == "auto" && find_format("jsonl").recognize(first_line(head), options_)) {
      options_.format = "jsonl";
      return learn_columns();
    }
    const bool has_bars =
        options_.format == "auto" && find_format("vw").recognize(first_line(head), options_);
    if (has_bars) return;  // bars are no separators of a table
    if (const auto guess = guess_table(head); guess && options_.format == "auto") {
      options_.format = guess->format;
      if (options_.csv.separator.empty()) options_.csv.separator = guess->separator;
      return learn_columns();
    }
    if (options_.format == "auto" && (head.empty() || is_other_format(head, name))) return;
    InferredSlots found = infer_slots(head, name);
    out_.slots = options_.slots = std::move(found.slots);
    out_.label_slot = options_.label_slot = std::move(found.label_slot);
    options_.format = "multislot";
  }

  void learn_columns() {
    if (options_.csv.learnt) return;
    SourceContext context;
    context.stdin_descriptor = input_.rewound();
    options_.csv = learn_table(options_, paths_, context, settings_.most_examples, cut(), settings_.threads);
    out_.csv = options_.csv;
  }

  void learn_labels() {
    if (!options_.fasttext.classes.empty()) return;
    SourceContext context;
    context.stdin_descriptor = input_.rewound();
    out_.classes = options_.fasttext.classes =
        learn_fasttext_classes(options_, paths_, context, settings_.most_examples);
  }

  std::string first_bytes(std::string& name) const {
    constexpr auto kEnough = [](std::string_view bytes) { return bytes.size() >= size_t{1} << 16; };
    SourceContext context;
    context.stdin_descriptor = input_.rewound();
    for (const InputFile& file : expand_inputs(paths_)) {
      ByteSource source(file, context);
      const std::string_view head = source.peek(kEnough);
      name = *source.name();
      if (!head.empty()) return std::string(head);
    }
    return {};
  }

  bool is_other_format(std::string_view head, const std::string& name) const {
    if (looks_like_multislot(head)) return false;
    recognize_format(options_, head, name);
    return true;
  }

  // Reads batches until there are enough examples.  Less than the whole data then stand for all of them.
  void read() {
    ReaderSettings settings;
    settings.threads = settings_.threads;
    settings.stdin_descriptor = input_.rewound();
    BatchReader reader(options_, paths_, settings);
    out_.format = reader.format();
    for (const SlotSchema& slot : reader.schema().slots) out_.seen.push_back({.schema = slot});
    reader.begin_pass(0);
    Batch batch;
    while (reader.next(batch)) {
      add(batch);
      if (out_.examples < settings_.most_examples) continue;
      expect(reader.progress());
      return;
    }
  }

  // A batch of the reader has at least one example, so it has a smallest and a largest label.
  void add(const Batch& batch) {
    const auto [smallest, largest] = std::minmax_element(batch.labels.begin(), batch.labels.end());
    const bool first = out_.examples == 0;
    out_.smallest_label = first ? *smallest : std::min(out_.smallest_label, *smallest);
    out_.largest_label = first ? *largest : std::max(out_.largest_label, *largest);
    auto is_whole = [](float value) { return value == std::trunc(value); };
    out_.whole_labels = out_.whole_labels && std::all_of(batch.labels.begin(), batch.labels.end(), is_whole);
    for (size_t s = 0; s < out_.seen.size(); ++s) add(batch.slots[s], out_.seen[s]);
    out_.examples = out_.seen_examples += batch.size();
  }

  static void add(const SlotData& slot, SlotLook& seen) {
    seen.num_keys += slot.keys.size();
    for (size_t b = 0; b + 1 < slot.offsets.size(); ++b) {
      const double length = slot.offsets[b + 1] - slot.offsets[b];
      seen.sum_of_squares += length * length;
    }
    for (Key key : slot.keys) seen.largest_key = std::max(seen.largest_key, key);
    for (float value : slot.values) {
      seen.all_ones = seen.all_ones && value == 1;
      seen.all_whole = seen.all_whole && value >= 0 && value == std::trunc(value);
      seen.largest_value = std::max(seen.largest_value, value);
    }
  }

  // Estimates the number of examples.  The rest of the data is assumed to be like the part that was read.
  void expect(const ReaderProgress& progress) {
    out_.whole = false;
    if (progress.bytes_read == 0 || progress.total_bytes <= progress.bytes_read) return;
    const double parts = static_cast<double>(progress.total_bytes) / static_cast<double>(progress.bytes_read);
    out_.examples = static_cast<int64_t>(static_cast<double>(out_.examples) * parts);
  }

  DataOptions options_;
  const std::vector<std::string> paths_;
  const LookSettings settings_;
  const MemoryFile input_;
  DataLook out_;
};

}  // namespace

double spread_of_lengths(const SlotLook& slot, int64_t examples) {
  if (slot.num_keys == 0 || examples == 0) return 0;
  const double count = static_cast<double>(examples), mean = static_cast<double>(slot.num_keys) / count;
  return std::sqrt(std::max(0.0, slot.sum_of_squares / count - mean * mean)) / mean;
}

InputHead read_input_head(int descriptor, size_t most) {
  std::string bytes(most, '\0');
  size_t size = 0;
  bool ended = false;
  while (size < most && !ended) {
    const ssize_t got = ::read(descriptor, bytes.data() + size, most - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_errno(Code::kUnavailable, "cannot read", "standard input", errno);
    ended = got == 0;
    size += static_cast<size_t>(got);
  }
  bytes.resize(size);
  return {std::make_shared<const std::string>(std::move(bytes)), ended};
}

DataLook look_at_data(const DataOptions& options, const std::vector<std::string>& paths,
                      const LookSettings& settings) {
  return Look(options, paths, settings).run();
}

}  // namespace ps
