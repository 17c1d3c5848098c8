// Launcher: finds this trainer's rank in the environment variables of the launcher that started the process.
// Used by ps-train when neither flags nor PS_RANK and PS_TRAINERS give the rank.
#ifndef PS_CLI_LAUNCHER_H_
#define PS_CLI_LAUNCHER_H_

#include <optional>
#include <string>
#include <vector>

#include "cli/flags.h"

namespace ps {

struct LaunchedTrainer {
  std::string launcher;              // "Open MPI", for people
  int rank = 0, trainers = 1;        // counted over trainers alone, also if the launch has other programs
  std::vector<std::string> servers;  // HOST:PORT of each, when the launcher names them
};

// Tries, in this order, PaddlePaddle, DMLC, Open MPI, PMI (MPICH and Intel MPI), Slurm.  Returns nullopt when
// none of them started this process; so in the shell of a Slurm allocation, which is not a task of a step.
// Throws kUsage when their variables make no sense, or are for another role than a trainer's.
std::optional<LaunchedTrainer> launched_trainer(const Environment& environment);

// The environment of this process.
Environment process_environment();

}  // namespace ps

#endif  // PS_CLI_LAUNCHER_H_
