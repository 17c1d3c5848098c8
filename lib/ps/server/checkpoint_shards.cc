#include "ps/server/checkpoint_shards.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/checkpoint_directory.h"
#include "config/json.h"
#include "store/table_checkpoint.h"

namespace ps {

namespace {

constexpr std::string_view kWritingPrefix = "writing-", kManifestSuffix = ".part", kFileSuffix = ".psc";
constexpr uint64_t kMaxManifestBytes = 256 << 20;

std::string run_prefix(uint64_t run) {
  return cat(kWritingPrefix, checksum_text(run), "-");
}

// Returns a name such as "shard-d0-s1" with the numbers of a shard; a number is -1 if it has none of that
// kind.
std::string shard_name(const ShardPlace& place) {
  return "shard-" + place_name(place);
}

std::string rows_prefix(const ShardPlace& place) {
  return cat("rows-", place.sparse, "-");
}

std::string dense_file(const ShardPlace& place) {
  return cat("dense-", place.dense, kFileSuffix);
}

// Returns the folder of the shards' files.  It is the checkpoint's folder once the first shard has renamed
// it.
std::string shards_folder(const std::string& directory, const CheckpointStep& checkpoint) {
  const std::string writing = join_path(directory, writing_folder(checkpoint));
  return is_directory(writing) ? writing : join_path(directory, step_folder(checkpoint.step));
}

Manifest read_shard_manifest(const std::string& path) {
  return decode_manifest(read_file(path, kMaxManifestBytes), path);
}

// Returns nothing if there is no manifest, or if it is removed meanwhile.
std::optional<Manifest> find_manifest(const std::string& path) {
  try {
    return read_shard_manifest(path);
  } catch (const Error&) {
    if (exists(path)) throw;
    return std::nullopt;
  }
}

std::vector<std::string> manifest_files(const std::string& folder) {
  if (!is_directory(folder)) return {};
  std::vector<std::string> names = list_directory(folder);
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(kManifestSuffix); });
  return names;
}

// Returns the manifest of one shard's files in a checkpoint that counts.
Manifest manifest_of_shard(const Manifest& whole, const ShardPlace& place) {
  Manifest shard = whole;
  std::erase_if(shard.files, [&](const FileEntry& file) {
    return !file.path.starts_with(rows_prefix(place)) && file.path != dense_file(place) &&
           file.path != cat(shard_name(place), kFileSuffix);
  });
  return shard;
}

// Opens the full checkpoint on which an increment builds; returns null if there is none of this run at that
// step.
std::unique_ptr<CheckpointReader> open_base(const std::string& directory, uint64_t run,
                                            std::optional<int64_t> step) {
  if (!step) return nullptr;
  const std::string folder = join_path(directory, step_folder(*step));
  if (!exists(join_path(folder, kManifestFile))) return nullptr;
  auto base = std::make_unique<CheckpointReader>(folder);
  const bool fits = base->manifest().generation == run && !base->manifest().base;
  return fits ? std::move(base) : nullptr;
}

// Runs body() with its kUsage errors as kUnavailable: a full disk is no mistake of the person who started the
// job.
template <class Body>
void as_output(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    if (error.code() != Code::kUsage) throw;
    throw Error(Code::kUnavailable, error.message());
  }
}

}  // namespace

std::string writing_folder(const CheckpointStep& checkpoint) {
  return cat(run_prefix(checkpoint.run), checkpoint.step);
}

CheckpointShardWriter::CheckpointShardWriter(const std::string& directory, const CheckpointStep& checkpoint,
                                             const ShardPlace& place, const ChunkWriting& writing,
                                             std::optional<int64_t> base)
    : base_(open_base(directory, checkpoint.run, base)),
      target_{join_path(directory, writing_folder(checkpoint)), writing, base_.get()},
      checkpoint_(checkpoint),
      place_(place) {
  as_output([&] { writing.files->make_directories(target_.folder); });
}

CheckpointShardWriter::~CheckpointShardWriter() = default;

// Returns the file of the table, and makes it for the first partition.  The partitions of one table come in
// order, but those of several tables may alternate.
CheckpointShardWriter::TableFile& CheckpointShardWriter::file_of(const TableLayout& layout) {
  TableFile& file = sparse_[layout.name];
  if (!file.writer) {
    const std::string name = cat(rows_prefix(place_), sparse_.size(), kFileSuffix);
    as_output([&] { file.writer = std::make_unique<CheckpointFileWriter>(target_, name); });
  }
  return file;
}

// Begins those partitions of this shard before `end` that have rows in the base, but none now.  An empty
// partition takes the place of that in the base, whose rows would come back otherwise.
void CheckpointShardWriter::begin_emptied(TableFile& file, const TableLayout& layout, uint32_t end) {
  for (; file.next < end; ++file.next) {
    const bool mine = static_cast<int>(file.next) % place_.num_sparse == place_.sparse;
    if (mine && base_ && base_->has(layout, file.next)) file.writer->begin(layout, file.next);
  }
}

void CheckpointShardWriter::rows(const TableLayout& layout, uint32_t partition, const RowBlock& rows) {
  TableFile& file = file_of(layout);
  if (partition >= file.next) {
    begin_emptied(file, layout, partition);
    file.writer->begin(layout, partition);
    file.next = partition + 1;
  }
  file.writer->rows(rows);
}

