// The manifest of a checkpoint: the list of its files and tables, which makes them one checkpoint.
// ps-checkpoint(5).
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

// The rows of one partition of a table in one file.  The partitions of a dense table are the numbers of its
// parts.
struct SectionEntry {
  std::string table;
  uint32_t partition = 0;
  uint64_t rows = 0;  // rows in the file
  uint64_t gone = 0;  // in an increment: rows of the base that are gone

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
  std::string folder;     // name of its folder, in the same directory
  uint64_t checksum = 0;  // of its manifest

  bool operator==(const BaseEntry&) const = default;
};

struct Manifest {
  int64_t step = 0;                    // step of the whole job
  uint64_t generation = 0;             // generation of the processes that wrote it
  std::optional<BaseEntry> base = {};  // set in an increment: the full checkpoint that it changes
  Json job = {};                       // the parts of the job file that must be equal to resume
  std::vector<TableLayout> tables = {};
  std::vector<FileEntry> files = {};
};

// Returns the JSON document.  Its last line has the checksum of all lines before.
std::string encode_manifest(const Manifest& manifest);

// Returns that checksum.  It identifies the whole checkpoint, since the manifest has the checksums of its
// files.
uint64_t manifest_checksum(std::string_view text);

// Decodes a manifest, and checks everything that can be checked without the files.  `name` begins the
// messages.  Throws kCorrupt "name: offset 12: …".
Manifest decode_manifest(std::string_view text, const std::string& name);

// Returns the job as it compares with `earlier`, that of a checkpoint or a log: without the keys that decide on the features
// of examples, if `earlier` has none of them, as those of former versions have not.
Json comparable_job(Json job, const Json& earlier);

// Joins the manifests of all shards of a checkpoint into one.  Throws kUnavailable when they have different
// bases.
Manifest join_manifests(std::span<const Manifest> parts);

}  // namespace ps

#endif  // PS_CHECKPOINT_MANIFEST_H_
