#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/manifest_lock.h"
#include "small_checkpoint.h"
#include "support/scratch_folder.h"

namespace ps::checkpoint_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class CheckpointTest : public testing::Test {
 protected:
  std::unique_ptr<CheckpointReader> open(int64_t step) {
    return std::make_unique<CheckpointReader>(join_path(small_.directory, step_folder(step)));
  }
  std::string file(int64_t step, const std::string& name) const {
    return join_path(join_path(small_.directory, step_folder(step)), name);
  }

  ScratchFolder folder_;
  SmallCheckpoint small_{.directory = folder_.path("checkpoints"), .num_keys = 3000};
};

TEST_F(CheckpointTest, WhatWasWrittenIsRead) {
  for (int level : {0, 1}) {
    small_.zstd_level = level;
    small_.write(5);
    auto reader = open(5);
    EXPECT_EQ(read_contents(*reader), small_.contents(5));
    EXPECT_EQ(reader->state("trainer/0"), "at step 5");
    EXPECT_EQ(reader->state("nothing"), "");
    EXPECT_THAT(reader->states(), UnorderedElementsAre("trainer/0", "nothing"));
    EXPECT_EQ(*reader->table("users"), users_layout());
    EXPECT_EQ(reader->manifest().generation, 7u);
    ThreadPool pool(2);
    reader->verify(pool, /*rows=*/true);
  }
}

TEST_F(CheckpointTest, LargeStatesAndManyBlocksAreCutIntoChunks) {
  std::string large(5'000'000, 'x');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * i >> 7);
  system_files().make_directories(folder_.path("one"));
  const TableLayout layout{.name = "wide", .rows = 5000, .width = 300};
  CheckpointFileWriter writer({folder_.path("one"), {}}, "file");
  writer.begin(layout, 0);
  for (uint64_t key = 0; key < 5000; ++key) {
    RowBlock row{{key}, std::vector<float>(300, static_cast<float>(key)), {}, {}};
    writer.rows(row);
  }
  writer.state("large", large);
  EXPECT_EQ(writer.finish().sections[0].rows, 5000u);
  CheckpointFileReader reader(folder_.path("one/file"));
  EXPECT_EQ(reader.state("large"), large);
  auto cursor = reader.rows(*reader.section("wide", 0));
  uint64_t next = 0;
  while (const RowBlock* rows = cursor->next()) {
    for (size_t i = 0; i < rows->size(); ++i) {
      ASSERT_EQ(rows->keys[i], next);
      ASSERT_EQ(rows->values[i * 300 + 299], static_cast<float>(next++));
    }
  }
  EXPECT_EQ(next, 5000u);
}

TEST_F(CheckpointTest, AnIncrementHoldsWhatChangedAndReadsAsAFullOne) {
  small_.write(1);
  auto base = open(1);
  small_.write(2, base.get());
  auto increment = open(2);
  EXPECT_EQ(read_contents(*increment), small_.contents(2));
  uint64_t rows = 0, gone = 0;
  for (const FileEntry& entry : increment->manifest().files) {
    for (const SectionEntry& section : entry.sections) {
      if (section.table != "users") continue;
      rows += section.rows;
      gone += section.gone;
    }
  }
  uint64_t changed = 0, removed = 0;
  const auto before = small_.contents(1)["users"], after = small_.contents(2)["users"];
  for (const auto& [key, text] : after) changed += !before.contains(key) || before.at(key) != text;
  for (const auto& [key, text] : before) removed += !after.contains(key);
  EXPECT_EQ(rows, changed);
  EXPECT_EQ(gone, removed);
  EXPECT_GT(gone, 0u);
  EXPECT_LT(rows, after.size() * 6 / 10);
  ThreadPool pool(2);
  increment->verify(pool, /*rows=*/true);
}

TEST_F(CheckpointTest, AnIncrementMayEmptyAPartition) {
  small_.num_keys = 5;
  small_.write(1);
  auto base = open(1);
  small_.num_keys = 0;
  small_.write(2, base.get());
  EXPECT_FALSE(read_contents(*open(2)).contains("users"));
}

TEST_F(CheckpointTest, AnIncrementWithoutItsBaseIsDamaged) {
  small_.write(1);
  small_.write(2, open(1).get());
  small_.write(1);  // the same again: the same checkpoint
  EXPECT_EQ(read_contents(*open(2)), small_.contents(2));
  small_.num_keys = 20;
  small_.write(1);
  const Error error = error_of([&] { open(2); });
  EXPECT_EQ(error.code(), Code::kCorrupt);
  EXPECT_THAT(error.message(), HasSubstr("is not the checkpoint that it builds on"));
}

TEST_F(CheckpointTest, AFileOfAnotherCheckpointIsNotTaken) {
  small_.write(1);
  small_.write(2);
  const std::string other = read_file(file(1, "part-1.psc"));
  write_file(file(2, "part-1.psc"), other);
  const Error error = error_of([&] { read_contents(*open(2)); });
  EXPECT_EQ(error.code(), Code::kCorrupt);
  EXPECT_THAT(error.message(), HasSubstr("part-1.psc: offset 0: another file than the manifest means"));
}

TEST_F(CheckpointTest, ItSaysWhichFileIsMissing) {
  small_.write(1);
  system_files().remove(file(1, "part-0.psc"));
  const Error error = error_of([&] { read_contents(*open(1)); });
  EXPECT_EQ(error.code(), Code::kCorrupt);
  EXPECT_THAT(error.message(), HasSubstr("part-0.psc: offset 0: the file is not there"));
}