void CheckpointShardWriter::dense(const TableLayout& layout, const BlockCyclicRows& deal,
                                  std::span<const float> floats) {
  if (!dense_)
    as_output([&] { dense_ = std::make_unique<CheckpointFileWriter>(target_, dense_file(place_)); });
  save_dense_floats(*dense_, layout, deal, floats, static_cast<uint32_t>(deal.owner));
}

// The partitions after the last one that had rows may be emptied, too.  The manifest is written last: it
// tells the first shard, and a later process of this shard, that all files that it names are complete.
Manifest CheckpointShardWriter::finish(const std::vector<TableLayout>& layouts,
                                       const std::map<std::string, std::string>& states,
                                       const SharedStates& shared) {
  for (const TableLayout& layout : layouts) {
    if (layout.sparse && base_) begin_emptied(file_of(layout), layout, kPartitions);
  }
  for (auto& [table, file] : sparse_) files_.push_back(file.writer->finish());
  if (dense_) files_.push_back(dense_->finish());
  const std::string name = shard_name(place_);
  if (!states.empty() || !shared.empty()) {
    CheckpointFileWriter writer(target_, cat(name, kFileSuffix));
    for (const auto& [state, bytes] : states) writer.state(state, bytes);
    for (const auto& [state, bytes] : shared) writer.state(state, *bytes);
    files_.push_back(writer.finish());
  }
  Manifest manifest{
      .step = checkpoint_.step, .generation = checkpoint_.run, .tables = layouts, .files = files_};
  if (base_) manifest.base = {step_folder(base_->manifest().step), base_->checksum()};
  write_file(join_path(target_.folder, name + std::string(kManifestSuffix)), encode_manifest(manifest),
             *target_.writing.files);
  return manifest;
}

// Looks for the manifest in the order in which it moves from place to place, since the first shard may rename
// the folder meanwhile.
std::optional<Manifest> find_shard_manifest(const std::string& directory, const CheckpointStep& checkpoint,
                                            const ShardPlace& place) {
  for (const std::string& folder : {writing_folder(checkpoint), step_folder(checkpoint.step)}) {
    std::optional<Manifest> shard = find_manifest(
        join_path(join_path(directory, folder), shard_name(place) + std::string(kManifestSuffix)));
    if (shard && shard->generation == checkpoint.run) return shard;
  }
  const std::optional<Manifest> whole = whole_manifest(directory, checkpoint.step);
  if (!whole || whole->generation != checkpoint.run) return std::nullopt;
  return manifest_of_shard(*whole, place);
}

// The name of a manifest has the numbers of its shard; -1 stands for a kind of parameters of which the
// shard has none.  All shards have written when every number of both kinds is there.
bool all_shards_written(const std::string& directory, const CheckpointStep& checkpoint,
                        const ShardPlace& place) {
  std::set<int> dense, sparse;
  for (const std::string& name : manifest_files(shards_folder(directory, checkpoint))) {
    ShardPlace of;
    if (std::sscanf(name.c_str(), "shard-d%d-s%d", &of.dense, &of.sparse) != 2) continue;
    if (of.dense >= 0) dense.insert(of.dense);
    if (of.sparse >= 0) sparse.insert(of.sparse);
  }
  return dense.size() == static_cast<size_t>(place.num_dense) &&
         sparse.size() == static_cast<size_t>(place.num_sparse);
}

// Only the manifest of all files makes the checkpoint count, so the folder gets its final name before.  If
// a process died between the two, the folder has that name already.  A folder that an earlier run has left
// under the name is removed first, its manifest before its files: it never looks whole while it is not.
uint64_t commit_shards(FileSystem& files, const std::string& directory, const CheckpointStep& checkpoint,
                       const Json& job) {
  const std::string folder = shards_folder(directory, checkpoint);
  std::vector<Manifest> shards;
  for (const std::string& name : manifest_files(folder))
    shards.push_back(read_shard_manifest(join_path(folder, name)));
  Manifest whole = join_manifests(shards);
  whole.step = checkpoint.step;
  whole.generation = checkpoint.run;
  whole.job = job;
  const std::string target = join_path(directory, step_folder(checkpoint.step));
  if (folder != target) {
    files.remove(join_path(target, kManifestFile));
    files.remove(target);
    files.rename(folder, target);
  }
  commit_checkpoint(files, directory, whole);
  uint64_t bytes = 0;
  for (const FileEntry& file : whole.files) bytes += file.sum.bytes;
  return bytes;
}

// The name of a half-written folder tells its run and its step, so that no file in it is opened.  A name of
// this run without a readable step is removed, too.
void remove_stale_shards(FileSystem& files, const std::string& directory, const CheckpointStep& checkpoint) {
  const std::string whole = join_path(directory, step_folder(checkpoint.step));
  for (const std::string& name : manifest_files(whole)) files.remove(join_path(whole, name));
  const std::string prefix = run_prefix(checkpoint.run);
  for (const std::string& name : list_directory(directory)) {
    if (!name.starts_with(kWritingPrefix)) continue;
    const bool own = name.starts_with(prefix);
    const std::optional<int64_t> step =
        own ? parse_int(std::string_view(name).substr(prefix.size())) : std::nullopt;
    if (!step || *step < checkpoint.step) files.remove(join_path(directory, name));
  }
}

}  // namespace ps
