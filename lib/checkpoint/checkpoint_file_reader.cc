#include "checkpoint/checkpoint_file_reader.h"

#include "base/bytes.h"
#include "base/error.h"

namespace ps {

namespace {

class SectionRows final : public RowCursor {
 public:
  SectionRows(const ChunkReader& reader, const Section& section, size_t begin, size_t end,
              std::shared_ptr<ChunkBuffers> buffers)
      : reader_(reader), section_(section), next_(begin), end_(end), buffers_(std::move(buffers)) {}

  // Each block of rows begins with its keys; other chunks between are passed over.
  const RowBlock* next() override {
    while (next_ < end_ && reader_.chunks()[next_].id != kKeysChunk) ++next_;
    if (next_ >= end_) return nullptr;
    read_rows(reader_, next_, section_, *buffers_, rows_);
    return &rows_;
  }

 private:
  const ChunkReader& reader_;
  const Section& section_;
  size_t next_;
  const size_t end_;
  const std::shared_ptr<ChunkBuffers> buffers_;
  RowBlock rows_;
};

class SectionGone final : public KeyCursor {
 public:
  SectionGone(const ChunkReader& reader, size_t begin, size_t end)
      : reader_(reader), next_(begin), end_(end) {}

  // keys_ still has the chunk before when the next one is read, so that the order of keys is checked
  // between chunks.
  const std::vector<uint64_t>* next() override {
    while (next_ < end_ && reader_.chunks()[next_].id != kGoneChunk) ++next_;
    if (next_ >= end_) return nullptr;
    const bool begins = keys_.empty();
    const uint64_t last = begins ? 0 : keys_.back();
    read_keys(reader_, next_, buffers_, keys_);
    if (!begins && keys_.front() <= last) reader_.fail_chunk(next_, "keys do not ascend");
    ++next_;
    return &keys_;
  }

 private:
  const ChunkReader& reader_;
  size_t next_;
  const size_t end_;
  ChunkBuffers buffers_;
  std::vector<uint64_t> keys_;
};

bool is_part_of_section(uint32_t id) {
  return id == kKeysChunk || id == kValuesChunk || id == kStampsChunk || id == kStatisticsChunk ||
         id == kGoneChunk;
}

// Splits a BLOB chunk into name and bytes.  Throws kCorrupt without file and offset.
std::string_view state_piece(std::string_view chunk, std::string& name) {
  ByteReader in(chunk);
  name = in.get_bytes(in.get<uint32_t>());
  if (!in.ok() || name.empty()) fail(Code::kCorrupt, "a state without a name");
  return in.get_bytes(in.remaining());
}

}  // namespace

// Goes through the heads of all chunks once, and reads only those that begin a section or hold a state.  A
// section reaches from the chunk behind its head to the next head.  Errors of decoders get the place of the
// chunk here.
CheckpointFileReader::CheckpointFileReader(const std::string& path) : chunks_(path, kCheckpointFileKind) {
  ChunkBuffers buffers;
  for (size_t i = 0; i < chunks_.chunks().size(); ++i) {
    const uint32_t id = chunks_.chunks()[i].id;
    try {
      if (id == kSectionChunk) {
        add_section(i, buffers);
      } else if (id == kStateChunk) {
        add_state(i, buffers);
      } else if (!is_part_of_section(id)) {
        chunks_.skip_unknown(i);
      } else if (sections_.empty()) {
        chunks_.fail_chunk(i, cat(chunk_name(id), " before a section"));
      }
    } catch (const Error& error) {
      if (error.code() != Code::kCorrupt || error.message().starts_with(path)) throw;
      chunks_.fail_chunk(i, error.message());
    }
    if (!sections_.empty()) sections_.back().end = i + 1;
  }
}

void CheckpointFileReader::add_section(size_t chunk, ChunkBuffers& buffers) {
  Section section = decode_section(chunks_.read(chunk, buffers));
  if (this->section(section.layout.name, section.partition) != nullptr) {
    fail(Code::kCorrupt, "partition ", section.partition, " of ", quote(section.layout.name), " again");
  }
  sections_.push_back({std::move(section), chunk + 1, chunk + 1});
}

void CheckpointFileReader::add_state(size_t chunk, ChunkBuffers& buffers) {
  std::string name;
  state_piece(chunks_.read(chunk, buffers), name);
  std::vector<size_t>& pieces = states_[name];
  if (pieces.empty()) state_names_.push_back(name);
  pieces.push_back(chunk);
}

const Section* CheckpointFileReader::section(const std::string& table, uint32_t partition) const {
  for (const SectionEntry& entry : sections_) {
    if (entry.section.layout.name == table && entry.section.partition == partition) return &entry.section;
  }
  return nullptr;
}

const CheckpointFileReader::SectionEntry& CheckpointFileReader::entry_of(const Section& section) const {
  for (const SectionEntry& entry : sections_) {
    if (&entry.section == &section) return entry;
  }
  PS_CHECK(false);
}

std::unique_ptr<RowCursor> CheckpointFileReader::rows(const Section& section,
                                                      std::shared_ptr<ChunkBuffers> buffers) const {
  const SectionEntry& at = entry_of(section);
  // A caller without buffers of its own reads this section alone, which can then be read ahead.
  if (!buffers) {
    buffers = std::make_shared<ChunkBuffers>();
    chunks_.read_ahead(at.begin, at.end, *buffers);
  }
  return std::make_unique<SectionRows>(chunks_, at.section, at.begin, at.end, std::move(buffers));
}

std::unique_ptr<KeyCursor> CheckpointFileReader::gone(const Section& section) const {
  const SectionEntry& at = entry_of(section);
  return std::make_unique<SectionGone>(chunks_, at.begin, at.end);
}

// A long state is several chunks with the same name, whose bytes are joined in their order.
std::string CheckpointFileReader::state(const std::string& name) const {
  ChunkBuffers buffers;
  std::string out, piece_name;
  for (size_t chunk : states_.at(name)) out += state_piece(chunks_.read(chunk, buffers), piece_name);
  return out;
}

}  // namespace ps
