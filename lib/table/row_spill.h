// RowSpill: slabs of rows that were not used for long, on disk.  Shared by the sparse tables of one thread;
// used by RowSlabs and HashedRows.
//
// A block is the memory of one slab, of a page or so.  Each has its own place in one file, from the first
// time that it is written out on: of the file, what is dead are the places of erased rows, which new ones
// get.  Which blocks stay in memory is decided by second chance (the clock): rows that came up together lie
// together, so those of frequent keys, which come up first, have blocks of their own.  A block is read as a
// whole, and is what was written: its checksum stays in memory.
#ifndef PS_TABLE_ROW_SPILL_H_
#define PS_TABLE_ROW_SPILL_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ps {

struct SpillSettings {
  std::string directory;   // none: rows stay in memory
  uint64_t max_bytes = 0;  // of rows in memory
};

// Owner thread only.  Its users end with it, and are not used after.
class RowSpill {
 public:
  static constexpr uint64_t kPage = 4096;
  static constexpr uint64_t kBlockBytes = 64;  // of memory, that a block takes wherever it is

  // The file is in `directory`, without a name, and ends with the process.  Blocks in memory take max_bytes;
  // more when a request needs more at once.  Throws kUsage when there can be no file.
  RowSpill(const std::string& directory, uint64_t max_bytes);
  ~RowSpill();
  RowSpill(const RowSpill&) = delete;
  RowSpill& operator=(const RowSpill&) = delete;

  // Begins a request: blocks pinned before may leave memory.
  void release() { ++request_; }

  // Appends a block to *slabs, in memory and pinned, and returns its number.  *slabs will have null in its
  // place while it is on disk, and *resident_bytes counts those that are not.  Throws kExhausted or
  // kUnavailable when others cannot be written out.
  uint32_t add(std::vector<float*>* slabs, uint64_t* resident_bytes, uint64_t bytes);

  // Keeps a block in memory, from the next load() to the next release(), to be written there.
  void pin(uint32_t block);
  // Throws kExhausted, kUnavailable or kCorrupt; then pinned blocks may not be there.
  void load();

  // Reads `bytes` of a block that is on disk, from `offset` on, into `to`: when the next call of read is
  // over, which throws kUnavailable or kCorrupt.
  void plan_read(uint32_t block, uint64_t offset, uint64_t bytes, float* to);
  void read();

  uint64_t memory_bytes() const { return resident_bytes_ + blocks_.capacity() * sizeof(Block); }
  uint64_t file_bytes() const { return file_bytes_; }
  uint64_t blocks_read() const { return blocks_read_; }
  uint64_t blocks_written() const { return blocks_written_; }

 private:
  static constexpr uint64_t kNowhere = UINT64_MAX;

  struct Block {
    std::vector<float*>* slabs;  // its owner's: (*slabs)[slab] is `memory`
    uint64_t* resident_bytes;    // its owner's
    float* memory;               // null: on disk
    uint32_t slab;
    bool referenced;  // since the hand passed it last
    uint64_t bytes;
    uint64_t place;     // in the file
    uint64_t pinned;    // the last request that did
    uint64_t checksum;  // of what is in the file
  };
  static_assert(sizeof(Block) <= kBlockBytes);

  // A piece of a block to be read.
  struct Read {
    uint32_t block;
    uint64_t offset, bytes;
    float* to;
  };

  void admit(uint32_t number, float* memory);
  void make_room(uint64_t bytes);
  void choose_victims(uint64_t bytes);
  void write_victims();
  void drop_victims();
  void drop_last(size_t blocks);
  void drop(size_t position);
  void flush(uint64_t place);
  void read_block(const Block& block, float* to);

  const std::string directory_;
  const uint64_t max_bytes_;
  int file_ = -1;
  uint64_t file_bytes_ = 0;
  std::vector<Block> blocks_;
  uint64_t request_ = 1;

  std::vector<uint32_t> resident_;  // numbers of blocks in memory, in the order in which the hand goes
  uint64_t resident_bytes_ = 0;
  size_t hand_ = 0;
  uint64_t blocks_read_ = 0, blocks_written_ = 0;

  // During one call.
  std::vector<uint32_t> wanted_;  // pinned, but on disk
  std::vector<size_t> victims_;   // places in resident_
  std::vector<char> staging_;     // blocks that follow each other in the file
  std::vector<Read> reads_;
  std::vector<float> whole_;  // a block of which pieces are read
};

}  // namespace ps

#endif  // PS_TABLE_ROW_SPILL_H_
