#include "cli/program.h"

#include <algorithm>
#include <cctype>

#include "base/cpu.h"
#include "base/error.h"

namespace ps {

namespace {

std::vector<Flag> shared_flags() {
  return {
      {.name = "set",
       .argument = "KEY=VALUE",
       .help = "override a key of the job file, e.g. optimizer.momentum=0.5",
       .details = "The key is a dotted path, with numbers for the elements of lists.  "
                  "The value is JSON, or a string if it does not parse as JSON.",
       .repeatable = true,
       .brief = true,
       .environment = false},
      {.name = "print-config",
       .help = "print the job as it would run, as JSON, and end",
       .environment = false},
      {.name = "dry-run", .help = "check everything, say what would be done, and end", .environment = false},
      {.name = "seed",
       .argument = "N",
       .help = "seed of all random numbers",
       .details = "The same seed gives the same bytes."},
      {.name = "log-level",
       .argument = "LEVEL",
       .help = "how much to say on standard error",
       .default_text = "info",
       .choices = {"error", "warning", "info", "debug"}},
      {.name = "progress",
       .argument = "WHEN",
       .help = "show a progress bar on standard error",
       .details = "With auto, when standard error is a terminal.",
       .default_text = "auto",
       .choices = {"auto", "always", "never"}},
      {.name = "token-file",
       .argument = "FILE",
       .help = "secrets by which servers and trainers know each other",
       .details = "Lines such as train SECRET, with at least 32 hexadecimal digits; roles are read, train, "
                  "admin and status.  The file must be its owner's alone, mode 600.  See ps-security(7).",
       .group = "Security"},
      {.name = "tls-cert",
       .argument = "FILE",
       .help = "certificate of this process, PEM: connections are encrypted",
       .group = "Security"},
      {.name = "tls-key", .argument = "FILE", .help = "key of that certificate, PEM", .group = "Security"},
      {.name = "tls-ca",
       .argument = "FILE",
       .help = "authority of the peers' certificates, PEM",
       .details =
           "A trainer with it speaks TLS, and refuses servers whose certificate is not for the host that it "
           "connects to.  A server with it lets in trainers alone that have a certificate of the authority.",
       .group = "Security"},
      {.name = "etcd-ca",
       .argument = "FILE",
       .help = "authority of etcd's certificate, PEM: it is asked over TLS",
       .details = "The certificate must be for the host that cluster.discovery names.  The files of etcd are "
                  "read again for each connection with it.",
       .group = "Security"},
      {.name = "etcd-cert",
       .argument = "FILE",
       .help = "certificate of this process for etcd, PEM, if etcd asks for one",
       .group = "Security"},
      {.name = "etcd-key", .argument = "FILE", .help = "key of that certificate, PEM", .group = "Security"},
      {.name = "insecure",
       .help = "let in whoever reaches the address that --host or --peers names",
       .details = "For networks that nobody else is in: every peer may read and change the model.",
       .group = "Security",
       .environment = false},
      {.name = "json", .help = "print the result as one JSON object"},
      {.name = "cpu",
       .argument = "LEVEL",
       .help = "instruction set that kernels use",
       .details = "With auto, the highest that the processor has.  Levels may round differently; "
                  "the same level gives the same bits on every processor that has it.",
       .default_text = "auto",
       .choices = cpu_choices()},
  };
}

// The flags that every program has.
std::vector<Flag> universal_flags() {
  return {
      {.name = "help",
       .letter = 'h',
       .help = "print the flags used most and end",
       .brief = true,
       .standalone = true,
       .environment = false},
      {.name = "help-all",
       .help = "print all flags and end",
       .brief = true,
       .standalone = true,
       .environment = false},
      {.name = "version",
       .letter = 'V',
       .help = "print versions and end",
       .standalone = true,
       .environment = false},
      {.name = "dump-man-options", .hidden = true, .standalone = true, .environment = false},
      {.name = "dump-completion",
       .argument = "SHELL",
       .choices = {"bash", "zsh", "fish"},
       .hidden = true,
       .standalone = true,
       .environment = false},
  };
}

}  // namespace

std::vector<Flag> with_common_flags(std::vector<Flag> own, const std::vector<std::string>& common) {
  std::vector<Flag> shared = shared_flags();
  bool has_job = std::find(common.begin(), common.end(), "set") != common.end();
  for (const std::string& name : common) {
    auto found =
        std::find_if(shared.begin(), shared.end(), [&](const Flag& flag) { return flag.name == name; });
    PS_CHECK(found != shared.end());
    own.push_back(*found);
    if (name == "seed" && has_job) own.back().job_key = "job.seed";
  }
  return own;
}

Program with_beginnings(Program program, const std::string& name, Beginnings beginnings) {
  for (Flag& flag : program.flags) {
    if (flag.name == name) flag.beginnings = std::move(beginnings);
  }
  return program;
}

std::vector<Flag> all_flags(const Program& program) {
  std::vector<Flag> flags = program.flags;
  for (Flag& flag : universal_flags()) flags.push_back(std::move(flag));
  return flags;
}

std::string flag_text(std::string_view name) {
  return cat("--", name);
}

std::string environment_name(std::string_view name) {
  std::string out = "PS_";
  for (char c : name) {
    out += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return out;
}

ValueKind value_kind(std::string_view argument) {
  if (argument.starts_with("DIR")) return ValueKind::kDirectory;
  bool file = argument.find("FILE") != std::string_view::npos || argument.find('.') != std::string_view::npos;
  return file ? ValueKind::kFile : ValueKind::kOther;
}

}  // namespace ps
