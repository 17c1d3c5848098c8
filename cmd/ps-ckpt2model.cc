// ps-ckpt2model: turns a checkpoint into a model file, and inspects, verifies and compares checkpoints.
// ps-ckpt2model(1)
#include <algorithm>
#include <cstdio>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/printable.h"
#include "checkpoint/inspect/report.h"
#include "checkpoint/model/imported_model.h"
#include "checkpoint/model/model_format.h"
#include "cli/main.h"
#include "config/json.h"
#include "job/checkpoint_model.h"
#include "job/checkpoint_report.h"
#include "job/saved_model.h"
#include "train/model_file.h"

namespace {

using namespace ps;

// Describes the command line of the program, as --help prints it: flags by group, then examples.
Program program() {
  return {
      .name = "ps-ckpt2model",
      .summary = "turn a checkpoint or a model into a model file, and look into it",
      .synopsis =
          "CHECKPOINT|MODEL --output FILE|- [--format FORMAT] | --inspect | --verify | --diff OTHER | "
          "--top N | --row ROW | --nearest ROW | --statistics",
      .positionals = {{.name = "CHECKPOINT",
                       .help = "its folder, or one of checkpoints: the newest counts; or a saved model: "
                               "pass-00000, or the file in it"}},
      .flags = with_common_flags(
          {
              {.name = "output",
               .argument = "FILE",
               .help = "where the model goes, - for standard output",
               .brief = true},
              {.name = "format",
               .argument = "FORMAT",
               .help = "format of the model",
               .details = "See ps-model(5).",
               .default_text = "safetensors",
               .choices = model_format_names(),
               .brief = true},
              {.name = "type",
               .argument = "TYPE",
               .help = "type of the weights; int8 with a scale for each row",
               .default_text = "f32",
               .choices = {"f32", "f16", "bf16", "int8"}},
              {.name = "map",
               .argument = "THEIRS=OURS",
               .help = "of another program's safetensors file: a tensor, its name here",
               .details =
                   "THEIRS.T is a tensor's transpose, NAME.keys and NAME.rows are the ids and rows of a "
                   "sparse parameter.  Or a file with such a line for each tensor.",
               .repeatable = true},
              {.name = "with-state", .help = "the optimizer's state too"},
              {.name = "with-counts",
               .help = "the shows, clicks and age of rows too",
               .details = "Of tables with a row policy: arrays TABLE.shows, TABLE.clicks, TABLE.unseen."},
              {.name = "labels",
               .argument = "L,...",
               .help = "labels of the classes, for liblinear",
               .details = "The first is the one that a positive score means, of two.  Else: 1 and -1, or "
                          "the numbers of the classes from 0 on.",
               .repeatable = true},
              {.name = "vocabulary",
               .argument = "FILE",
               .help = "words of a text, by which rows are named",
               .details =
                   "As vocabulary.txt of a model, which is found in its folder; a checkpoint has none."},
              {.name = "tables",
               .argument = "NAME,...",
               .help = "only these tables",
               .group = "Choice",
               .repeatable = true,
               .brief = true},
              {.name = "keys",
               .argument = "A:B|FILE",
               .help = "only rows with keys from A to B, or in a file, one a line",
               .details = "Rows of sparse tables; dense parameters are always whole.",
               .group = "Choice"},
              {.name = "min-shows",
               .argument = "N",
               .help = "only rows that were shown so often",
               .details = "Of tables that count it.",
               .group = "Choice"},
              {.name = "rows",
               .argument = "SET",
               .help = "all rows, or those worth serving",
               .details = "base: of a score of --base-threshold or more, whose keys have occurred within "
                          "--max-unseen shrinks.  delta: of these, those whose score has grown since the "
                          "checkpoint --since by --delta-threshold or more.",
               .group = "Choice",
               .default_text = "all",
               .choices = {"all", "base", "delta"}},
              {.name = "since",
               .argument = "OTHER",
               .help = "delta: the checkpoint of the base",
               .group = "Choice"},
              {.name = "base-threshold",
               .argument = "SCORE",
               .help = "base, delta: least score",
               .group = "Choice",
               .default_text = "1.5"},
              {.name = "delta-threshold",
               .argument = "SCORE",
               .help = "delta: least growth of the score",
               .group = "Choice",
               .default_text = "0.25"},
              {.name = "max-unseen",
               .argument = "N",
               .help = "base, delta: most shrinks since a key occurred",
               .group = "Choice",
               .default_text = "16"},
              {.name = "inspect",
               .help = "say what is in the checkpoint, by its manifest",
               .group = "Instead",
               .brief = true},
              {.name = "verify",
               .help = "read all of it, and check every checksum",
               .group = "Instead",
               .brief = true},
              {.name = "diff",
               .argument = "OTHER",
               .help = "compare the weights with those of another checkpoint",
               .group = "Instead",
               .brief = true},
              {.name = "top",
               .argument = "N",
               .help = "the N largest weights, or with --nearest rows",
               .group = "Look inside",
               .brief = true},
              {.name = "row",
               .argument = "KEY|NAME",
               .help = "the weights of a row, in each table that has it",
               .group = "Look inside"},
              {.name = "nearest",
               .argument = "KEY|NAME",
               .help = "the rows nearest to a row, in each table that has it",
               .details = "10 of them, or as many as --top says.",
               .group = "Look inside",
               .brief = true},
              {.name = "metric",
               .argument = "METRIC",
               .help = "how --nearest measures: by angle, by product, by distance",
               .group = "Look inside",
               .default_text = "cosine",
               .choices = {"cosine", "dot", "l2"}},
              {.name = "statistics",
               .help = "counts, norms and quantiles of each table",
               .group = "Look inside",
               .brief = true},
          },
          {"log-level", "json"}),
      .examples = {{.command = "ps-ckpt2model checkpoints --output model.safetensors",
                    .help = "the newest checkpoint as a model"},
                   {.command = "ps-ckpt2model output/pass-00000 --nearest king",
                    .help = "words like this one"}},
  };
}

// Reads --keys, which is a range "A:B" or the name of a file of keys.
void choose_keys(const Flags& flags, RowChoice& choice) {
  const std::string text = flags.text("keys").value_or("");
  if (text.empty()) return;
  const std::vector<std::string_view> ends = split(text, ':');
  if (ends.size() == 2) {
    const auto first = parse_uint(ends[0]), last = parse_uint(ends[1]);
    if (first && last && *first <= *last) {
      choice.first_key = *first;
      choice.last_key = *last;
      return;
    }
  }
  std::vector<uint64_t>& keys = choice.keys.emplace();
  size_t line = 0;
  for (std::string_view one : split(read_file(text), '\n')) {
    ++line;
    if (one.empty()) continue;
    const std::optional<uint64_t> key = parse_uint(one);
    if (!key) fail(Code::kData, text, ":", line, ": ", quote(one), " is not a key");
    keys.push_back(*key);
  }
  std::sort(keys.begin(), keys.end());
}

// Reads --rows, which is "base" or "delta".  For a delta, sets `since` to the checkpoint with which it is
// compared.
void choose_set(const Flags& flags, std::optional<CheckpointReader>& since, RowChoice& choice) {
  const std::string set = *flags.text("rows");
  if (flags.given("since") != (set == "delta")) {
    fail(Code::kUsage, "--rows delta and --since belong together: the checkpoint that the base is of");
  }
  if (set == "all") return;
  choice.set = set == "base" ? RowSet::kBase : RowSet::kDelta;
  choice.base_threshold = flags.number("base-threshold", 0).value();
  choice.delta_threshold = flags.number("delta-threshold", 0).value();
  choice.max_unseen = flags.number("max-unseen", 0).value();
  if (set == "delta") choice.since = &since.emplace(checkpoint_folder(*flags.text("since")));
}

// Returns the choice of rows by tables, keys and shows; choose_set adds that by scores.
RowChoice row_choice(const Flags& flags) {
  RowChoice choice;
  choice.tables = flags.list("tables");
  choice.min_shows = flags.number("min-shows", 0);
  choice.with_state = flags.on("with-state");
  choose_keys(flags, choice);
  return choice;
}

NumberType number_type(const std::string& name) {
  return name == "f16"    ? NumberType::kF16
         : name == "bf16" ? NumberType::kBf16
         : name == "int8" ? NumberType::kI8
                          : NumberType::kF32;
}

// Prints `json` with --json, else `text`.  Names come from data, and may hold bytes that no JSON and no
// terminal should get.
void print(const Flags& flags, const Json& json, const std::string& text) {
  const std::string out =
      flags.on("json") ? json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n" : printable(text);
  std::fputs(out.c_str(), stdout);
}

// Returns the number that --top gives, else `otherwise`.  The range is bounded, since this many weights are
// held in memory.
size_t top_count(const Flags& flags, int64_t otherwise) {
  return static_cast<size_t>(flags.integer("top", 1, 1'000'000).value_or(otherwise));
}

Metric metric_of(const std::string& name) {
  return name == "cosine" ? Metric::kCosine : name == "dot" ? Metric::kDot : Metric::kL2;
}

// Answers a flag that looks into the model.  Returns false when no such flag is given.
bool look_inside(const Flags& flags, ModelSource& source, const RowNames& names) {
  if (flags.given("nearest")) {
    const Json found = nearest_rows(source, names, *flags.text("nearest"), metric_of(*flags.text("metric")),
                                    top_count(flags, 10));
    print(flags, found, nearest_text(found));
  } else if (flags.given("row")) {
    const Json found = find_row(source, names, *flags.text("row"));
    print(flags, found, row_text(found));
  } else if (flags.given("top")) {
    const Json largest = largest_weights(source, names, top_count(flags, 1));
    print(flags, largest, largest_weights_text(largest));
  } else if (flags.on("statistics")) {
    const Json statistics = model_statistics(source);
    print(flags, statistics, statistics_text(statistics));
  } else {
    return false;
  }
  return true;
}

void verify(const Flags& flags, const CheckpointReader& reader) {
  ThreadPool pool(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  reader.verify(pool, /*rows=*/true);
  print(flags, {{"folder", reader.folder()}, {"whole", true}}, cat(reader.folder(), ": whole\n"));
}

void diff(const Flags& flags, const CheckpointReader& reader, const RowChoice& choice) {
  const CheckpointReader other_reader(checkpoint_folder(*flags.text("diff")));
  CheckpointModel model(reader, choice), other(other_reader, choice);
  const Json comparison = compare_models(model, other);
  print(flags, comparison, comparison_text(comparison));
}

// Refuses more than one mode, since modes exclude each other.  --top may stand beside --nearest, where it is
// a number of rows.
void check_modes(const Flags& flags) {
  std::vector<std::string> modes;
  for (const char* mode : {"inspect", "verify", "statistics"}) {
    if (flags.on(mode)) modes.push_back(flags.typed(mode));
  }
  for (const char* mode : {"diff", "output", "row", "nearest"}) {
    if (flags.given(mode)) modes.push_back(flags.typed(mode));
  }
  if (flags.given("top") && !flags.given("nearest")) modes.push_back(flags.typed("top"));
  if (modes.size() > 1) {
    fail(Code::kUsage, join(modes, " and "), " exclude each other: give one; see ps-ckpt2model --help");
  }
  if (modes.empty()) {
    fail(
        Code::kUsage,
        "nothing to do: give --output, --inspect, --verify, --diff, --top, --row, --nearest or --statistics; "
        "see ps-ckpt2model --help");
  }
  if (flags.given("metric") && !flags.given("nearest")) flags.refuse("metric", "is of --nearest");
  if (flags.given("with-state") && !flags.given("output") && !flags.given("row"))
    flags.refuse("with-state", "is of models that --output writes, and of --row");
  if (flags.given("output")) return;
  for (const char* name : {"format", "type", "labels", "with-counts"}) {
    if (flags.given(name)) flags.refuse(name, "is of models that --output writes");
  }
}

ModelSettings model_settings(const Flags& flags, RowNames names) {
  return {number_type(*flags.text("type")), flags.list("labels"), std::move(names), flags.on("with-counts")};
}

// Converts a safetensors file of another program to a model, or prints its contents, as the flags ask.
void import_model(const Flags& flags, const std::string& path, Log& log) {
  for (const char* name : {"inspect", "verify", "diff", "with-state", "with-counts", "tables", "keys",
                           "min-shows", "rows", "since"}) {
    if (flags.given(name)) flags.refuse(name, "does not go with --map");
  }
  ImportedModel model(path, parse_name_pairs(flags.list("map")));
  const std::vector<std::string> left_out = model.left_out();
  if (!left_out.empty()) log.info("left out, since --map does not name them: ", join(left_out, ", "));
  RowNames names;
  if (look_inside(flags, model, names)) return;
  write_model(find_model_format(*flags.text("format")), model, model_settings(flags, std::move(names)),
              *flags.text("output"));
}

// Converts a saved model, or prints its contents.  A saved model has weights alone, so flags that ask for
// more are refused.
void convert_model(const Flags& flags, const std::string& path) {
  for (const char* name :
       {"inspect", "diff", "with-state", "with-counts", "keys", "min-shows", "rows", "since"}) {
    if (flags.given(name))
      flags.refuse(name, cat("is for checkpoints, and ", quote(path), " is a saved model"));
  }
  SavedModel model(path, flags.list("tables"));
  if (!flags.on("verify")) {
    RowNames names = model.names(flags.text("vocabulary").value_or(""));
    if (look_inside(flags, model, names)) return;
    return write_model(find_model_format(*flags.text("format")), model,
                       model_settings(flags, std::move(names)), *flags.text("output"));
  }
  model.verify();
  print(flags, {{"file", model.path()}, {"whole", true}}, cat(model.path(), ": whole\n"));
}

// Decides by the flags and by CHECKPOINT which kind of source it is: with --map a file of another program;
// a saved model if there is a model file and no checkpoint; else a checkpoint.  A comparison leaves out the
// optimizer's state, since only weights are compared.
int run(const Flags& flags, Log& log) {
  check_modes(flags);
  const std::string& path = flags.positionals()[0];
  if (flags.given("map")) {
    import_model(flags, path, log);
    return 0;
  }
  if (!is_checkpoint(path) && exists(model_file_path(path)) && !is_directory(model_file_path(path))) {
    convert_model(flags, path);
    return 0;
  }
  const CheckpointReader reader(checkpoint_folder(path));
  std::optional<CheckpointReader> since;
  RowChoice choice = row_choice(flags);
  choose_set(flags, since, choice);
  if (flags.on("inspect")) {
    const Json description = describe_checkpoint(reader);
    print(flags, description, checkpoint_text(description));
  } else if (flags.on("verify")) {
    verify(flags, reader);
  } else if (flags.given("diff")) {
    choice.with_state = false;
    diff(flags, reader, choice);
  } else {
    CheckpointModel model(reader, choice);
    RowNames names = model.names(flags.text("vocabulary").value_or(""));
    if (look_inside(flags, model, names)) return 0;
    write_model(find_model_format(*flags.text("format")), model, model_settings(flags, std::move(names)),
                *flags.text("output"));
    log.debug("wrote the model of ", reader.folder());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return run_main(program, argc, argv, run);
}
