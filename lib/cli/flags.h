// The values that a command line and the environment gave, typed and checked.  Made by run_main; used by
// programs.
#ifndef PS_CLI_FLAGS_H_
#define PS_CLI_FLAGS_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/program.h"

namespace ps {

// The value of an environment variable, or null.  A program's is std::getenv.  An empty value counts as none.
using Environment = std::function<const char*(const std::string&)>;

// The value or values with which a flag overrides a key of the job file.
struct Override {
  std::string key;                  // dotted path: "train.passes"
  std::vector<std::string> values;  // one, unless is_list
  bool is_list = false;             // the flag is repeatable: the values replace the whole list
  bool is_set = false;  // from --set: the value is JSON if it parses as such; else it is the typed text
  std::string typed;    // "--passes" or "PS_PASSES", for messages
};

// Constant after parsing; any thread may read.  Precedence: flag, then PS_* environment, then the flag's
// default_text.
//
// Every getter returns nullopt when there is no value at all, so that the job file can supply it:
//   int64_t passes = flags.integer("passes", 1).value_or(job.train.passes);
// and throws kUsage, with the flag as it was typed, when the value is not of the type or out of [minimum,
// maximum]. Asking for a flag that is not in the table is a mistake of the program, and aborts.
class Flags {
 public:
  // Throws kUsage for unknown flags, missing or surplus arguments, and values that are not among the choices.
  // `arguments` does not include the program's name.
  static Flags parse(const Program& program, std::span<const std::string> arguments,
                     const Environment& environment);

  // Returns true if the flag is given on the command line or in the environment.
  bool given(std::string_view name) const;

  // Returns true if a switch is given and its value in the environment is not "0", "false" or "no".
  bool on(std::string_view name) const;

  std::optional<std::string> text(std::string_view name) const;
  std::optional<int64_t> integer(std::string_view name, int64_t minimum = std::numeric_limits<int64_t>::min(),
                                 int64_t maximum = std::numeric_limits<int64_t>::max()) const;
  std::optional<uint64_t> unsigned_integer(std::string_view name, uint64_t minimum = 0,
                                           uint64_t maximum = std::numeric_limits<uint64_t>::max()) const;
  std::optional<double> number(std::string_view name,
                               double minimum = -std::numeric_limits<double>::infinity(),
                               double maximum = std::numeric_limits<double>::infinity()) const;
  std::optional<uint64_t> bytes(std::string_view name, uint64_t minimum = 0,
                                uint64_t maximum = std::numeric_limits<uint64_t>::max()) const;
  std::optional<double> seconds(std::string_view name, double minimum = 0,
                                double maximum = std::numeric_limits<double>::infinity()) const;

  // All values of a repeatable flag in order; list() also splits each at commas and drops empty pieces.
  std::vector<std::string> values(std::string_view name) const;
  std::vector<std::string> list(std::string_view name) const;

  // Positional arguments, in order; "-" counts as one.
  const std::vector<std::string>& positionals() const { return positionals_; }

  // The overrides by --set and by flags with a job_key, lowest precedence first, so that applying them in
  // order leaves the right values: the environment, then the command line as it was typed.
  const std::vector<Override>& overrides() const { return overrides_; }

  // The source of the value, for messages: "--passes" or "PS_PASSES".
  std::string typed(std::string_view name) const;

  // Throws kUsage "typed: what; try 'ps-x --help'".  For checks of the program's own.
  [[noreturn]] void refuse(std::string_view name, std::string_view what) const;

 private:
  struct Value {
    std::string typed;
    std::vector<std::string> values;
    bool given = false;
  };

  const Value& find(std::string_view name) const;
  const std::string* last(std::string_view name) const;
  template <class Parsed, class Parse>
  std::optional<Parsed> get(std::string_view name, std::string_view kind, Parsed minimum, Parsed maximum,
                            Parse parser) const;

  std::string program_;
  std::map<std::string, Value, std::less<>> values_;  // one for each flag of the table
  std::vector<std::string> positionals_;
  std::vector<Override> overrides_;

  friend class FlagsBuilder;
};

}  // namespace ps

#endif  // PS_CLI_FLAGS_H_
