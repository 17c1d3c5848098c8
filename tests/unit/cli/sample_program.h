// A program with a flag of every kind, shared by the tests of the command line.
#ifndef PS_TESTS_UNIT_CLI_SAMPLE_PROGRAM_H_
#define PS_TESTS_UNIT_CLI_SAMPLE_PROGRAM_H_

#include "cli/program.h"

namespace ps {

inline Program sample_program() {
  return {
      .name = "ps-sample",
      .summary = "does nothing, in many ways",
      .synopsis = "KIND [JOB.json] [flags]",
      .positionals = {{.name = "KIND", .help = "what to do", .choices = {"count", "list"}},
                      {.name = "JOB.json", .help = "the job file", .required = false}},
      .flags = with_common_flags(
          {
              {.name = "data",
               .letter = 'd',
               .argument = "FILE",
               .help = "read this file; - is standard input",
               .group = "data",
               .repeatable = true,
               .job_key = "data.files"},
              {.name = "passes",
               .letter = 'p',
               .argument = "N",
               .help = "times through the data",
               .details = "A pass ends when all files are read.  It's \\ n.",
               .group = "data",
               .job_key = "train.passes"},
              {.name = "batch-size", .argument = "N", .help = "examples", .default_text = "200"},
              {.name = "rate", .argument = "R", .help = "examples per second"},
              {.name = "memory", .argument = "BYTES", .help = "memory limit"},
              {.name = "period", .argument = "TIME", .help = "between checkpoints"},
              {.name = "save-dir", .argument = "DIR", .help = "where models go"},
              {.name = "list-kinds", .help = "list the kinds and end", .standalone = true},
              {.name = "secret", .argument = "X", .help = "unseen", .hidden = true},
          },
          {"set", "seed", "log-level", "progress", "json"}),
      .examples = {{.command = "ps-sample count --passes 2", .help = "twice"}},
  };
}

}  // namespace ps

#endif  // PS_TESTS_UNIT_CLI_SAMPLE_PROGRAM_H_
