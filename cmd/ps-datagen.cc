// ps-datagen: writes synthetic sparse data, and nothing else, to standard output.  ps-datagen(1)
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "cli/interrupts.h"
#include "cli/main.h"
#include "config/json.h"
#include "data/output.h"
#include "data/synth/stream.h"

namespace {

using namespace ps;

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const GeneratorEntry* entry : generator_catalog()) names.emplace_back(entry->name);
  return names;
}

std::vector<std::string> writer_names() {
  std::vector<std::string> names;
  for (const WriterEntry* entry : writer_catalog()) names.emplace_back(entry->name);
  return names;
}

// Describes the command line of the program, as --help prints it: flags by group, then examples.
Program program() {
  return {
      .name = "ps-datagen",
      .summary = "write synthetic sparse data, from a law that is known, to standard output",
      .synopsis = "KIND [--samples N] [flags]",
      .positionals = {{.name = "KIND",
                       .help = "what to write; --list-kinds describes them",
                       .choices = kind_names()}},
      .flags = with_common_flags(
          {
              {.name = "samples",
               .letter = 'n',
               .argument = "N",
               .help = "examples to write; 0 or inf: without end",
               .group = "data",
               .default_text = "100000",
               .brief = true},
              {.name = "first",
               .argument = "N",
               .help = "number of the first example",
               .details = "Examples with other numbers have the same law: use it for held-out data.",
               .group = "data",
               .default_text = "0",
               .brief = true},
              {.name = "dim",
               .argument = "D",
               .help = "number of ids, words or pixels",
               .group = "data",
               .brief = true},
              {.name = "nnz",
               .argument = "MIN:MAX",
               .help = "ids of a row, ids of a slot, or words of a sentence",
               .group = "data"},
              {.name = "zipf",
               .argument = "A",
               .help = "exponent of the law of ids; 0: all alike",
               .group = "data"},
              {.name = "slots", .argument = "N", .help = "feature fields of a row", .group = "data"},
              {.name = "classes", .argument = "N", .help = "number of labels", .group = "data"},
              {.name = "positive-rate",
               .argument = "P",
               .help = "share of examples with label 1",
               .group = "data"},
              {.name = "interaction",
               .argument = "S",
               .help = "share of the truth that lies in pairs of ids",
               .details = "No linear model can learn that share; a factorisation machine can.",
               .group = "data"},
              {.name = "format",
               .letter = 'f',
               .argument = "F",
               .help = "how to write it; default: as befits the kind",
               .details = "With libsvm the ids of a row are in ascending order, otherwise in random order.",
               .group = "output",
               .choices = writer_names(),
               .brief = true},
              {.name = "output",
               .letter = 'o',
               .argument = "FILE|-",
               .help = "where to write it",
               .group = "output",
               .default_text = "-",
               .brief = true},
              {.name = "compress",
               .argument = "HOW",
               .help = "compress what is written",
               .group = "output",
               .default_text = "none",
               .choices = {"none", "zstd", "gzip"}},
              {.name = "rate",
               .argument = "R",
               .help = "examples a second, e.g. 50k/s; default: as fast as can be",
               .group = "output",
               .brief = true},
              {.name = "truth",
               .argument = "FILE|-",
               .help = "write, at the end, what the best possible model scores",
               .details = "A JSON object with, by kind, the attainable AUC, log loss, error, accuracy or "
                          "perplexity on the examples written.",
               .group = "output",
               .brief = true},
              {.name = "threads",
               .argument = "T",
               .help = "threads; they change no byte",
               .group = "output",
               .default_text = "1"},
              {.name = "list-kinds",
               .help = "describe the kinds, with their defaults, and end",
               .brief = true,
               .standalone = true,
               .environment = false},
          },
          {"seed", "log-level", "dry-run"}),
      .examples = {{"ps-datagen sparse-binary --samples 100k | ps-train sparse_binary", "train on it"},
                   {"ps-datagen ctr --samples 1000000 --truth truth.json --output ctr.txt",
                    "keep it, and its truth"},
                   {"ps-datagen ctr --first 1000000 --samples 50000 --output test.txt",
                    "held-out data of the same law"}},
  };
}

// Reads --nnz, which is "MIN:MAX" or "N".
std::optional<SynthOptions::CountRange> count_range(const Flags& flags) {
  std::optional<std::string> text = flags.text("nnz");
  if (!text) return std::nullopt;
  std::vector<std::string_view> parts = split(*text, ':');
  std::optional<int64_t> minimum = parse_int(parts.front()), maximum = parse_int(parts.back());
  if (parts.size() > 2 || !minimum || !maximum) flags.refuse("nnz", cat(quote(*text), " is not MIN:MAX"));
  return SynthOptions::CountRange{*minimum, *maximum};
}

// Reads --rate in examples a second: "50000", "50k", "50k/s", "1.5M/s".  Returns nullopt when there is no
// bound.
std::optional<double> examples_per_second(const Flags& flags) {
  std::optional<std::string> text = flags.text("rate");
  if (!text) return std::nullopt;
  std::string_view number = *text;
  if (number.ends_with("/s")) number.remove_suffix(2);
  double unit = number.ends_with('k') ? 1e3 : number.ends_with('M') ? 1e6 : 1;
  if (unit > 1) number.remove_suffix(1);
  std::optional<double> value = parse_double(number);
  if (!value || *value * unit < 1e-3 || *value * unit > 1e12) {
    flags.refuse("rate", cat(quote(*text), " is not a rate (as in 50k/s)"));
  }
  return *value * unit;
}

