#include "cli/variables.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"

namespace ps {

namespace {

constexpr std::string_view kPrefix = "PS_";

// The variables of the flags of all programs, without the prefix.  A script may set one for all programs that
// it starts, so a variable of another program's flag is no mistake.  tests/cli/programs_test.sh compares them
// with the programs.
constexpr std::array kOfPrograms = std::to_array<std::string_view>({"ADVERTISE",
                                                                    "BARS",
                                                                    "BASELINE",
                                                                    "BASE_THRESHOLD",
                                                                    "CACHE",
                                                                    "CHECKPOINT_DIR",
                                                                    "CHECKPOINT_PERIOD",
                                                                    "CLASSES",
                                                                    "COLLECTIVE",
                                                                    "COMPRESS",
                                                                    "COMPUTE",
                                                                    "CPU",
                                                                    "DATA",
                                                                    "DELTA_THRESHOLD",
                                                                    "DEVICE",
                                                                    "DIFF",
                                                                    "DIM",
                                                                    "DISCOVERY",
                                                                    "DURABILITY",
                                                                    "ETCD_CA",
                                                                    "ETCD_CERT",
                                                                    "ETCD_KEY",
                                                                    "FAIL_BELOW",
                                                                    "FILTER",
                                                                    "FIRST",
                                                                    "FORMAT",
                                                                    "HOST",
                                                                    "IMPORTANCE",
                                                                    "INIT_MODEL",
                                                                    "INSPECT",
                                                                    "INTERACTION",
                                                                    "INTERVALS",
                                                                    "JOB",
                                                                    "JSON",
                                                                    "JSON_STREAM",
                                                                    "KEYS",
                                                                    "LABELS",
                                                                    "LOAD_SAVE_PARAMETERS_IN_PSERVER",
                                                                    "LOCAL_SOCKETS",
                                                                    "LOG_LEVEL",
                                                                    "MAP",
                                                                    "MARKDOWN",
                                                                    "MAX_BAD_LINES",
                                                                    "MAX_MEMORY",
                                                                    "MAX_TRAINERS",
                                                                    "MAX_UNSEEN",
                                                                    "METRIC",
                                                                    "METRICS",
                                                                    "MIN_SHOWS",
                                                                    "NCCL_LIBRARY",
                                                                    "NEAREST",
                                                                    "NNZ",
                                                                    "OUTPUT",
                                                                    "OUTPUT_FORMAT",
                                                                    "PART",
                                                                    "PASSES",
                                                                    "PEERS",
                                                                    "PORT",
                                                                    "PORTS_NUM",
                                                                    "PORTS_NUM_FOR_SPARSE",
                                                                    "PORT_FILE",
                                                                    "POSITIVE_RATE",
                                                                    "PROGRESS",
                                                                    "PROGRESSIVE",
                                                                    "RANK",
                                                                    "RATE",
                                                                    "RESUME",
                                                                    "ROLE",
                                                                    "ROW",
                                                                    "ROWS",
                                                                    "RUNS",
                                                                    "SAMPLES",
                                                                    "SAVE_DIR",
                                                                    "SCRATCH",
                                                                    "SCRATCH_DIR",
                                                                    "SEED",
                                                                    "SERVERS",
                                                                    "SINCE",
                                                                    "SIZE",
                                                                    "SLOTS",
                                                                    "SPILL_DIR",
                                                                    "SPILL_MEMORY",
                                                                    "STATISTICS",
                                                                    "STATUS_PORT",
                                                                    "TABLES",
                                                                    "TEST_DATA",
                                                                    "THREADS",
                                                                    "TLS_CA",
                                                                    "TLS_CERT",
                                                                    "TLS_KEY",
                                                                    "TOKEN_FILE",
                                                                    "TOP",
                                                                    "TRAINERS",
                                                                    "TRANSFORM",
                                                                    "TRUTH",
                                                                    "TYPE",
                                                                    "VERIFY",
                                                                    "VOCABULARY",
                                                                    "WITH_COUNTS",
                                                                    "WITH_STATE",
                                                                    "ZIPF"});

// The variables of share/launch, of the tests, and of ps(1).
constexpr std::array kOfOthers =
    std::to_array<std::string_view>({"BIN", "COMPUTE_PORT", "LAUNCH", "MPIRUN_FLAGS", "PERSONALITY",
                                     "SERVE_FLAGS", "SIM_SEED", "SIM_SEEDS", "SOURCE", "SSH", "TRY_EVERY"});

bool holds(const auto& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::vector<std::string> process_variables() {
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with(kPrefix)) names.emplace_back(text.substr(0, text.find('=')));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// A variable is known if it belongs to a flag of this program, of any other program, or of the scripts and
// tests.  Only the program's own variables are suggested, since another program's would have no effect
// here.
void warn_of_unknown_variables(const Program& program, const std::vector<std::string>& names, Log& log) {
  std::vector<std::string> own;
  for (const Flag& flag : all_flags(program)) {
    if (flag.environment) own.push_back(environment_name(flag.name));
  }
  for (const std::string& name : names) {
    const std::string_view rest = std::string_view(name).substr(kPrefix.size());
    if (holds(own, name) || holds(kOfPrograms, rest) || holds(kOfOthers, rest)) continue;
    log.warning(name, " in the environment is no variable of ", program.name, ", and ignored",
                did_you_mean(name, own));
  }
}

}  // namespace ps
