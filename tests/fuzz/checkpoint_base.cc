// Checkpoints that build on others: four folders, of which the manifests name any of them as bases, themselves too, or
// folders that are not there.  Files are whole: damage of these is for the harness checkpoint_file.
//
// input := step[*]      step := what:u8 which:u8 other:u8, done one after the other; then all four are opened
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "checkpoint/checkpoint_directory.h"
#include "unit/checkpoint/small_checkpoint.h"

namespace ps {
namespace {

constexpr int64_t kCheckpoints = 4;  // of steps 1 to 4: 2 builds on 1, and 4 on 3

constexpr const char* kNames[] = {"step-000000009", "step-1",          "..", ".", "", "../elsewhere",
                                  "LATEST",         "step-000000001/."};

// The checkpoints as they were written, in a folder that goes when its owner goes.
class Checkpoints {
 public:
  Checkpoints() : small_{.directory = path_, .files = &unsynced_files()} {
    for (int64_t step = 1; step <= kCheckpoints; ++step) {
      const CheckpointReader before(step % 2 == 0 ? folder(step - 1) : write_full(step));
      if (step % 2 == 0) small_.write(step, &before);
      manifests_.push_back(CheckpointReader(folder(step)).manifest());
    }
  }
  ~Checkpoints() { std::filesystem::remove_all(path_); }
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  std::string folder(int64_t step) const { return join_path(path_, step_folder(step)); }
  const std::string& directory() const { return path_; }
  const std::vector<Manifest>& manifests() const { return manifests_; }
  Contents contents(int64_t step) const { return small_.contents(step); }

 private:
  std::string write_full(int64_t step) const {
    small_.write(step);
    return folder(step);
  }

  const std::string path_ = std::filesystem::temp_directory_path() / cat("pskit-fuzz-base-", getpid());
  const SmallCheckpoint small_;
  std::vector<Manifest> manifests_;
};

// A manifest to be, and how its file differs from that.
struct Draft {
  Manifest manifest;
  bool missing = false;
  int damaged = -1;  // byte
};

uint64_t checksum_of(const Draft& draft) {
  return manifest_checksum(encode_manifest(draft.manifest));
}

void change(std::vector<Draft>& drafts, uint8_t what, uint8_t which, uint8_t other) {
  Draft& draft = drafts[which % drafts.size()];
  Manifest& manifest = draft.manifest;
  const size_t index = other % drafts.size();
  const BaseEntry base{step_folder(static_cast<int64_t>(index) + 1), checksum_of(drafts[index])};
  switch (what % 8) {
    case 0:
      return void(manifest.base = base);
    case 1:
      return void(manifest.base = {base.folder, base.checksum ^ other});
    case 2:
      return void(manifest.base = {kNames[other % std::size(kNames)], base.checksum});
    case 3:
      return manifest.base.reset();
    case 4:
      return void(draft.missing = true);
    case 5:
      return void(draft.damaged = other);
    case 6:
      return void(manifest.files = drafts[index].manifest.files);
    default:
      manifest.files[other % manifest.files.size()].sections.resize(other / 4);
  }
}

void write_draft(const std::string& folder, const Draft& draft) {
  const std::string path = join_path(folder, kManifestFile);
  std::filesystem::remove(path);
  if (draft.missing) return;
  std::string text = encode_manifest(draft.manifest);
  if (draft.damaged >= 0) text[static_cast<size_t>(draft.damaged) % text.size()] ^= 1;
  std::ofstream(path, std::ios::binary) << text;
}

// Damage, or a folder without a manifest, and nothing else.
void check_refusal(const Error& error) {
  PS_CHECK(error.code() == Code::kCorrupt || error.code() == Code::kUsage);
}

void check_rows_bounded(const CheckpointReader& reader) {
  for (const TableLayout& layout : reader.manifest().tables) {
    for (uint32_t partition : reader.partitions(layout.name)) {
      uint64_t rows = 0;
      auto cursor = reader.rows(layout.name, partition);
      while (const RowBlock* block = cursor->next()) rows += block->size();
      PS_CHECK(rows <= reader.max_rows(layout.name, partition));
    }
  }
}

// A base is full, and the one that is meant.  Nothing of an increment is read without it.
void open(const Checkpoints& all, const std::vector<Draft>& drafts, int64_t step, ThreadPool& pool) {
  const Draft& draft = drafts[static_cast<size_t>(step - 1)];
  try {
    const CheckpointReader reader(all.folder(step));
    PS_CHECK(!draft.missing && draft.damaged < 0);
    if (reader.manifest().base) {
      const CheckpointReader base(join_path(all.directory(), reader.manifest().base->folder));
      PS_CHECK(!base.manifest().base && base.checksum() == reader.manifest().base->checksum);
    }
    reader.verify(pool, /*rows=*/true);
    check_rows_bounded(reader);
    reader.verify_states();
    const Manifest& written = all.manifests()[static_cast<size_t>(step - 1)];
    if (encode_manifest(reader.manifest()) == encode_manifest(written))
      PS_CHECK(read_contents(reader) == all.contents(step));
  } catch (const Error& error) {
    check_refusal(error);
  }
}

void open_newest(const Checkpoints& all, ThreadPool& pool) {
  try {
    open_newest_checkpoint(
        all.directory(), [&](const CheckpointReader& reader) { reader.verify(pool, true); }, check_refusal);
  } catch (const Error& error) {
    check_refusal(error);
  }
}

void run(std::string_view input) {
  static const Checkpoints all;
  static ThreadPool pool(1);
  std::vector<Draft> drafts;
  for (const Manifest& manifest : all.manifests()) drafts.push_back({.manifest = manifest});
  ByteReader in(input);
  while (in.has(3)) {
    const uint8_t what = in.get<uint8_t>(), which = in.get<uint8_t>();
    change(drafts, what, which, in.get<uint8_t>());
  }
  for (int64_t step = 1; step <= kCheckpoints; ++step)
    write_draft(all.folder(step), drafts[static_cast<size_t>(step - 1)]);
  for (int64_t step = 1; step <= kCheckpoints; ++step) open(all, drafts, step, pool);
  open_newest(all, pool);
}

}  // namespace
}  // namespace ps

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ps::run({reinterpret_cast<const char*>(data), std::min<size_t>(size, 60)});
  return 0;
}
