// A file of a checkpoint: the bytes as they are, and then as the contents of chunks whose checksums are
// right, so that what lies behind the checksums is reached too.
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"
#include "checkpoint/checkpoint_file_reader.h"
#include "chunk/chunk_writer.h"
#include "memory_path.h"

namespace ps {
namespace {

constexpr uint32_t kIds[] = {kSectionChunk,    kKeysChunk, kValuesChunk, kStampsChunk,
                             kStatisticsChunk, kGoneChunk, kStateChunk,  kSectionChunk | kOptionalChunk};
volatile float sink;  // so that reads are not optimized away

void read_section(const CheckpointFileReader& reader, const Section& section) {
  auto rows = reader.rows(section);
  uint64_t last = 0;
  bool first = true;
  while (const RowBlock* block = rows->next()) {
    PS_CHECK(block->values.size() == block->size() * static_cast<size_t>(section.layout.values()));
    PS_CHECK(block->stamps.size() == (section.layout.stamped ? block->size() : 0));
    for (uint64_t key : block->keys) {
      PS_CHECK(first || key > last);
      first = false;
      last = key;
    }
    for (float value : block->values) sink = value;
  }
  auto gone = reader.gone(section);
  while (gone->next()) {
  }
}

void read_file(const std::string& path) {
  try {
    CheckpointFileReader reader(path);
    ChunkBuffers buffers;
    for (size_t i = 0; i < reader.chunks().chunks().size(); ++i) {
      if (reader.chunks().chunks()[i].id != kSectionChunk) continue;
      const Section head = decode_section(reader.chunks().read(i, buffers));
      read_section(reader, *reader.section(head.layout.name, head.partition));
    }
    for (const std::string& state : reader.states()) reader.state(state);
  } catch (const Error&) {
    // Refused, as most inputs are.
  }
}

// A writer makes its file, and takes no other's: this one is on the disk, and goes when its owner goes.
struct ScratchFile {
  ScratchFile() : path(std::filesystem::temp_directory_path() / cat("pskit-fuzz-", getpid())) {}
  ~ScratchFile() { std::filesystem::remove(path); }
  const std::string path;
};

// input := (id:u8 size:u8 bytes[size])*
void write_chunks(const std::string& path, std::string_view input) {
  ChunkWriter writer(path, kCheckpointFileKind, {});
  ByteReader in(input);
  while (in.has(2)) {
    const uint32_t id = kIds[in.get<uint8_t>() % std::size(kIds)];
    const size_t size = in.get<uint8_t>();
    writer.add(id, in.get_bytes(std::min(size, in.remaining())));
  }
  writer.finish();
}

}  // namespace
}  // namespace ps

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ps::MemoryPath file;
  file.fill(data, size);
  ps::read_file(file.path());
  const ps::ScratchFile chunks;
  ps::write_chunks(chunks.path, {reinterpret_cast<const char*>(data), size});
  ps::read_file(chunks.path);
  return 0;
}
