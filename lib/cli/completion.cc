#include "cli/completion.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace ps {

namespace {

std::vector<Flag> visible_flags(const Program& program) {
  std::vector<Flag> flags = all_flags(program);
  std::erase_if(flags, [](const Flag& flag) { return flag.hidden; });
  return flags;
}

// All positionals together: completion does not count them.
std::vector<std::string> positional_choices(const Program& program) {
  std::vector<std::string> out;
  for (const Positional& positional : program.positionals) {
    out.insert(out.end(), positional.choices.begin(), positional.choices.end());
  }
  return out;
}

bool has_file_positional(const Program& program) {
  return std::any_of(program.positionals.begin(), program.positionals.end(),
                     [](const Positional& positional) { return positional.choices.empty(); });
}

// `text` with a backslash before each byte of `special`.
std::string escape(std::string_view text, std::string_view special) {
  std::string out;
  for (char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// A word in single quotes, for bash and zsh.
std::string shell_quote(std::string_view text) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string function_name(const Program& program) {
  std::string out = "_" + program.name;
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

// bash
// ---------------------------------------------------------------------------------------------------------------

// The line of `case $prev` that answers for a flag with a value.
std::string bash_case(const Flag& flag) {
  std::string pattern = flag_text(flag.name);
  if (flag.letter) pattern += cat("|-", flag.letter);
  std::string words;
  if (flag.beginnings) {
    return cat("    ", pattern, ") compopt -o nospace; mapfile -t COMPREPLY < <(compgen -W ",
               shell_quote(join(flag.beginnings(), " ")), " -- \"$cur\"); return ;;\n");
  }
  if (!flag.choices.empty()) {
    words = cat("compgen -W ", shell_quote(join(flag.choices, " ")));
  } else if (value_kind(flag.argument) == ValueKind::kFile) {
    words = "compgen -f";
  } else if (value_kind(flag.argument) == ValueKind::kDirectory) {
    words = "compgen -d";
  } else {
    return cat("    ", pattern, ") return ;;\n");
  }
  return cat("    ", pattern, ") mapfile -t COMPREPLY < <(", words, " -- \"$cur\"); return ;;\n");
}

// The script's function looks at the word before the cursor's: if that is a flag with a value, `cases`
// answers with its choices, files or folders.  Else it answers with all flags for a word that begins with a
// dash, and with the choices of positionals and perhaps files for any other.
std::string bash(const Program& program) {
  std::string function = function_name(program), names, cases;
  for (const Flag& flag : visible_flags(program)) {
    names += cat(names.empty() ? "" : " ", flag_text(flag.name));
    if (!flag.argument.empty()) cases += bash_case(flag);
  }
  std::string words = cat("compgen ", has_file_positional(program) ? "-f " : "", "-W ",
                          shell_quote(join(positional_choices(program), " ")));
  return cat("# bash completion of ", program.name, "\n", function, "() {\n",
             // "--flag=value" reaches us as three words, cut at the "=".
             "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
             "  COMPREPLY=()\n"
             "  if [[ $cur == = ]]; then\n"
             "    cur=\n"
             "  elif [[ $prev == = ]] && ((COMP_CWORD > 1)); then\n"
             "    prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
             "  fi\n"
             "  case $prev in\n",
             cases,
             "  esac\n"
             "  if [[ $cur == -* ]]; then\n"
             "    mapfile -t COMPREPLY < <(compgen -W ",
             shell_quote(names),
             " -- \"$cur\")\n"
             "  else\n"
             "    mapfile -t COMPREPLY < <(",
             words,
             " -- \"$cur\")\n"
             "  fi\n"
             "}\n"
             "complete -o filenames -F ",
             function, " ", program.name, "\n");
}

// zsh
// ----------------------------------------------------------------------------------------------------------------

// Returns the action of _arguments that completes a value.  One blank is the action that completes nothing.
std::string zsh_action(const std::string& argument, const std::vector<std::string>& choices) {
  if (!choices.empty()) return cat("(", join(choices, " "), ")");
  switch (value_kind(argument)) {
    case ValueKind::kFile:
      return "_files";
    case ValueKind::kDirectory:
      return "_files -/";
    case ValueKind::kOther:
      return " ";
  }
  return "";
}

// '*--data=[help]:FILE:_files', the form of _arguments.
std::string zsh_spec(const Flag& flag, const std::string& name) {
  std::string out = flag.repeatable ? "*" : "";
  out += name;
  bool is_long = name.starts_with("--");
  if (!flag.argument.empty()) out += is_long ? "=" : "+";
  out += cat("[", escape(flag.help, "[]:\\"), "]");
  if (flag.beginnings) {
    out += cat(":", escape(flag.argument, ":\\"), ":compadd -S \"\" -- ", join(flag.beginnings(), " "));
  } else if (!flag.argument.empty()) {
    out += cat(":", escape(flag.argument, ":\\"), ":", zsh_action(flag.argument, flag.choices));
  }
  return cat("  ", shell_quote(out), " \\\n");
}

std::string zsh(const Program& program) {
  std::string specs;
  for (const Flag& flag : visible_flags(program)) {
    if (flag.letter) specs += zsh_spec(flag, cat("-", flag.letter));
    specs += zsh_spec(flag, flag_text(flag.name));
  }
  for (const Positional& positional : program.positionals) {
    std::string action = positional.choices.empty() ? "_files" : zsh_action("", positional.choices);
    specs +=
        cat("  ",
            shell_quote(cat(positional.repeatable ? "*" : "",
                            positional.required ? ":" : "::", escape(positional.name, ":\\"), ":", action)),
            " \\\n");
  }
  return cat("#compdef ", program.name, "\n# zsh completion of ", program.name, "\n_arguments -s -S \\\n",
             specs, "  && return 0\n");
}

// fish
// ---------------------------------------------------------------------------------------------------------------

std::string fish_quote(std::string_view text) {
  return cat("'", escape(text, "'\\"), "'");
}

// Returns the options of `complete` for the value of a flag: -x for a value without files, -r -F for one
// with files, and nothing for a switch.
std::string fish_value(const Flag& flag) {
  if (flag.argument.empty()) return "";
  if (flag.beginnings) return cat(" -x -a ", fish_quote(join(flag.beginnings(), " ")));
  if (!flag.choices.empty()) return cat(" -x -a ", fish_quote(join(flag.choices, " ")));
  switch (value_kind(flag.argument)) {
    case ValueKind::kFile:
      return " -r -F";
    case ValueKind::kDirectory:
      return " -x -a '(__fish_complete_directories)'";
    case ValueKind::kOther:
      return " -x";
  }
  return "";
}

std::string fish(const Program& program) {
  std::string out = cat("# fish completion of ", program.name, "\n");
  for (const Flag& flag : visible_flags(program)) {
    out += cat("complete -c ", program.name, flag.letter ? cat(" -s ", flag.letter) : "", " -l ", flag.name,
               fish_value(flag), " -d ", fish_quote(flag.help), "\n");
  }
  std::vector<std::string> choices = positional_choices(program);
  if (!choices.empty()) {
    out += cat("complete -c ", program.name, has_file_positional(program) ? "" : " -f", " -a ",
               fish_quote(join(choices, " ")), "\n");
  }
  return out;
}

}  // namespace

std::string completion(const Program& program, std::string_view shell) {
  if (shell == "bash") return bash(program);
  if (shell == "zsh") return zsh(program);
  if (shell == "fish") return fish(program);
  fail(Code::kUsage, "unknown shell ", quote(shell), "; expected one of bash, zsh, fish");
}

}  // namespace ps
