#include "table/row_spill.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/hash.h"

namespace ps {

namespace {

constexpr std::align_val_t kAlignment{64};  // a cache line, as RowLayout wants it
constexpr size_t kMaxStaging = 1 << 20;

uint64_t whole_pages(uint64_t bytes) {
  return (bytes + RowSpill::kPage - 1) / RowSpill::kPage * RowSpill::kPage;
}

float* allocate(uint64_t bytes) {
  return static_cast<float*>(::operator new(bytes, kAlignment));
}

void release_memory(float* memory) {
  ::operator delete(memory, kAlignment);
}

// Reads exactly `bytes` bytes.  A shorter file is damaged, since the program wrote those bytes itself.
void read_fully(int file, const std::string& directory, uint64_t offset, char* to, uint64_t bytes) {
  while (bytes > 0) {
    const ssize_t got = pread(file, to, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_errno(Code::kUnavailable, "cannot read spilled rows in", directory, errno);
    if (got == 0) fail(Code::kCorrupt, "spilled rows in ", quote(directory), " end at offset ", offset);
    to += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<uint64_t>(got);
  }
}

// Writes all bytes, in as many calls as the system takes for them.
void write_fully(int file, const std::string& directory, uint64_t offset, const char* from, uint64_t bytes) {
  while (bytes > 0) {
    const ssize_t put = pwrite(file, from, bytes, static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    // A file system that takes no bytes and gives no reason would take none the next time either.
    if (put <= 0)
      fail_errno(Code::kUnavailable, "cannot spill rows to", directory, put == 0 ? ENOSPC : errno);
    from += put;
    offset += static_cast<uint64_t>(put);
    bytes -= static_cast<uint64_t>(put);
  }
}

}  // namespace

// The file loses its name at once: the system frees it when the process ends, however it ends.
RowSpill::RowSpill(const std::string& directory, uint64_t max_bytes)
    : directory_(directory), max_bytes_(max_bytes) {
  std::string name = directory + "/ps-spill-XXXXXX";
  file_ = mkostemp(name.data(), O_CLOEXEC);
  if (file_ < 0) fail_errno(Code::kUsage, "cannot make a file in", directory, errno);
  unlink(name.c_str());
}

RowSpill::~RowSpill() {
  for (const Seat& seat : seats_) release_memory(seat.memory);
  close(file_);
}

uint32_t RowSpill::enter(const Owner& owner) {
  owners_.push_back(owner);
  return static_cast<uint32_t>(owners_.size() - 1);
}

// Everything that can throw comes first: room in memory, space in the lists, and the block's memory.  The
// block is listed before its memory is allocated, and is removed again if that fails, so that no error
// leaves half a block behind.
uint32_t RowSpill::add(uint32_t owner_number) {
  const Owner& owner = owners_[owner_number];
  make_room(owner.bytes);
  const uint32_t number = static_cast<uint32_t>(blocks_.size());
  reserve_next(*owner.slabs);
  reserve_next(seats_);
  blocks_.push_back({0, owner_number, static_cast<uint32_t>(owner.slabs->size()), kNowhere, kOnDisk});
  float* memory = nullptr;
  try {
    memory = allocate(owner.bytes);
  } catch (...) {
    blocks_.pop_back();
    throw;
  }
  owner.slabs->push_back(nullptr);
  admit(number, memory);
  return number;
}

// Takes over the memory, and pins the block.  There is room for its seat.
void RowSpill::admit(uint32_t number, float* memory) {
  Block& block = blocks_[number];
  const Owner& owner = owners_[block.owner];
  block.seat = static_cast<uint32_t>(seats_.size());
  seats_.push_back({memory, request_, number, true});
  (*owner.slabs)[block.slab] = memory;
  resident_bytes_ += owner.bytes;
  *owner.resident_bytes += owner.bytes;
}

// A block in memory only gets the number of the request, which keeps the hand of the clock off it.  A block
// on disk goes to wanted_ once; load reads it.
void RowSpill::pin(uint32_t number) {
  Block& block = blocks_[number];
  if (block.seat == kWanted) return;
  if (block.seat == kOnDisk) {
    wanted_.push_back(number);
    block.seat = kWanted;
    return;
  }
  seats_[block.seat].pinned = request_;
  seats_[block.seat].referenced = true;
}

// Wanted blocks count as on disk again before anything can fail.  Room is made for all of them at once;
// then each gets its memory and its seat, and one read fills them all.  If that fails, the seats that were
// added, which are the last ones, are dropped: their memory holds no rows.
void RowSpill::load() {
  if (wanted_.empty()) return;
  const std::vector<uint32_t> wanted = std::exchange(wanted_, {});
  uint64_t bytes = 0;
  for (uint32_t number : wanted) {
    blocks_[number].seat = kOnDisk;
    bytes += bytes_of(blocks_[number]);
  }
  make_room(bytes);
  const size_t before = seats_.size();
  try {
    for (uint32_t number : wanted) plan_whole_read(number);
    read();
  } catch (...) {
    reads_.clear();
    drop_last(seats_.size() - before);
    throw;
  }
  blocks_read_ += wanted.size();
}

// Gives a block on disk its memory, which the next call of read() fills.
void RowSpill::plan_whole_read(uint32_t number) {
  const uint64_t bytes = bytes_of(blocks_[number]);
  reserve_next(seats_);
  reserve_next(reads_);
  float* const memory = allocate(bytes);
  reads_.push_back({number, 0, bytes, memory});
  admit(number, memory);
}

// Undoes the last `blocks` calls of admit.
void RowSpill::drop_last(size_t blocks) {
  for (size_t i = 0; i < blocks; ++i) drop(seats_.size() - 1);
}

// Frees the memory of the block at this position of seats_.  The last seat moves to the position.
void RowSpill::drop(size_t position) {
  Block& block = blocks_[seats_[position].block];
  const Owner& owner = owners_[block.owner];
  release_memory(seats_[position].memory);
  (*owner.slabs)[block.slab] = nullptr;
  resident_bytes_ -= owner.bytes;
  *owner.resident_bytes -= owner.bytes;
  blocks_[seats_.back().block].seat = static_cast<uint32_t>(position);
  block.seat = kOnDisk;  // also if it was the last
  seats_[position] = seats_.back();
  seats_.pop_back();
}

void RowSpill::plan_read(uint32_t number, uint64_t offset, uint64_t bytes, float* to) {
  reads_.push_back({number, offset, bytes, to});
}

// Carries out the planned reads in the order of the file.  It first announces all of them to the system, so
// that the disk can work on them together, and then reads one after the other.  If several pieces of a block
// are planned, the block is read once, into whole_.
void RowSpill::read() {
  std::vector<Read> reads = std::exchange(reads_, {});
  std::sort(reads.begin(), reads.end(),
            [this](const Read& a, const Read& b) { return blocks_[a.block].page < blocks_[b.block].page; });
  const Block* announced = nullptr;
  for (const Read& each : reads) {
    const Block& block = blocks_[each.block];
    if (std::exchange(announced, &block) == &block) continue;
    posix_fadvise(file_, static_cast<off_t>(offset_of(block)), static_cast<off_t>(bytes_of(block)),
                  POSIX_FADV_WILLNEED);
  }
  const Block* held = nullptr;  // the block whose bytes are in whole_
  for (const Read& each : reads) {
    const Block& block = blocks_[each.block];
    if (each.bytes == bytes_of(block)) {
      read_block(block, each.to);
      continue;
    }
    if (held != &block) {
      whole_.resize(bytes_of(block) / sizeof(float));
      read_block(block, whole_.data());
      held = &block;
    }
    std::memcpy(each.to, reinterpret_cast<const char*>(whole_.data()) + each.offset, each.bytes);
  }
}

// The checksum has stayed in memory, so that a damaged disk cannot change it together with the rows.
void RowSpill::read_block(const Block& block, float* to) {
  const uint64_t bytes = bytes_of(block), offset = offset_of(block);
  read_fully(file_, directory_, offset, reinterpret_cast<char*>(to), bytes);
  if (hash_bytes({reinterpret_cast<const char*>(to), bytes}) == block.checksum) return;
  fail(Code::kCorrupt, "spilled rows in ", quote(directory_), " are damaged at offset ", offset);
}

// Writes cold blocks to disk until `bytes` more fit into memory.  It frees at least 1/64 of the memory at
// once, so that writes to the file are large.
void RowSpill::make_room(uint64_t bytes) {
  if (resident_bytes_ + bytes <= max_bytes_) return;
  choose_victims(std::max(resident_bytes_ + bytes - max_bytes_, max_bytes_ / 64));
  write_victims();
  drop_victims();
}

// The second-chance (clock) algorithm.  The hand goes round seats_: a block that was referenced since the
// hand passed it last has its flag cleared; a block that was not becomes a victim.  Stops when the victims
// take `bytes`, or after two rounds, when pinned blocks leave fewer.
void RowSpill::choose_victims(uint64_t bytes) {
  victims_.clear();
  uint64_t chosen = 0;
  for (size_t looked = 0; looked < 2 * seats_.size() && chosen < bytes; ++looked, ++hand_) {
    if (hand_ >= seats_.size()) hand_ = 0;
    Seat& seat = seats_[hand_];
    if (seat.pinned == request_) continue;
    if (!seat.referenced) {
      victims_.push_back(hand_);
      chosen += bytes_of(blocks_[seat.block]);
    }
    seat.referenced = !seat.referenced;  // true for a victim, so that the second round skips it
  }
}

// Gives a place in the file to blocks that have none, and writes the victims in the order of the file.
// Blocks that are adjacent there are collected in staging_ and written at once.
void RowSpill::write_victims() {
  std::vector<uint32_t> numbers;
  for (size_t position : victims_) {
    const uint32_t number = seats_[position].block;
    Block& block = blocks_[number];
    if (block.page == kNowhere) {
      if (file_bytes_ / kPage >= kNowhere) fail(Code::kExhausted, "spilled rows take more than 16 TiB");
      block.page = static_cast<uint32_t>(file_bytes_ / kPage);
      file_bytes_ += whole_pages(bytes_of(block));
    }
    numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end(),
            [this](uint32_t a, uint32_t b) { return blocks_[a].page < blocks_[b].page; });
  uint64_t begin = 0;
  staging_.clear();
  for (uint32_t number : numbers) {
    Block& block = blocks_[number];
    if (offset_of(block) != begin + staging_.size() || staging_.size() >= kMaxStaging) {
      flush(begin);
      begin = offset_of(block);
    }
    // A block is filled up to whole pages with zeros, which the checksum does not cover.
    const std::string_view bytes(reinterpret_cast<const char*>(seats_[block.seat].memory), bytes_of(block));
    staging_.insert(staging_.end(), bytes.begin(), bytes.end());
    block.checksum = hash_bytes({staging_.data() + staging_.size() - bytes.size(), bytes.size()});
    staging_.resize(whole_pages(staging_.size()));
  }
  flush(begin);
}

void RowSpill::flush(uint64_t offset) {
  write_fully(file_, directory_, offset, staging_.data(), staging_.size());
  staging_.clear();
}

void RowSpill::drop_victims() {
  std::sort(victims_.begin(), victims_.end(), std::greater<>());
  for (size_t position : victims_) drop(position);  // from the back, since drop moves the last element
}

}  // namespace ps