TEST_F(CheckpointTest, OnlyTheNewestAreKeptWithWhatTheyBuildOn) {
  small_.write(1);
  auto base = open(1);
  for (int64_t step : {2, 3, 4}) small_.write(step, base.get());
  EXPECT_THAT(checkpoint_steps(small_.directory), ElementsAre(1, 2, 3, 4));
  prune_checkpoints(system_files(), small_.directory, 4, 2);
  EXPECT_THAT(checkpoint_steps(small_.directory), ElementsAre(1, 3, 4));
  base.reset();
  small_.write(5);
  prune_checkpoints(system_files(), small_.directory, 5, 1);
  EXPECT_THAT(checkpoint_steps(small_.directory), ElementsAre(5));
  EXPECT_THAT(list_directory(small_.directory), ElementsAre("LATEST", "step-000000005"));
}

TEST_F(CheckpointTest, WhatSomebodyReadsIsRemovedTheNextTime) {
  small_.write(1);
  small_.write(2, open(1).get());
  auto reader = open(2);
  for (int64_t step : {3, 4, 5}) small_.write(step);
  auto prune = [&] { prune_checkpoints(system_files(), small_.directory, 5, 1); };
  prune();
  EXPECT_THAT(checkpoint_steps(small_.directory), ElementsAre(1, 2, 5)) << "with what it builds on";
  EXPECT_EQ(read_contents(*reader), small_.contents(2));
  auto another = open(2);
  reader.reset();
  prune();
  EXPECT_THAT(checkpoint_steps(small_.directory), ElementsAre(1, 2, 5)) << "another one reads it";
  another.reset();
  prune();
  EXPECT_THAT(list_directory(small_.directory), ElementsAre("LATEST", "step-000000005"));
}

// A process that reads an incremental checkpoint may not have opened its base yet.
TEST_F(CheckpointTest, WhatSomebodyBeginsToReadKeepsItsBase) {
  small_.write(1);
  small_.write(2, open(1).get());
  small_.write(3);
  const ManifestLock reading(file(2, kManifestFile));
  prune_checkpoints(system_files(), small_.directory, 3, 1);
  EXPECT_THAT(checkpoint_steps(small_.directory), ElementsAre(1, 2, 3));
}

TEST_F(CheckpointTest, AFutureThatWasGivenUpIsRemovedOnceItsSuccessorCounts) {
  for (int64_t step : {10, 20, 30}) small_.write(step);
  begin_checkpoint(system_files(), small_.directory, 15);
  EXPECT_THAT(checkpoint_steps(small_.directory), ElementsAre(10, 20, 30))
      << "an unfinished one does not count";
  small_.write(20);
  prune_checkpoints(system_files(), small_.directory, 20, 5);
  EXPECT_THAT(checkpoint_steps(small_.directory), ElementsAre(10, 20));
  EXPECT_THAT(list_directory(small_.directory), ElementsAre("LATEST", "step-000000010", "step-000000020"));
}

TEST_F(CheckpointTest, AnEmptyFolderHasNoCheckpoint) {
  const Error error = error_of([&] {
    open_newest_checkpoint(
        folder_.path(), [](const CheckpointReader&) {}, [](const Error&) {});
  });
  EXPECT_EQ(error.code(), Code::kUsage);
  EXPECT_THAT(error.message(), HasSubstr("no checkpoint in"));
}

TEST(Manifest, WhatItSaysIsReadBack) {
  Manifest manifest{.step = 12, .generation = UINT64_MAX, .job = {{"a", {1, 2}}}};
  manifest.base = {"step-000000007", 0xfedcba9876543210};
  manifest.tables = {users_layout(), bias_layout()};
  manifest.files = {{"a.psc", {100, 0x0123456789abcdef}, {{"users", 63, 5, 2}}, {"trainer/0"}},
                    {"b.psc", {1, 2}, {}, {}}};
  const std::string text = encode_manifest(manifest);
  Manifest read = decode_manifest(text, "m");
  EXPECT_EQ(read.files, manifest.files);
  EXPECT_EQ(read.tables, manifest.tables);
  EXPECT_EQ(read.base, manifest.base);
  EXPECT_EQ(read.generation, manifest.generation);
  EXPECT_EQ(encode_manifest(read), text);
}

// A manifest with the right checksum may still be nonsense.
TEST(Manifest, NonsenseIsRefused) {
  auto refuse = [](auto change) {
    Manifest manifest{.step = 1, .tables = {users_layout()}};
    manifest.files = {{"a.psc", {100, 1}, {{"users", 0, 1, 0}}, {}}};
    change(manifest);
    const Error error = error_of([&] { decode_manifest(encode_manifest(manifest), "m"); });
    EXPECT_EQ(error.code(), Code::kCorrupt);
    return error.message();
  };
  EXPECT_THAT(refuse([](Manifest& m) { m.files[0].path = "../a"; }), HasSubstr("not the name of a file"));
  EXPECT_THAT(refuse([](Manifest& m) { m.files[0].path = "/etc/passwd"; }),
              HasSubstr("not the name of a file"));
  EXPECT_THAT(refuse([](Manifest& m) { m.files.push_back(m.files[0]); }), HasSubstr("listed twice"));
  EXPECT_THAT(refuse([](Manifest& m) { m.files[0].sections[0].table = "x"; }), HasSubstr("no table 'x'"));
  EXPECT_THAT(refuse([](Manifest& m) { m.files[0].sections[0].partition = 64; }),
              HasSubstr("no partition 64"));
  EXPECT_THAT(refuse([](Manifest& m) { m.tables.push_back(m.tables[0]); }), HasSubstr("two tables"));
  EXPECT_THAT(refuse([](Manifest& m) { m.tables[0].width = 0; }), HasSubstr("width"));
  EXPECT_THAT(refuse([](Manifest& m) { m.step = -1; }), HasSubstr("step"));
}

}  // namespace
}  // namespace ps::checkpoint_test
