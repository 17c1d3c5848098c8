// Launcher: which trainer this process is, as whoever started it says in the environment.  Used by ps-train,
// when neither flags nor PS_RANK and PS_TRAINERS say it.
#ifndef PS_CLI_LAUNCHER_H_
#define PS_CLI_LAUNCHER_H_

#include <optional>
#include <string>
#include <vector>

#include "cli/flags.h"

namespace ps {

struct LaunchedTrainer {
  std::string launcher;              // "Open MPI", for people
  int rank = 0, trainers = 1;        // of the trainers alone, where one launch starts other programs too
  std::vector<std::string> servers;  // HOST:PORT of each, when the launcher names them
};

// In this order: PaddlePaddle, DMLC, Open MPI, PMI (MPICH and Intel MPI), Slurm.  Nothing when none of them
// started this process; in particular not in the shell of a Slurm allocation, which is no task of a step.
// Throws kUsage when their variables make no sense, or are for another role than a trainer's.
std::optional<LaunchedTrainer> launched_trainer(const Environment& environment);

// The environment of this process.
Environment process_environment();

}  // namespace ps

#endif  // PS_CLI_LAUNCHER_H_
