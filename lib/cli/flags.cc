#include "cli/flags.h"

#include <algorithm>
#include <boost/program_options.hpp>

#include "base/count_text.h"
#include "base/error.h"
#include "base/text.h"

namespace ps {

namespace po = boost::program_options;

namespace {

constexpr char kPositional[] = "positional arguments";  // cannot be typed as a flag

[[noreturn]] void fail_usage(const std::string& program, std::string_view what) {
  fail(Code::kUsage, what, "; try '", program, " --help'");
}

// The table as Boost.ProgramOptions wants it.  Values stay text: the getters parse them.
po::options_description description(const std::vector<Flag>& flags) {
  po::options_description out;
  for (const Flag& flag : flags) {
    std::string names = flag.letter ? cat(flag.name, ",", flag.letter) : flag.name;
    bool is_switch = flag.argument.empty();
    out.add_options()(names.c_str(), is_switch ? new po::untyped_value(true) : new po::untyped_value(), "");
  }
  out.add_options()(kPositional, po::value<std::vector<std::string>>());
  return out;
}

std::vector<std::string> names_of(const std::vector<Flag>& flags) {
  std::vector<std::string> names;
  for (const Flag& flag : flags) {
    if (!flag.hidden) names.push_back(flag_text(flag.name));
  }
  return names;
}

// Boost treats "--flag=" as a missing value; here it means an empty one, like "--flag ''".  The loop runs
// from the back, so that inserting an argument does not move those that are still to be looked at.
// Arguments behind "--" are no flags.
std::vector<std::string> split_empty_values(const std::vector<Flag>& flags,
                                            std::span<const std::string> arguments) {
  std::vector<std::string> out(arguments.begin(), arguments.end());
  size_t end = static_cast<size_t>(std::find(out.begin(), out.end(), "--") - out.begin());
  for (size_t i = end; i-- > 0;) {
    auto has_empty_value = [&](const Flag& flag) {
      return !flag.argument.empty() && out[i] == cat(flag_text(flag.name), "=");
    };
    if (std::none_of(flags.begin(), flags.end(), has_empty_value)) continue;
    out[i].pop_back();
    out.insert(out.begin() + static_cast<ptrdiff_t>(i) + 1, "");
  }
  return out;
}

// Returns the options of the command line in order.  Throws kUsage in the words of this toolkit for each
// error that Boost finds.  Flags must be written out: a unique beginning would stop being unique when a new
// flag comes.
std::vector<po::option> tokenize(const std::vector<Flag>& flags, std::span<const std::string> arguments,
                                 const std::string& program) {
  namespace style = po::command_line_style;
  po::options_description options = description(flags);
  po::positional_options_description positionals;
  positionals.add(kPositional, -1);
  try {
    return po::command_line_parser(split_empty_values(flags, arguments))
        .options(options)
        .positional(positionals)
        .style(style::unix_style & ~style::allow_guessing)
        .run()
        .options;
  } catch (const po::unknown_option& error) {
    std::string typed = error.get_option_name();
    fail_usage(program, cat("unknown flag ", quote(typed), did_you_mean(typed, names_of(flags))));
  } catch (const po::invalid_command_line_syntax& error) {
    bool surplus = error.kind() == po::invalid_syntax::extra_parameter;
    fail_usage(program, cat(quote(error.get_option_name()), surplus ? " takes no value" : " needs a value"));
  } catch (const po::error& error) {
    fail_usage(program, error.what());
  }
}

// Throws kUsage unless the value is one of the choices; without choices each value is good.
void check_choice(const std::vector<std::string>& choices, const std::string& value, const std::string& typed,
                  const std::string& program) {
  if (choices.empty() || std::find(choices.begin(), choices.end(), value) != choices.end()) return;
  fail_usage(program, cat(typed, ": unknown value ", quote(value), did_you_mean(value, choices),
                          "; expected one of ", join(choices, ", ")));
}

}  // namespace

// Fills in a Flags from each source in turn; a later source overrides the earlier ones.
class FlagsBuilder {
 public:
  explicit FlagsBuilder(const Program& program) : program_(program), flags_(all_flags(program)) {
    out_.program_ = program.name;
    for (const Flag& flag : flags_) {
      auto [entry, is_new] = out_.values_.emplace(flag.name, Flags::Value{});
      PS_CHECK(is_new);
      Flags::Value& value = entry->second;
      value.typed = flag_text(flag.name);
      if (!flag.default_text.empty()) value.values = {flag.default_text};
    }
  }

