#include "checkpoint/snapshot_writer.h"

#include <gtest/gtest.h>

#include "small_checkpoint.h"
#include "support/faulty_files.h"
#include "support/scratch_folder.h"

namespace ps {
namespace {

constexpr uint64_t kKeys = 3000;
constexpr uint64_t kPartitions = 3;  // of them, a file each

TableLayout plain_layout() {
  TableLayout layout = users_layout();
  layout.statistics.clear();
  return layout;
}

RowBlock plain_rows(uint32_t partition) {
  RowBlock rows = user_rows(partition, 1, kKeys);
  rows.statistics.clear();
  return rows;
}

// As a snapshot gives them: in another order.
void give_rows(uint32_t partition, SnapshotWriter& writer) {
  const RowLayout layout(3, 1, /*stamped=*/true);
  const RowBlock all = plain_rows(partition);
  SnapshotRows rows(layout);
  std::vector<float> row(static_cast<size_t>(layout.stride()));
  for (size_t i = all.size(); i-- > 0;) {
    copy_row(layout, all, i, row.data());
    rows.add(all.keys[i], row.data());
  }
  writer.rows(std::move(rows));
}

std::vector<FileEntry> write_in_background(const CheckpointTarget& target, uint64_t max_bytes) {
  SnapshotWriter writer(target, max_bytes);
  for (uint32_t p = 0; p < kPartitions; ++p) {
    writer.begin_file(cat("part-", p));
    writer.begin(plain_layout(), p);
    give_rows(p, writer);
    writer.then([p](CheckpointFileWriter& file) { file.state(cat("state-", p), "bytes"); });
  }
  return writer.finish();
}

TEST(SnapshotWriter, FilesAreThoseOfWhoeverWaitsForThem) {
  const ScratchFolder folder;
  std::vector<FileEntry> expected;
  system_files().make_directories(folder.path("waiting"));
  const CheckpointTarget waiting{folder.path("waiting"), {}, nullptr};
  for (uint32_t p = 0; p < kPartitions; ++p) {
    CheckpointFileWriter writer(waiting, cat("part-", p));
    writer.begin(plain_layout(), p);
    writer.rows(plain_rows(p));
    writer.state(cat("state-", p), "bytes");
    expected.push_back(writer.finish());
  }
  for (uint64_t max_bytes : {1, 1 << 20}) {
    EXPECT_EQ(write_in_background({folder.path(), {}, nullptr}, max_bytes), expected) << max_bytes;
  }
}

TEST(SnapshotWriter, FullDiskComesOutAtTheEndAndNobodyWaitsForRoom) {
  const ScratchFolder folder;
  FaultyFiles files(folder.path());
  files.fail_at(3, ENOSPC, /*lasting=*/true);
  const Error error = error_of([&] {
    write_in_background({folder.path(), {.files = &files}, nullptr}, /*max_bytes=*/1);
  });
  EXPECT_EQ(error.code(), Code::kExhausted) << error.message();
}

TEST(SnapshotWriter, WhatIsGivenUpIsNoWholeFile) {
  const ScratchFolder folder;
  {
    SnapshotWriter writer({folder.path(), {}, nullptr}, 1 << 20);
    writer.begin_file("part-0");
    writer.begin(plain_layout(), 0);
    give_rows(0, writer);
  }
  if (!exists(folder.path("part-0"))) return;  // not even begun
  EXPECT_EQ(error_of([&] { CheckpointFileReader reader(folder.path("part-0")); }).code(), Code::kCorrupt);
}

}  // namespace
}  // namespace ps
