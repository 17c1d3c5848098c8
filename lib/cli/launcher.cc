#include "cli/launcher.h"

#include <array>
#include <cstdlib>

#include "base/error.h"
#include "base/text.h"

namespace ps {

namespace {

// The names of one launcher's variables; null where it has none.
struct Variables {
  const char* launcher;
  const char* rank;
  const char* trainers;
  const char* role;          // if this variable is set, its value
  const char* trainer_role;  // must be this
  const char* servers;       // HOST:PORT,…
};

constexpr std::array kLaunchers = {
    Variables{"PaddlePaddle", "PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM", "TRAINING_ROLE", "TRAINER",
              "PADDLE_PSERVERS_IP_PORT_LIST"},
    Variables{"DMLC", "DMLC_WORKER_ID", "DMLC_NUM_WORKER", "DMLC_ROLE", "worker", nullptr},
    Variables{"DMLC", "DMLC_RANK", "DMLC_NUM_WORKER", "DMLC_ROLE", "worker", nullptr},
    Variables{"DMLC", "DMLC_TASK_ID", "DMLC_NUM_WORKER", "DMLC_ROLE", "worker", nullptr},
    Variables{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", nullptr, nullptr, nullptr},
    Variables{"PMI", "PMI_RANK", "PMI_SIZE", nullptr, nullptr, nullptr},
    // SLURM_NTASKS is also set in the script of an allocation, which is a single process.
    Variables{"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", nullptr, nullptr, nullptr},
};

std::string value_of(const Environment& environment, const char* name) {
  const char* value = name == nullptr ? nullptr : environment(name);
  return value == nullptr ? "" : value;
}

int count_of(const Environment& environment, const char* name, int minimum) {
  const std::string text = value_of(environment, name);
  const std::optional<int64_t> number = parse_int(text);
  if (!number || *number < minimum || *number > INT32_MAX) {
    fail(Code::kUsage, name, " is ", quote(text), ", expected a whole number from ", minimum);
  }
  return static_cast<int>(*number);
}

// mpirun -n 2 ps-serve … : -n 4 ps-train …: ranks count through all programs of the command, in order.  Open
// MPI tells how many processes each has.
void keep_own_program(const Environment& environment, LaunchedTrainer& found) {
  const std::string sizes = value_of(environment, "OMPI_APP_CTX_NUM_PROCS");
  int64_t first = 0;
  for (std::string_view text : split(sizes, ' ')) {
    const int64_t size = parse_int(text).value_or(0);
    if (found.rank < first + size) {
      found.rank -= static_cast<int>(first);
      found.trainers = static_cast<int>(size);
      return;
    }
    first += size;
  }
}

// Reads the variables of one launcher, the first two of which are known to be set.  Throws kUsage if the
// process has another role, or if the numbers make no sense: a trainer that went on would train alone, or
// twice.
LaunchedTrainer read(const Environment& environment, const Variables& variables) {
  const std::string role = value_of(environment, variables.role);
  if (!role.empty() && role != variables.trainer_role) {
    fail(Code::kUsage, variables.role, " is ", quote(role), ", but this is a ", variables.trainer_role);
  }
  LaunchedTrainer found;
  found.launcher = variables.launcher;
  found.rank = count_of(environment, variables.rank, 0);
  found.trainers = count_of(environment, variables.trainers, 1);
  if (found.launcher == "Open MPI") keep_own_program(environment, found);
  if (found.rank >= found.trainers) {
    fail(Code::kUsage, variables.rank, " is ", found.rank, ", expected a number below ", variables.trainers,
         ", ", found.trainers);
  }
  const std::string servers = value_of(environment, variables.servers);
  for (std::string_view server : split(servers, ',')) {
    if (!server.empty()) found.servers.emplace_back(server);
  }
  return found;
}

}  // namespace

// The first launcher of the list whose variables are set has started this process.  Schedulers stand behind
// the launchers that may run under them.
std::optional<LaunchedTrainer> launched_trainer(const Environment& environment) {
  for (const Variables& variables : kLaunchers) {
    bool started =
        !value_of(environment, variables.rank).empty() && !value_of(environment, variables.trainers).empty();
    if (started) return read(environment, variables);
  }
  return std::nullopt;
}

Environment process_environment() {
  return [](const std::string& name) -> const char* { return std::getenv(name.c_str()); };
}

}  // namespace ps