  // An empty variable counts as unset, so that a script can unset it for one program: PS_SEED= ps-train.
  void add_environment(const Environment& environment) {
    for (const Flag& flag : flags_) {
      if (!flag.environment) continue;
      std::string name = environment_name(flag.name);
      const char* value = environment(name);
      if (value != nullptr && *value != '\0') accept(flag, name, value, true);
    }
  }

  void add_command_line(std::span<const std::string> arguments) {
    for (const po::option& option : tokenize(flags_, arguments, program_.name)) {
      if (option.string_key == kPositional) {
        out_.positionals_.push_back(option.value.at(0));
        continue;
      }
      const Flag& flag = find(option.string_key);
      // The first occurrence replaces values of lower sources; later occurrences of a repeatable flag add to
      // it.
      bool first = std::find(typed_.begin(), typed_.end(), flag.name) == typed_.end();
      typed_.push_back(flag.name);
      accept(flag, spelling(flag, option), option.value.empty() ? "1" : option.value[0],
             first || !flag.repeatable);
      if (flag.standalone) standalone_ = true;
    }
  }

  Flags finish() {
    check_positionals();
    return std::move(out_);
  }

 private:
  const Flag& find(const std::string& name) const {
    auto found =
        std::find_if(flags_.begin(), flags_.end(), [&](const Flag& flag) { return flag.name == name; });
    PS_CHECK(found != flags_.end());
    return *found;
  }

  // "-p" when it was typed so, else "--passes".
  static std::string spelling(const Flag& flag, const po::option& option) {
    bool is_short =
        flag.letter && !option.original_tokens.empty() && !option.original_tokens[0].starts_with("--");
    return is_short ? cat("-", flag.letter) : flag_text(flag.name);
  }

  // Takes one value of a flag.  `replace`: it takes the place of the values of lower sources.  Each value
  // gives an override of its own, and those of a flag that is repeated carry all values so far: overrides
  // are applied in order, so the last one has the whole list.
  void accept(const Flag& flag, const std::string& typed, const std::string& text, bool replace) {
    check_choice(flag.choices, text, typed, program_.name);
    Flags::Value& value = out_.values_.at(flag.name);
    value.typed = typed;
    value.given = true;
    if (replace) value.values.clear();
    value.values.push_back(text);
    if (flag.name == "set") {
      add_set(text);
    } else if (!flag.job_key.empty()) {
      add_override(flag, value);
    }
  }

  void add_override(const Flag& flag, const Flags::Value& value) {
    std::vector<std::string> values = value.values;
    if (flag.argument.empty()) values = {out_.on(flag.name) ? "true" : "false"};
    out_.overrides_.push_back(
        {.key = flag.job_key, .values = std::move(values), .is_list = flag.repeatable, .typed = value.typed});
  }

  void add_set(const std::string& text) {
    size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      fail_usage(program_.name, cat("--set ", quote(text), ": expected KEY=VALUE"));
    }
    out_.overrides_.push_back({.key = text.substr(0, equals),
                               .values = {text.substr(equals + 1)},
                               .is_set = true,
                               .typed = "--set"});
  }

  // The first loop finds arguments that are missing.  A standalone flag, such as --help, works without
  // them.
  void check_positionals() const {
    const std::vector<std::string>& given = out_.positionals_;
    for (size_t i = 0; i < program_.positionals.size() && i >= given.size(); ++i) {
      const Positional& missing = program_.positionals[i];
      if (missing.required && !standalone_) fail_usage(program_.name, cat("missing ", missing.name));
    }
    for (size_t i = 0; i < given.size(); ++i) check_positional(given[i], i);
  }

