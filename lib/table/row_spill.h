// RowSpill: keeps slabs of rows that were not used for long on disk.  Shared by the sparse tables of one
// thread; used by RowSlabs and HashedRows.
//
// A block is the memory of one slab, of a page or so.  When it is first written to disk, it gets a fixed
// place in one file; the only unused bytes of the file are the rows that were erased, and new rows reuse
// them.  The second-chance (clock) algorithm decides which blocks stay in memory.  Rows that were created
// together lie in the same block, so the rows of frequent keys, which occur first, share blocks that stay in
// memory.  A block is read as a whole, and verified against its checksum, which stays in memory.
//
// The record of a block on disk stays in memory: kBlockBytes here, and 12 bytes at its owner.  Records never
// move: the copies of a vector that grows would stay with the allocator, and take as much as the records.
#ifndef PS_TABLE_ROW_SPILL_H_
#define PS_TABLE_ROW_SPILL_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace ps {

struct SpillSettings {
  std::string directory;   // empty: rows stay in memory
  uint64_t max_bytes = 0;  // limit for the rows in memory
};

// Owner thread only.  Tables that use a spill must not be used after it is destroyed.
class RowSpill {
 public:
  static constexpr uint64_t kPage = 4096;
  static constexpr uint64_t kBlockBytes = 26;  // memory for the record of a block, also of one on disk
  static constexpr uint64_t kSeatBytes = 24;   // more for a block in memory

  // The slabs of one partition of a table, which are blocks of `bytes` each.  The element of *slabs is null
  // while its block is on disk; *resident_bytes counts the bytes of blocks in memory.
  struct Owner {
    std::vector<float*>* slabs;
    uint64_t* resident_bytes;
    uint64_t bytes;
  };

  // Makes room for one more element of a vector that becomes large.  If it is full, the room grows by an
  // eighth.
  template <class Element>
  static void reserve_next(std::vector<Element>& all) {
    if (all.size() == all.capacity()) all.reserve(all.size() + all.size() / 8 + 8);
  }

  // Creates an unnamed file in `directory`, which disappears with the process.  Blocks in memory take at most
  // max_bytes, unless a single request needs more.  Throws kUsage if the file cannot be created.
  RowSpill(const std::string& directory, uint64_t max_bytes);
  ~RowSpill();
  RowSpill(const RowSpill&) = delete;
  RowSpill& operator=(const RowSpill&) = delete;

  // Begins a new request: blocks that earlier requests pinned may leave memory.
  void release() { ++request_; }

  // Registers an owner of blocks, and returns its number.
  uint32_t enter(const Owner& owner);

  // Appends a new block to the owner's slabs, in memory and pinned, and returns its number.  Throws kExhausted
  // or kUnavailable when other blocks cannot be written to disk.
  uint32_t add(uint32_t owner);

  // Keeps a block in memory from the next load() to the next release(), so that its rows can be written.
  void pin(uint32_t block);
  // Reads all pinned blocks into memory.  Throws kExhausted, kUnavailable or kCorrupt; pinned blocks may then
  // be missing.
  void load();

  // Plans to read `bytes` of a block on disk, from `offset` on, into `to`.  The next call of read() carries
  // it out; it throws kUnavailable or kCorrupt.
  void plan_read(uint32_t block, uint64_t offset, uint64_t bytes, float* to);
  void read();

  uint64_t memory_bytes() const {
    return resident_bytes_ + blocks_.size() * kBlockBytes + seats_.capacity() * sizeof(Seat);
  }
  uint64_t resident_bytes() const { return resident_bytes_; }  // of blocks in memory
  uint64_t file_bytes() const { return file_bytes_; }
  uint64_t blocks_read() const { return blocks_read_; }

 private:
  static constexpr uint32_t kNowhere = UINT32_MAX;  // page of a block that was never on disk
  // Seat of a block that is not in memory.
  static constexpr uint32_t kOnDisk = UINT32_MAX, kWanted = UINT32_MAX - 1;

  struct Block {
    uint64_t checksum;  // checksum of its bytes in the file
    uint32_t owner, slab;
    uint32_t page;  // the page at which it begins in the file
    uint32_t seat;  // in memory: index into seats_; kWanted: it is on disk, and in wanted_
  };
  // A deque has pieces of about 20 records, each piece with its own header.
  static_assert(sizeof(Block) + 2 == kBlockBytes);

  // A block in memory.
  struct Seat {
    float* memory;
    uint64_t pinned;  // number of the last request that pinned it
    uint32_t block;
    bool referenced;  // used since the hand passed it last
  };
  static_assert(sizeof(Seat) == kSeatBytes);

  // A planned read of some bytes of a block.
  struct Read {
    uint32_t block;
    uint64_t offset, bytes;
    float* to;
  };

  uint64_t bytes_of(const Block& block) const { return owners_[block.owner].bytes; }
  static uint64_t offset_of(const Block& block) { return block.page * kPage; }
  void admit(uint32_t number, float* memory);
  void plan_whole_read(uint32_t number);
  void make_room(uint64_t bytes);
  void choose_victims(uint64_t bytes);
  void write_victims();
  void drop_victims();
  void drop_last(size_t blocks);
  void drop(size_t position);
  void flush(uint64_t offset);
  void read_block(const Block& block, float* to);

  const std::string directory_;
  const uint64_t max_bytes_;
  int file_ = -1;
  uint64_t file_bytes_ = 0;
  std::vector<Owner> owners_;
  std::deque<Block> blocks_;
  uint64_t request_ = 1;

  // The blocks in memory, and the hand of the clock that goes round them.
  std::vector<Seat> seats_;  // of blocks in memory, in the order in which the hand goes
  uint64_t resident_bytes_ = 0;
  size_t hand_ = 0;
  uint64_t blocks_read_ = 0;

  // State during one call.
  std::vector<uint32_t> wanted_;  // blocks that are pinned, but on disk
  std::vector<size_t> victims_;   // positions in seats_
  std::vector<char> staging_;     // blocks to be written together, adjacent in the file
  std::vector<Read> reads_;
  std::vector<float> whole_;  // a whole block, when only some of its bytes are needed
};

}  // namespace ps

#endif  // PS_TABLE_ROW_SPILL_H_