SynthOptions chosen_options(const Flags& flags) {
  SynthOptions chosen;
  chosen.dim = flags.integer("dim");
  chosen.nnz = count_range(flags);
  chosen.zipf = flags.number("zipf");
  chosen.slots = flags.integer("slots");
  chosen.classes = flags.integer("classes");
  chosen.positive_rate = flags.number("positive-rate");
  chosen.interaction = flags.number("interaction");
  return chosen;
}

StreamOptions stream_options(const Flags& flags, const WriterEntry& format) {
  StreamOptions stream;
  stream.first = *flags.unsigned_integer("first");
  stream.samples = *flags.text("samples") == "inf" ? 0 : *flags.unsigned_integer("samples");
  stream.threads = static_cast<int>(*flags.integer("threads", 1, 1024));
  stream.sorted = format.sorted;
  // Limits blocks so that a paced stream is written about every 50 ms.
  std::optional<double> rate = examples_per_second(flags);
  if (rate) stream.max_block = std::max<int64_t>(1, static_cast<int64_t>(*rate / 20));
  return stream;
}

Compression compression(const Flags& flags) {
  std::string name = *flags.text("compress");
  return name == "zstd" ? Compression::kZstd : name == "gzip" ? Compression::kGzip : Compression::kNone;
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

int list_kinds() {
  for (const GeneratorEntry* entry : generator_catalog()) {
    print(cat(entry->name, "\n    ", entry->help, "\n    as ", entry->native_format, ", ",
              entry->defaults().to_json().dump(), "\n"));
  }
  return 0;
}

// Makes a sink that writes at `rate`, and ends the stream when the reader of the output has closed it.
StreamSink paced(OutputStream& output, std::optional<double> rate) {
  auto start = std::chrono::steady_clock::now();
  return [&output, rate, start, done = 0.0](std::string_view bytes, int64_t examples) mutable {
    // The block that follows `done` examples is due when these would have been written at the rate.  Times
    // count from the start and not from the last block, so that delays are caught up and errors do not add
    // up.
    if (rate) std::this_thread::sleep_until(start + std::chrono::duration<double>(done / *rate));
    done += static_cast<double>(examples);
    return output.write(bytes);
  };
}

void write_truth(const std::string& path, const Json& truth) {
  std::string text = truth.dump(2) + "\n";
  path == "-" ? print(text) : write_named_file(path, text);
}

// Returns true if both paths name one file, which each would write over what the other wrote.
bool names_same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  if (std::filesystem::exists(a, ignored) && std::filesystem::exists(b, ignored))
    return std::filesystem::is_regular_file(a, ignored) && std::filesystem::equivalent(a, b, ignored);
  auto whole = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, ignored), ignored);
  };
  return whole(a) == whole(b);
}

// Generates a stream.  The parameters are those of the kind with the flags applied.  The truth begins with
// the facts that are known before a single example is made, which is all that --dry-run prints; the scores
// of the best model follow after the last example, and cover the examples that were written before an
// interruption.
int run(const Flags& flags, Log&) {
  if (flags.on("list-kinds")) return list_kinds();
  const GeneratorEntry& kind = find_generator(flags.positionals()[0]);
  const WriterEntry& format = find_writer(flags.text("format").value_or(std::string(kind.native_format)));
  SynthOptions options = kind.defaults();
  options.apply(chosen_options(flags), kind.name);
  uint64_t seed = flags.unsigned_integer("seed").value_or(1);
  StreamOptions stream = stream_options(flags, format);
  std::string path = *flags.text("output");
  std::optional<std::string> truth_path = flags.text("truth");
  if (truth_path == "-" && path == "-") flags.refuse("truth", "standard output holds the data; name a file");
  if (truth_path && names_same_file(*truth_path, path))
    flags.refuse("truth", cat(quote(path), " holds the data; name another file"));

  std::unique_ptr<Generator> generator = kind.make(options, seed);
  std::unique_ptr<Writer> writer = make_writer(format, generator->traits());
  Json truth = {{"kind", kind.name},
                {"format", format.name},
                {"seed", seed},
                {"first", stream.first},
                {"parameters", options.to_json()}};
  truth.update(generator->facts());
  if (flags.on("dry-run")) return print(truth.dump(2) + "\n"), 0;

  OutputStream output(path, compression(flags), format.binary);
  Interrupts interrupts("ps-datagen", "ending after this block; press Ctrl-C again to end at once");
  stream.stop = [&] { return interrupts.requested(); };
  TruthReport report(generator->truth_kind());
  generate_stream(*generator, *writer, stream, paced(output, examples_per_second(flags)),
                  truth_path ? &report : nullptr);
  output.finish();
  if (!truth_path) return interrupts.exit_status();
  truth.update(report.json());
  write_truth(*truth_path, truth);
  return interrupts.exit_status();
}

}  // namespace

int main(int argc, char** argv) {
  return run_main(program, argc, argv, run);
}
