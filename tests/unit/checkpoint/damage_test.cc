// Whatever happens to the files of a checkpoint, no damaged one is taken for whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "small_checkpoint.h"
#include "support/damage.h"
#include "support/faulty_files.h"
#include "support/scratch_folder.h"

namespace ps::damage_test {
namespace {

using testing::HasSubstr;

class DamageTest : public testing::Test {
 protected:
  DamageTest() { system_files().make_directories(small_.directory); }

  // Opens the checkpoint that resuming would load, and records in damage_ the first damage found on the way.
  std::unique_ptr<CheckpointReader> newest() {
    damage_ = Error(Code::kInternal, "");
    auto verify = [&](const CheckpointReader& reader) { reader.verify(pool_, /*rows=*/false); };
    return open_newest_checkpoint(small_.directory, verify, [&](const Error& error) {
      if (damage_.message().empty()) damage_ = error;
    });
  }

  void expect_damage_named(const std::string& what, const std::string& path) {
    ASSERT_EQ(damage_.code(), Code::kCorrupt) << what;
    ASSERT_THAT(damage_.message(), HasSubstr(path)) << what;
    ASSERT_THAT(damage_.message(), HasSubstr("offset ")) << what;
  }

  ScratchFolder folder_;
  SmallCheckpoint small_{.directory = folder_.path("checkpoints")};
  ThreadPool pool_{1};
  Error damage_{Code::kInternal, ""};
};

TEST_F(DamageTest, ACheckpointThatBuildsOnItselfIsRefused) {
  small_.write(1);
  const std::string folder = join_path(small_.directory, step_folder(1));
  Manifest manifest = CheckpointReader(folder).manifest();
  manifest.base = BaseEntry{step_folder(1), 0};
  write_file(join_path(folder, kManifestFile), encode_manifest(manifest));
  const Error error = error_of([&] { CheckpointReader reader(folder); });
  EXPECT_EQ(error.code(), Code::kCorrupt);
  EXPECT_THAT(error.message(),
              HasSubstr("another checkpoint builds on it, and it builds on 'step-000000001'"));
}

TEST_F(DamageTest, EveryBitAndEveryCutIsFoundAndTheCheckpointBeforeIsUsed) {
  small_.num_keys = 3;
  small_.write(1);
  small_.write(2);
  const std::string folder = join_path(small_.directory, step_folder(2));
  for (const std::string& name : list_directory(folder)) {
    const std::string path = join_path(folder, name);
    with_each_bit_flipped(path, [&](const std::string& what) {
      damage_ = error_of([&] { CheckpointReader(folder).verify(pool_, /*rows=*/false); });
      expect_damage_named(what, path);
    });
    with_each_cut(path, [&](const std::string& what) {
      ASSERT_EQ(newest()->manifest().step, 1) << what;
      expect_damage_named(what, path);
    });
  }
  auto reader = newest();
  EXPECT_EQ(reader->manifest().step, 2) << "all is whole again";
  EXPECT_EQ(read_contents(*reader), small_.contents(2));
}

TEST_F(DamageTest, WithoutAnotherItIsAnError) {
  small_.write(1);
  const std::string path = join_path(small_.directory, step_folder(1) + "/part-0.psc");
  overwrite(path, 200, "damage");
  EXPECT_EQ(error_of([&] { newest(); }).code(), Code::kCorrupt);
  expect_damage_named("damaged", path);
}

TEST_F(DamageTest, ADamagedBaseDamagesTheIncrement) {
  small_.write(1);
  auto base = newest();
  small_.write(2, base.get());
  base.reset();
  const std::string path = join_path(small_.directory, step_folder(1) + "/part-1.psc");
  overwrite(path, 100, "damage");
  EXPECT_EQ(error_of([&] { newest(); }).code(), Code::kCorrupt);
  expect_damage_named("damaged", path);
}

TEST_F(DamageTest, WithoutLatestTheNewestWholeOneIsUsed) {
  small_.write(1);
  small_.write(2);
  const std::string path = join_path(small_.directory, kLatestFile);
  auto check = [&](const std::string& what) {
    ASSERT_EQ(newest()->manifest().step, 2) << what;
    expect_damage_named(what, path);
  };
  with_each_bit_flipped(path, check);
  with_each_cut(path, check);
  system_files().remove(path);
  EXPECT_EQ(newest()->manifest().step, 2);
}

// Writing fails at any call, and then the power goes: what is there is the checkpoint before, or, when all of
// it was done, the new one.
TEST_F(DamageTest, AFailureAtAnyCallLeavesTheLastCheckpointWhole) {
  using Loss = FaultyFiles::Loss;
  small_.num_keys = 4;
  for (auto [error, code] : {std::pair(ENOSPC, Code::kExhausted), std::pair(EIO, Code::kUnavailable)}) {
    for (Loss loss : {Loss::kNamesAndBytes, Loss::kBytes}) {
      bool failed = true;
      for (int64_t call = 0; failed; ++call) {
        FaultyFiles files(folder_.path());
        small_.files = &files;
        small_.write(1);
        files.fail_at(call, error, /*lasting=*/error == ENOSPC);
        const Error result = error_of([&] {
          small_.write(2);
          prune_checkpoints(files, small_.directory, 2, 1);
        });
        failed = files.failed() > 0;
        ASSERT_EQ(result.code(), failed ? code : Code::kInternal) << "call " << call << result.message();
        files.heal();
        files.crash(loss);
        auto reader = newest();
        ASSERT_EQ(damage_.message(), "") << "call " << call;
        const int64_t step = reader->manifest().step;
        ASSERT_TRUE(failed || step == 2) << "call " << call;
        ASSERT_EQ(read_contents(*reader), small_.contents(step)) << "call " << call;
        system_files().remove(small_.directory);
      }
    }
  }
}

TEST_F(DamageTest, OnceWrittenItSurvivesALossOfPower) {
  for (FaultyFiles::Loss loss : {FaultyFiles::Loss::kNamesAndBytes, FaultyFiles::Loss::kBytes}) {
    FaultyFiles files(folder_.path());
    small_.files = &files;
    small_.write(3);
    files.crash(loss);
    EXPECT_EQ(read_contents(*newest()), small_.contents(3));
  }
}

}  // namespace
}  // namespace ps::damage_test
