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

constexpr std::string_view kWritingPrefix = "writing-", kPartSuffix = ".part", kFileSuffix = ".psc";
constexpr uint64_t kMaxPartBytes = 256 << 20;

std::string run_prefix(uint64_t run) {
  return cat(kWritingPrefix, checksum_text(run), "-");
}

// "shard-d0-s1": the numbers of a shard; -1 where it has none of a kind.
std::string shard_name(const ShardPlace& place) {
  return "shard-" + place_name(place);
}

std::string rows_prefix(const ShardPlace& place) {
  return cat("rows-", place.sparse, "-");
}

std::string dense_file(const ShardPlace& place) {
  return cat("dense-", place.dense, kFileSuffix);
}

// Where the parts of a cut are: before, or after, whoever makes a checkpoint of them has begun to.
std::string parts_folder(const std::string& directory, const CheckpointStep& cut) {
  const std::string writing = join_path(directory, writing_folder(cut));
  return is_directory(writing) ? writing : join_path(directory, step_folder(cut.step));
}

Manifest read_part(const std::string& path) {
  return decode_manifest(read_file(path, kMaxPartBytes), path);
}

// Nothing when there is none, or it goes away while it is looked for.
std::optional<Manifest> find_manifest(const std::string& path) {
  try {
    return read_part(path);
  } catch (const Error&) {
    if (exists(path)) throw;
    return std::nullopt;
  }
}

std::vector<std::string> part_files(const std::string& folder) {
  if (!is_directory(folder)) return {};
  std::vector<std::string> names = list_directory(folder);
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(kPartSuffix); });
  return names;
}

// A shard's part of a checkpoint that counts.
Manifest part_of(const Manifest& whole, const ShardPlace& place) {
  Manifest part = whole;
  std::erase_if(part.files, [&](const FileEntry& file) {
    return !file.path.starts_with(rows_prefix(place)) && file.path != dense_file(place) &&
           file.path != cat(shard_name(place), kFileSuffix);
  });
  return part;
}

// The full checkpoint that a part builds on; null when there is none of this run at that step.
std::unique_ptr<CheckpointReader> open_base(const std::string& directory, uint64_t run,
                                            std::optional<int64_t> step) {
  if (!step) return nullptr;
  const std::string folder = join_path(directory, step_folder(*step));
  if (!exists(join_path(folder, kManifestFile))) return nullptr;
  auto base = std::make_unique<CheckpointReader>(folder);
  const bool fits = base->manifest().generation == run && !base->manifest().base;
  return fits ? std::move(base) : nullptr;
}

// A full disk is no mistake of whoever started the job.
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

std::string writing_folder(const CheckpointStep& cut) {
  return cat(run_prefix(cut.run), cut.step);
}

CheckpointShardWriter::CheckpointShardWriter(const std::string& directory, const CheckpointStep& cut,
                                             const ShardPlace& place, const ChunkWriting& writing,
                                             std::optional<int64_t> base)
    : base_(open_base(directory, cut.run, base)),
      target_{join_path(directory, writing_folder(cut)), writing, base_.get()},
      cut_(cut),
      place_(place) {
  as_output([&] { writing.files->make_directories(target_.folder); });
}

CheckpointShardWriter::~CheckpointShardWriter() = default;

// A file for each table: partitions come in their order, but those of several tables may come by turns.
CheckpointShardWriter::TableFile& CheckpointShardWriter::file_of(const TableLayout& layout) {
  TableFile& file = sparse_[layout.name];
  if (!file.writer) {
    const std::string name = cat(rows_prefix(place_), sparse_.size(), kFileSuffix);
    as_output([&] { file.writer = std::make_unique<CheckpointFileWriter>(target_, name); });
  }
  return file;
}

// Partitions before `end` that have rows in the base, and none any more.
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
  Manifest manifest{.step = cut_.step, .generation = cut_.run, .tables = layouts, .files = files_};
  if (base_) manifest.base = {step_folder(base_->manifest().step), base_->checksum()};
  write_file(join_path(target_.folder, name + std::string(kPartSuffix)), encode_manifest(manifest),
             *target_.writing.files);
  return manifest;
}

// Where it may be, in the order in which it comes there: another shard may make a checkpoint of it meanwhile.
std::optional<Manifest> find_part(const std::string& directory, const CheckpointStep& cut,
                                  const ShardPlace& place) {
  for (const std::string& folder : {writing_folder(cut), step_folder(cut.step)}) {
    std::optional<Manifest> part =
        find_manifest(join_path(join_path(directory, folder), shard_name(place) + std::string(kPartSuffix)));
    if (part && part->generation == cut.run) return part;
  }
  const std::optional<Manifest> whole = whole_manifest(directory, cut.step);
  if (!whole || whole->generation != cut.run) return std::nullopt;
  return part_of(*whole, place);
}

bool parts_complete(const std::string& directory, const CheckpointStep& cut, const ShardPlace& place) {
  std::set<int> dense, sparse;
  for (const std::string& name : part_files(parts_folder(directory, cut))) {
    ShardPlace of;
    if (std::sscanf(name.c_str(), "shard-d%d-s%d", &of.dense, &of.sparse) != 2) continue;
    if (of.dense >= 0) dense.insert(of.dense);
    if (of.sparse >= 0) sparse.insert(of.sparse);
  }
  return dense.size() == static_cast<size_t>(place.num_dense) &&
         sparse.size() == static_cast<size_t>(place.num_sparse);
}

uint64_t commit_parts(FileSystem& files, const std::string& directory, const CheckpointStep& cut,
                      const Json& job) {
  const std::string folder = parts_folder(directory, cut);
  std::vector<Manifest> parts;
  for (const std::string& name : part_files(folder)) parts.push_back(read_part(join_path(folder, name)));
  Manifest whole = join_manifests(parts);
  whole.step = cut.step;
  whole.generation = cut.run;
  whole.job = job;
  const std::string target = join_path(directory, step_folder(cut.step));
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

void remove_stale_parts(FileSystem& files, const std::string& directory, const CheckpointStep& cut) {
  const std::string whole = join_path(directory, step_folder(cut.step));
  for (const std::string& name : part_files(whole)) files.remove(join_path(whole, name));
  const std::string prefix = run_prefix(cut.run);
  for (const std::string& name : list_directory(directory)) {
    if (!name.starts_with(kWritingPrefix)) continue;
    const bool own = name.starts_with(prefix);
    const std::optional<int64_t> step =
        own ? parse_int(std::string_view(name).substr(prefix.size())) : std::nullopt;
    if (!step || *step < cut.step) files.remove(join_path(directory, name));
  }
}

}  // namespace ps
