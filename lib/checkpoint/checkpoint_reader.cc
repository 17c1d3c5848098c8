#include "checkpoint/checkpoint_reader.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"

namespace ps {

namespace {

constexpr uint64_t kMaxManifestBytes = 256 << 20;

// Returns a layout without the names of statistics, which only the manifest has, to compare it with a
// section's.
TableLayout without_names(TableLayout layout) {
  layout.statistics.assign(layout.statistics.size(), "");
  return layout;
}

}  // namespace

CheckpointReader::CheckpointReader(const std::string& folder) : CheckpointReader(folder, Part::kWhole) {}

// The lock comes before the first byte is read, so that the folder is not removed meanwhile.  sections_ and
// states_ tell in which file each section and state is; the files are opened when they are needed.  An
// increment opens its base as well, which must be a full checkpoint and the very one that it was made from.
CheckpointReader::CheckpointReader(const std::string& folder, Part part)
    : folder_(folder), lock_(join_path(folder, kManifestFile)) {
  const std::string path = join_path(folder_, kManifestFile);
  const std::string text = read_file(path, kMaxManifestBytes);
  manifest_ = decode_manifest(text, path);
  checksum_ = manifest_checksum(text);
  files_ = std::vector<OpenFile>(manifest_.files.size());
  for (size_t i = 0; i < manifest_.files.size(); ++i) {
    const FileEntry& entry = manifest_.files[i];
    files_[i].entry = &entry;
    for (const SectionEntry& section : entry.sections) sections_[{section.table, section.partition}] = i;
    for (const std::string& state : entry.states) states_[state] = i;
  }
  if (!manifest_.base) return;
  if (part == Part::kBase) {
    fail(Code::kCorrupt, path, ": offset 0: another checkpoint builds on it, and it builds on ",
         quote(manifest_.base->folder), ", expected a full one");
  }
  const std::string base = join_path(parent_directory(folder_), manifest_.base->folder);
  base_.reset(new CheckpointReader(base, Part::kBase));
  if (base_->checksum() == manifest_.base->checksum) return;
  fail(Code::kCorrupt, path, ": offset 0: ", quote(base), " is not the checkpoint that it builds on");
}

const TableLayout* CheckpointReader::table(const std::string& name) const {
  for (const TableLayout& layout : manifest_.tables) {
    if (layout.name == name) return &layout;
  }
  return nullptr;
}

std::vector<uint32_t> CheckpointReader::partitions(const std::string& table) const {
  std::vector<uint32_t> all;
  for (auto at = sections_.lower_bound({table, 0}); at != sections_.end() && at->first.first == table; ++at) {
    all.push_back(at->first.second);
  }
  return all;
}

bool CheckpointReader::has(const TableLayout& layout, uint32_t partition) const {
  const TableLayout* own = table(layout.name);
  return own != nullptr && *own == layout && sections_.contains({layout.name, partition});
}

// Opens the file when it is first needed, and compares it with the manifest.
const CheckpointFileReader& CheckpointReader::file(size_t index) const {
  OpenFile& open = files_[index];
  std::lock_guard lock(open.mutex);
  if (open.reader) return *open.reader;
  const std::string path = join_path(folder_, open.entry->path);
  if (!exists(path)) fail(Code::kCorrupt, path, ": offset 0: the file is not there");
  auto reader = std::make_unique<CheckpointFileReader>(path);
  if (reader->chunks().sum() != open.entry->sum) {
    fail(Code::kCorrupt, path, ": offset 0: another file than the manifest means: its checksum is ",
         checksum_text(reader->chunks().sum().checksum), ", expected ",
         checksum_text(open.entry->sum.checksum));
  }
  check_sections(*reader, *open.entry);
  open.reader = std::move(reader);
  return *open.reader;
}

// Each section and state that the manifest lists must be in the file, with the same layout; and a section
// that holds only changes needs a base.  Sections that the manifest does not list are never read.
void CheckpointReader::check_sections(const CheckpointFileReader& file, const FileEntry& entry) const {
  for (const SectionEntry& expected : entry.sections) {
    const Section* section = file.section(expected.table, expected.partition);
    const bool same = section != nullptr && section->layout == without_names(*table(expected.table)) &&
                      (!section->incremental || base_ != nullptr);
    if (same) continue;
    fail(Code::kCorrupt, file.chunks().path(), ": offset 0: partition ", expected.partition, " of ",
         quote(expected.table), " is not there as the manifest says");
  }
  for (const std::string& state : entry.states) {
    const std::vector<std::string>& states = file.states();
    if (std::find(states.begin(), states.end(), state) != states.end()) continue;
    fail(Code::kCorrupt, file.chunks().path(), ": offset 0: no state ", quote(state));
  }
}

// The rows of an increment may replace rows of the base or be new ones, so their sum is a bound.
uint64_t CheckpointReader::max_rows(const std::string& table, uint32_t partition) const {
  const auto found = sections_.find({table, partition});
  if (found == sections_.end()) return 0;
  uint64_t rows = base_ ? base_->max_rows(table, partition) : 0;
  for (const SectionEntry& section : manifest_.files[found->second].sections) {
    if (section.table == table && section.partition == partition) rows += section.rows;
  }
  return rows;
}

// A section of an increment has changed rows alone, and is merged with the same section of the base.
std::unique_ptr<RowCursor> CheckpointReader::rows(const std::string& table, uint32_t partition,
                                                  std::shared_ptr<ChunkBuffers> buffers) const {
  const CheckpointFileReader& own = file(sections_.at({table, partition}));
  const Section& section = *own.section(table, partition);
  if (!section.incremental) return own.rows(section, std::move(buffers));
  if (!base_->has(*this->table(table), partition)) {
    fail(Code::kCorrupt, own.chunks().path(), ": offset 0: partition ", partition, " of ", quote(table),
         " changes rows of ", quote(base_->folder()), ", which has no such partition");
  }
  return merged_rows(*this->table(table), base_->rows(table, partition, buffers), own.rows(section, buffers),
                     own.gone(section));
}

std::vector<std::string> CheckpointReader::states() const {
  std::vector<std::string> names;
  for (const auto& [name, file] : states_) names.push_back(name);
  return names;
}

std::string CheckpointReader::state(const std::string& name) const {
  auto found = states_.find(name);
  if (found == states_.end()) fail(Code::kCorrupt, folder_, ": offset 0: no state ", quote(name));
  return file(found->second).state(name);
}

void CheckpointReader::verify_states() const {
  for (const auto& [name, index] : states_) file(index).state(name);
}

// Checks that a section has as many rows as the manifest says.  Reads the section alone, without the base.
void CheckpointReader::verify_rows(const SectionEntry& entry,
                                   const std::shared_ptr<ChunkBuffers>& buffers) const {
  const CheckpointFileReader& own = file(sections_.at({entry.table, entry.partition}));
  const Section& section = *own.section(entry.table, entry.partition);
  uint64_t rows = 0, gone = 0;
  auto row_cursor = own.rows(section, buffers);
  while (const RowBlock* block = row_cursor->next()) rows += block->size();
  auto gone_cursor = own.gone(section);
  while (const std::vector<uint64_t>* keys = gone_cursor->next()) gone += keys->size();
  if (rows == entry.rows && gone == entry.gone) return;
  fail(Code::kCorrupt, own.chunks().path(), ": offset 0: partition ", entry.partition, " of ",
       quote(entry.table), " has ", rows, " rows and ", gone, " that are gone, expected ", entry.rows,
       " and ", entry.gone);
}

// A thread that begins file i asks the system to read the file that comes after those of all threads, so
// that the disk is busy while checksums are computed.
void CheckpointReader::verify(ThreadPool& pool, bool rows) const {
  pool.run(static_cast<int64_t>(files_.size()), [&](int64_t i) {
    const size_t next = static_cast<size_t>(i + pool.threads());
    if (next < files_.size()) file(next).chunks().read_ahead();
    const ChunkReader& chunks = file(static_cast<size_t>(i)).chunks();
    const auto buffers = std::make_shared<ChunkBuffers>();
    for (size_t c = 0; c < chunks.chunks().size(); ++c) chunks.verify(c, *buffers);
    if (!rows) return;
    for (const SectionEntry& entry : manifest_.files[static_cast<size_t>(i)].sections) {
      verify_rows(entry, buffers);
    }
  });
  if (base_) base_->verify(pool, rows);
}

}  // namespace ps