  void check_positional(const std::string& value, size_t index) const {
    const std::vector<Positional>& table = program_.positionals;
    bool fits = index < table.size() || (!table.empty() && table.back().repeatable);
    if (!fits) fail_usage(program_.name, cat("unexpected argument ", quote(value)));
    const Positional& positional = index < table.size() ? table[index] : table.back();
    check_choice(positional.choices, value, positional.name, program_.name);
  }

  const Program& program_;
  const std::vector<Flag> flags_;
  std::vector<std::string> typed_;  // names of the flags seen on the command line so far
  bool standalone_ = false;
  Flags out_;
};

Flags Flags::parse(const Program& program, std::span<const std::string> arguments,
                   const Environment& environment) {
  FlagsBuilder builder(program);
  builder.add_environment(environment);
  builder.add_command_line(arguments);
  return builder.finish();
}

const Flags::Value& Flags::find(std::string_view name) const {
  auto found = values_.find(name);
  PS_CHECK(found != values_.end());
  return found->second;
}

const std::string* Flags::last(std::string_view name) const {
  const Value& value = find(name);
  return value.values.empty() ? nullptr : &value.values.back();
}

bool Flags::given(std::string_view name) const {
  return find(name).given;
}

bool Flags::on(std::string_view name) const {
  const std::string* value = last(name);
  return value != nullptr && *value != "0" && *value != "false" && *value != "no";
}

std::string Flags::typed(std::string_view name) const {
  return find(name).typed;
}

void Flags::refuse(std::string_view name, std::string_view what) const {
  fail_usage(program_, cat(typed(name), ": ", what));
}

std::optional<std::string> Flags::text(std::string_view name) const {
  const std::string* value = last(name);
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

// Returns the value that counts, parsed and within [minimum, maximum], or nullopt if there is none.  `kind`
// says in messages which form a value has.
template <class Parsed, class Parse>
std::optional<Parsed> Flags::get(std::string_view name, std::string_view kind, Parsed minimum, Parsed maximum,
                                 Parse parser) const {
  const std::string* value = last(name);
  if (value == nullptr) return std::nullopt;
  std::optional<Parsed> parsed = parser(*value);
  if (!parsed) refuse(name, cat(quote(*value), " is not ", kind));
  if (*parsed < minimum) refuse(name, cat(*value, " is too small, expected at least ", minimum));
  if (*parsed > maximum) refuse(name, cat(*value, " is too large, expected at most ", maximum));
  return parsed;
}

std::optional<int64_t> Flags::integer(std::string_view name, int64_t minimum, int64_t maximum) const {
  return get(name, "an integer, such as 1000, 1M or 1e6", minimum, maximum, parse_count);
}

std::optional<uint64_t> Flags::unsigned_integer(std::string_view name, uint64_t minimum,
                                                uint64_t maximum) const {
  // parse_count reads suffixes and exponents, but only up to 2^63 - 1; plain digits reach 2^64 - 1.
  auto parse = [](std::string_view text) -> std::optional<uint64_t> {
    if (std::optional<uint64_t> plain = parse_uint(text)) return plain;
    const std::optional<int64_t> count = parse_count(text);
    if (!count || *count < 0) return std::nullopt;
    return static_cast<uint64_t>(*count);
  };
  return get(name, "a whole number, such as 1000, 1M or 1e6", minimum, maximum, parse);
}

std::optional<double> Flags::number(std::string_view name, double minimum, double maximum) const {
  return get(name, "a number", minimum, maximum, parse_double);
}

std::optional<uint64_t> Flags::bytes(std::string_view name, uint64_t minimum, uint64_t maximum) const {
  return get(name, "a number of bytes, such as 4096, 64K or 1.5G", minimum, maximum, parse_bytes);
}

std::optional<double> Flags::seconds(std::string_view name, double minimum, double maximum) const {
  return get(name, "a time, such as 250ms, 10s or 5m", minimum, maximum, parse_seconds);
}

std::vector<std::string> Flags::values(std::string_view name) const {
  return find(name).values;
}

std::vector<std::string> Flags::list(std::string_view name) const {
  std::vector<std::string> out;
  for (const std::string& value : find(name).values) {
    for (std::string_view part : split(value, ',')) {
      if (!part.empty()) out.emplace_back(part);
    }
  }
  return out;
}

}  // namespace ps
