// Small checkpoints for tests: two tables and some states, whose contents follow from a version.
#ifndef PS_TESTS_UNIT_CHECKPOINT_SMALL_CHECKPOINT_H_
#define PS_TESTS_UNIT_CHECKPOINT_SMALL_CHECKPOINT_H_

#include <map>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/checkpoint_file_writer.h"
#include "checkpoint/checkpoint_reader.h"
#include "table/table_partition.h"

namespace ps {

// Key -> values, stamp and statistics, as text: what two tables that are the same have in common.
using Contents = std::map<std::string, std::map<uint64_t, std::string>>;

inline TableLayout users_layout() {
  return {.name = "users",
          .sparse = true,
          .width = 3,
          .state_arrays = 1,
          .stamped = true,
          .statistics = {"shows"}};
}

inline TableLayout bias_layout() {
  return {.name = "bias", .rows = 2, .width = 4, .state_arrays = 2};
}

// Rows of `users` at this version: key k is there unless (k + version) % 7 == 0, and every third key changes
// from version to version.
inline RowBlock user_rows(uint32_t partition, int64_t version, uint64_t num_keys) {
  RowBlock rows;
  for (uint64_t key = 0; key < num_keys; ++key) {
    if (key_partition(key) != partition || (key + static_cast<uint64_t>(version)) % 7 == 0) continue;
    const int64_t age = key % 3 == 0 ? version : 0;
    rows.keys.push_back(key);
    for (int i = 0; i < 6; ++i) {
      rows.values.push_back(static_cast<float>(key) + 0.25f * static_cast<float>(i) +
                            static_cast<float>(age));
    }
    rows.stamps.push_back(static_cast<uint32_t>(age));
    rows.statistics.push_back(static_cast<float>(key % 5));
  }
  return rows;
}

inline RowBlock bias_rows(int64_t version) {
  RowBlock rows;
  rows.keys = {0, 1};
  for (int i = 0; i < 24; ++i)
    rows.values.push_back(static_cast<float>(i) + 0.5f * static_cast<float>(version));
  return rows;
}

struct SmallCheckpoint {
  std::string directory;
  FileSystem* files = &system_files();
  uint64_t num_keys = 12;
  int zstd_level = 1;

  // Writes the checkpoint of step `version`; an increment when `base` is given.
  void write(int64_t version, const CheckpointReader* base = nullptr) const {
    CheckpointTarget target{begin_checkpoint(*files, directory, version), {files, zstd_level}, base};
    Manifest manifest{.step = version, .generation = 7, .job = {{"name", "small"}}};
    if (base) manifest.base = {step_folder(base->manifest().step), base->checksum()};
    manifest.tables = {users_layout(), bias_layout()};
    for (uint32_t half : {0u, 1u}) {
      CheckpointFileWriter writer(target, cat("part-", half, ".psc"));
      for (uint32_t partition = half; partition < 1u << kPartitionBits; partition += 2) {
        RowBlock rows = user_rows(partition, version, num_keys);
        if (rows.size() == 0 && !(base && base->has(users_layout(), partition))) continue;
        writer.begin(users_layout(), partition);
        writer.rows(rows);
      }
      if (half == 0) {
        writer.begin(bias_layout(), 0);
        writer.rows(bias_rows(version));
        writer.state("trainer/0", cat("at step ", version));
        writer.state("nothing", "");
      }
      manifest.files.push_back(writer.finish());
    }
    commit_checkpoint(*files, directory, manifest);
  }

  // Returns the contents that write(version) has written.
  Contents contents(int64_t version) const {
    Contents all;
    for (uint32_t p = 0; p < 1u << kPartitionBits; ++p)
      add(users_layout(), user_rows(p, version, num_keys), all);
    add(bias_layout(), bias_rows(version), all);
    return all;
  }

  static void add(const TableLayout& layout, const RowBlock& rows, Contents& all) {
    for (size_t i = 0; i < rows.size(); ++i) {
      std::string& text = all[layout.name][rows.keys[i]];
      const size_t width = static_cast<size_t>(layout.values());
      for (size_t v = i * width; v < (i + 1) * width; ++v) text += cat(rows.values[v], " ");
      if (!rows.stamps.empty()) text += cat("stamp ", rows.stamps[i]);
      if (!rows.statistics.empty()) text += cat(" shows ", rows.statistics[i]);
    }
  }
};

inline Contents read_contents(const CheckpointReader& reader) {
  Contents all;
  for (const TableLayout& layout : reader.manifest().tables) {
    for (uint32_t partition : reader.partitions(layout.name)) {
      auto cursor = reader.rows(layout.name, partition);
      while (const RowBlock* rows = cursor->next()) SmallCheckpoint::add(layout, *rows, all);
    }
  }
  return all;
}

}  // namespace ps

#endif  // PS_TESTS_UNIT_CHECKPOINT_SMALL_CHECKPOINT_H_
