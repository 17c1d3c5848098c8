#include "cli/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/error.h"

namespace ps::launcher_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Variables = std::map<std::string, std::string>;

std::optional<LaunchedTrainer> find(const Variables& variables) {
  return launched_trainer([&](const std::string& name) -> const char* {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string refusal(const Variables& variables) {
  try {
    find(variables);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
    return error.message();
  }
  return "nothing was refused";
}

void expect_trainer(const Variables& variables, const std::string& launcher, int rank, int trainers) {
  auto found = find(variables);
  ASSERT_TRUE(found) << launcher;
  EXPECT_EQ(found->launcher, launcher);
  EXPECT_EQ(found->rank, rank) << launcher;
  EXPECT_EQ(found->trainers, trainers) << launcher;
}

TEST(LauncherTest, EachLauncherNamesRankAndTrainers) {
  expect_trainer({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}}, "Open MPI", 3, 4);
  expect_trainer({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}, "PMI", 1, 2);
  expect_trainer({{"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "8"}}, "Slurm", 5, 8);
  expect_trainer({{"DMLC_ROLE", "worker"}, {"DMLC_WORKER_ID", "2"}, {"DMLC_NUM_WORKER", "3"}}, "DMLC", 2, 3);
  expect_trainer({{"DMLC_RANK", "0"}, {"DMLC_NUM_WORKER", "3"}}, "DMLC", 0, 3);
  expect_trainer({{"DMLC_TASK_ID", "1"}, {"DMLC_NUM_WORKER", "3"}}, "DMLC", 1, 3);
  expect_trainer({{"TRAINING_ROLE", "TRAINER"}, {"PADDLE_TRAINER_ID", "1"}, {"PADDLE_TRAINERS_NUM", "2"}},
                 "PaddlePaddle", 1, 2);
}

TEST(LauncherTest, PaddleNamesTheServersToo) {
  auto found = find({{"PADDLE_TRAINER_ID", "0"},
                     {"PADDLE_TRAINERS_NUM", "2"},
                     {"PADDLE_PSERVERS_IP_PORT_LIST", "10.0.0.1:7164,10.0.0.2:7164"}});
  EXPECT_THAT(found->servers, ElementsAre("10.0.0.1:7164", "10.0.0.2:7164"));
  EXPECT_THAT(find({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}})->servers, IsEmpty());
}

TEST(LauncherTest, FrameworksCountBeforeTheLaunchersBelowThem) {
  expect_trainer({{"PADDLE_TRAINER_ID", "1"},
                  {"PADDLE_TRAINERS_NUM", "2"},
                  {"OMPI_COMM_WORLD_RANK", "3"},
                  {"OMPI_COMM_WORLD_SIZE", "4"}},
                 "PaddlePaddle", 1, 2);
  expect_trainer({{"OMPI_COMM_WORLD_RANK", "3"},
                  {"OMPI_COMM_WORLD_SIZE", "4"},
                  {"SLURM_PROCID", "0"},
                  {"SLURM_STEP_NUM_TASKS", "1"}},
                 "Open MPI", 3, 4);
}

TEST(LauncherTest, RanksOfOpenMpiCountThisProgramAlone) {
  const Variables line = {{"OMPI_COMM_WORLD_SIZE", "6"}, {"OMPI_APP_CTX_NUM_PROCS", "2 4"}};
  for (int rank = 2; rank < 6; ++rank) {
    Variables variables = line;
    variables["OMPI_COMM_WORLD_RANK"] = std::to_string(rank);
    expect_trainer(variables, "Open MPI", rank - 2, 4);
  }
}

TEST(LauncherTest, NoLauncherIsNone) {
  EXPECT_FALSE(find({}));
  EXPECT_FALSE(find({{"OMPI_COMM_WORLD_RANK", ""}, {"OMPI_COMM_WORLD_SIZE", ""}}));
  // The script of an allocation of four tasks is one process of its own.
  EXPECT_FALSE(find({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}));
}

TEST(LauncherTest, NonsenseIsRefusedWithTheVariable) {
  EXPECT_EQ(refusal({{"PMI_RANK", "x"}, {"PMI_SIZE", "2"}}),
            "PMI_RANK is 'x', expected a whole number from 0");
  EXPECT_EQ(refusal({{"PMI_RANK", "0"}, {"PMI_SIZE", "0"}}),
            "PMI_SIZE is '0', expected a whole number from 1");
  EXPECT_THAT(refusal({{"PMI_RANK", "2"}, {"PMI_SIZE", "2"}}), HasSubstr("PMI_RANK is 2, expected"));
  EXPECT_EQ(refusal({{"TRAINING_ROLE", "PSERVER"}, {"PADDLE_TRAINER_ID", "1"}, {"PADDLE_TRAINERS_NUM", "2"}}),
            "TRAINING_ROLE is 'PSERVER', but this is a TRAINER");
}

}  // namespace
}  // namespace ps::launcher_test
