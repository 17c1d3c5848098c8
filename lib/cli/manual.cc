#include "cli/manual.h"

#include <cctype>

#include "base/text.h"
#include "cli/help.h"

namespace ps {

namespace {

constexpr size_t kSourceColumns = 78;

// Backslashes are roff's own; a line must not begin with a control character.
std::string escape(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else {
      out += c;
    }
  }
  return out;
}

// A phrase as a sentence: "times through the data" becomes "Times through the data."
std::string sentence(std::string phrase) {
  if (phrase.empty()) return phrase;
  phrase[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(phrase[0])));
  return phrase + ".";
}

std::string item(const Flag& flag) {
  std::string out = ".It ";
  if (flag.letter) out += cat("Fl ", flag.letter, " , ");
  out += cat("Fl Fl ", flag.name);
  // A space would begin another argument of the macro.
  if (!flag.argument.empty()) out += cat(" Ar \"", escape(flag.argument), "\"");
  return out + '\n';
}

std::string choices(const Flag& flag) {
  std::string out = ".Pp\nOne of\n";
  for (size_t i = 0; i < flag.choices.size(); ++i) {
    bool last = i + 1 == flag.choices.size();
    out += cat(".Cm ", escape(flag.choices[i]),
               last                           ? " .\n"
               : i + 2 == flag.choices.size() ? "\nor\n"
                                              : " ,\n");
  }
  return out;
}

std::string describe(const Flag& flag) {
  std::string out = manual_text(sentence(flag.help));
  out += manual_text(flag.details);
  if (!flag.choices.empty()) out += choices(flag);
  if (!flag.default_text.empty()) out += cat("The default is\n.Cm ", escape(flag.default_text), " .\n");
  if (flag.repeatable) out += "May be repeated.\n";
  if (!flag.job_key.empty()) out += cat("Overrides\n.Va ", escape(flag.job_key), "\nof the job file.\n");
  return out;
}

}  // namespace

// Each sentence begins a new line of the source, as mdoc has it: roff then chooses the space between
// sentences.  Two blanks behind a full stop mark the end of a sentence.  A line that begins with a full
// stop or an apostrophe would be a request of roff, unless \& stands before it.
std::string manual_text(std::string_view text) {
  std::string out, rest(text);
  while (!rest.empty()) {
    size_t end = rest.find(".  ");
    std::string one = end == std::string::npos ? rest : rest.substr(0, end + 1);
    rest = end == std::string::npos ? "" : rest.substr(end + 3);
    for (const std::string& line : wrap(escape(one), kSourceColumns)) {
      bool control = line[0] == '.' || line[0] == '\'';
      out += cat(control ? "\\&" : "", line, "\n");
    }
  }
  return out;
}

std::string manual_options(const Program& program) {
  std::string out;
  for (const FlagGroup& group : flag_groups(program)) {
    std::string title = group.name;
    title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
    out += cat(".Ss ", title, "\n.Bl -tag -width Ds\n");
    for (const Flag& flag : group.flags) out += item(flag) + describe(flag);
    out += ".El\n";
  }
  return out;
}

}  // namespace ps
