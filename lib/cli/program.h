// A program as a table: its flags, positional arguments and examples.  From this one table come the parser
// (cli/flags.h), --help (cli/help.h), the manual's OPTIONS (cli/manual.h) and completions (cli/completion.h).
// Used by cmd/ps-*.cc, which fill it in, and by run_main (cli/main.h).
#ifndef PS_CLI_PROGRAM_H_
#define PS_CLI_PROGRAM_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ps {

using Beginnings = std::function<std::vector<std::string>()>;

// One flag.  Write tables with designated initializers:
//   {.name = "passes", .letter = 'p', .argument = "N", .help = "times through the data", .job_key =
//   "train.passes"}
struct Flag {
  std::string name = {};      // "batch-size": typed --batch-size, and PS_BATCH_SIZE in the environment
  char letter = 0;            // 'b': typed -b; 0: none
  std::string argument = {};  // "N"; empty: a switch.  Completion offers files for FILE and folders for DIR
  std::string help = {};      // for --help and the manual: a phrase, no capital, no full stop
  std::string details = {};   // for the manual only: whole sentences
  std::string group = {};     // heading in --help and the manual; empty: "general"

  // The value when neither flag nor environment gives one.  Empty: the getters return nullopt, and the job
  // file or the program decides.
  std::string default_text = {};
  std::vector<std::string> choices = {};  // the only values allowed; empty: any
  Beginnings beginnings = {};             // of values, for completion: "train.passes="; made when asked for
  bool repeatable = false;                // every occurrence counts; otherwise the last one wins

  // "train.passes": the key of the job file that this flag overrides (Flags::overrides); empty: none.
  std::string job_key = {};

  bool brief = false;       // shown by --help; the others by --help-all alone
  bool hidden = false;      // parsed, but in no help, manual or completion
  bool standalone = false;  // with it the positional arguments may be missing: --list-layers
  bool environment = true;  // may be given as PS_<NAME>
};

// One positional argument.  Required ones come first, optional ones last.
struct Positional {
  std::string name = {};  // "JOB.json"
  std::string help = {};
  std::vector<std::string> choices = {};  // the only values allowed; empty: any; offered by completion
  bool required = true;
  bool repeatable = false;  // the last positional only: takes all further arguments
};

// A command line worth showing at the end of --help.
struct Example {
  std::string command = {};
  std::string help = {};
};

struct Program {
  std::string name = {};      // "ps-train"
  std::string summary = {};   // a phrase: "train, test or predict as a job file says"
  std::string synopsis = {};  // the arguments: "JOB.json [--data FILE|- ...] [flags]"
  std::vector<Positional> positionals = {};
  std::vector<Flag> flags = {};
  std::vector<Example> examples = {};
};

// Adds flags that several programs share, and that are worded once, by name: set, print-config, dry-run, seed,
// log-level, progress, json.  --help, --help-all, --version, and the hidden --dump-man-options and
// --dump-completion need no mention: run_main has them.  Append them to the program's own:
//   program.flags = with_common_flags({…own…}, {"set", "seed", "log-level"});
// In a program with --set, which has a job file, --seed overrides job.seed.
std::vector<Flag> with_common_flags(std::vector<Flag> own, const std::vector<std::string>& common);

// Returns the program with these beginnings for its flag `name`.
Program with_beginnings(Program program, const std::string& name, Beginnings beginnings);

// The program's flags and the flags of every program: parser, help and manual pages walk this table.
std::vector<Flag> all_flags(const Program& program);

// "--batch-size"; "PS_BATCH_SIZE".
std::string flag_text(std::string_view name);
std::string environment_name(std::string_view name);

// The kind of names that completion offers for a value, judged by the flag's argument or the positional's
// name: files for FILE and names with a suffix such as JOB.json, folders for DIR and DIRECTORY, else nothing.
enum class ValueKind { kOther, kFile, kDirectory };
ValueKind value_kind(std::string_view argument);

}  // namespace ps

#endif  // PS_CLI_PROGRAM_H_
