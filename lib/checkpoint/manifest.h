// The manifest of a checkpoint: what makes its files one checkpoint.  ps-checkpoint(5).
#ifndef PS_CHECKPOINT_MANIFEST_H_
#define PS_CHECKPOINT_MANIFEST_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/table_layout.h"
#include "chunk/format.h"
#include "config/json.h"

namespace ps {

inline constexpr const char* kManifestFile = "MANIFEST.json";

// The rows that one file has of one partition of a table.  Of a dense table, partitions number its pieces.
struct SectionEntry {
  std::string table;
  uint32_t partition = 0;
  uint64_t rows = 0;  // in the file
  uint64_t gone = 0;  // of its base, in an increment

  bool operator==(const SectionEntry&) const = default;
};

struct FileEntry {
  std::string path;  // within the checkpoint's folder
  ChunkFileSum sum;
  std::vector<SectionEntry> sections = {};
  std::vector<std::string> states = {};

  bool operator==(const FileEntry&) const = default;
};

// A checkpoint that another one needs.
struct BaseEntry {
  std::string folder;     // beside its own
  uint64_t checksum = 0;  // of its manifest

  bool operator==(const BaseEntry&) const = default;
};

struct Manifest {
  int64_t step = 0;                    // of the whole job
  uint64_t generation = 0;             // of the processes that wrote it
  std::optional<BaseEntry> base = {};  // of an increment: the full checkpoint that it changes
  Json job = {};                       // what of the job file must be equal to go on
  std::vector<TableLayout> tables = {};
  std::vector<FileEntry> files = {};
};

// The document; its last line has the checksum of all before it.
std::string encode_manifest(const Manifest& manifest);

// That checksum, which stands for the whole checkpoint: the manifest has those of its files.
uint64_t manifest_checksum(std::string_view text);

// Checks everything that can be checked without the files.  `name` begins the messages.  Throws kCorrupt
// "name: offset 12: …".
Manifest decode_manifest(std::string_view text, const std::string& name);

// The base, tables and files of the checkpoint whose shards have these manifests.  Throws kUnavailable when
// they build on different checkpoints.
Manifest join_manifests(std::span<const Manifest> parts);

}  // namespace ps

#endif  // PS_CHECKPOINT_MANIFEST_H_
