#include "net/buffer_pool.h"

#include <sys/mman.h>

#include <array>
#include <bit>
#include <mutex>
#include <new>
#include <vector>

#include "base/error.h"
#include "base/huge_pages.h"

namespace ps {

namespace {

// Sizes are rounded up to four classes an octave from 256 bytes on, so that at most a fifth of a buffer is
// waste, and any buffer of a class serves any size of it.
constexpr unsigned kSmallestBits = 8;
constexpr unsigned kNumClasses = 4 * (48 - kSmallestBits);

// Class c has (4 + c mod 4) 2^(6 + c / 4) bytes: 256, 320, 384, 448, 512, 640 and so on.
size_t class_bytes(unsigned size_class) {
  return (size_t{4} + size_class % 4) << (kSmallestBits - 2 + size_class / 4);
}

// Returns the smallest class of at least `size` bytes.  bit_width gives the octave, and the loop takes at
// most four steps.
unsigned class_of(size_t size) {
  if (size <= size_t{1} << kSmallestBits) return 0;
  unsigned octave = static_cast<unsigned>(std::bit_width(size - 1)) - 1 - kSmallestBits;
  unsigned size_class = 4 * octave;
  while (class_bytes(size_class) < size) ++size_class;
  return size_class;
}

// Buffers from this size on lie on huge pages, if the system has them.
constexpr size_t kWorthHugePages = 2 * HugeArena::kHugePage;

std::align_val_t alignment_of(size_t bytes) {
  return std::align_val_t(bytes < kWorthHugePages ? Buffer::kAlignment : HugeArena::kHugePage);
}

char* new_bytes(size_t bytes) {
  void* data = ::operator new(bytes, alignment_of(bytes), std::nothrow);
  if (data == nullptr) fail(Code::kExhausted, "no memory for ", human_bytes(bytes), " of a frame");
  if (bytes >= kWorthHugePages) madvise(data, bytes, MADV_HUGEPAGE);
  return static_cast<char*>(data);
}

void delete_bytes(char* data, size_t bytes) {
  ::operator delete(data, alignment_of(bytes));
}

}  // namespace

struct Buffer::Home {
  // The limit of the bytes of unused buffers: enough for the traffic of a loop, and little beside a table.
  static constexpr uint64_t kMaxKept = uint64_t{64} << 20;

  explicit Home(uint64_t max) : max_bytes(max) {}
  ~Home() { drop_kept(); }

  // To be called under the mutex, as all functions below.
  void drop_kept() {
    for (unsigned c = 0; c < kNumClasses; ++c) {
      for (char* data : kept[c]) delete_bytes(data, class_bytes(c));
      kept[c].clear();
    }
    kept_bytes = 0;
  }

  // Returns true if the used buffers, this one and `spare` bytes fit into max_bytes.  Kept buffers do not
  // count, since take can drop them.  The differences are arranged so that no sum can overflow.
  bool has_room(uint64_t bytes, uint64_t spare) const {
    if (bytes > max_bytes || used_bytes > max_bytes - bytes) return false;
    return spare <= max_bytes - bytes - used_bytes;
  }

  char* take(unsigned size_class) {
    size_t bytes = class_bytes(size_class);
    char* data;
    if (!kept[size_class].empty()) {
      data = kept[size_class].back();
      kept[size_class].pop_back();
      kept_bytes -= bytes;
    } else {
      // Unused buffers of other classes give way, so that they do not keep memory from a class that needs
      // it.
      if (used_bytes + kept_bytes + bytes > max_bytes) drop_kept();
      data = new_bytes(bytes);
    }
    used_bytes += bytes;
    return data;
  }

  // Counts a buffer of another pool as a used one of this pool.  Returns an unused buffer in exchange, or null.
  char* exchange(unsigned size_class) {
    used_bytes += class_bytes(size_class);
    if (kept[size_class].empty()) return nullptr;
    char* spare = kept[size_class].back();
    kept[size_class].pop_back();
    kept_bytes -= class_bytes(size_class);
    return spare;
  }

  // `data` is null if the memory went to another pool.
  void give_back(char* data, unsigned size_class) {
    size_t bytes = class_bytes(size_class);
    used_bytes -= bytes;
    if (data != nullptr && open && kept_bytes + bytes <= kMaxKept &&
        used_bytes + kept_bytes + bytes <= max_bytes) {
      kept[size_class].push_back(data);
      kept_bytes += bytes;
    } else {
      delete_bytes(data, bytes);
    }
    // try_take has refused a buffer since the last call: the one that came back may be enough for it now.
    if (std::exchange(refused, false) && on_room) on_room();
  }

  const uint64_t max_bytes;
  std::mutex mutex;
  // Guarded by mutex.
  std::function<void()> on_room;
  uint64_t used_bytes = 0, kept_bytes = 0;
  bool refused = false, open = true;
  std::array<std::vector<char*>, kNumClasses> kept;
};

Buffer::~Buffer() {
  if (!home_) return;
  std::lock_guard lock(home_->mutex);
  home_->give_back(data_, size_class_);
}

BufferPool::BufferPool(uint64_t max_bytes, std::function<void()> on_room)
    : home_(std::make_shared<Buffer::Home>(max_bytes)) {
  home_->on_room = std::move(on_room);
}

BufferPool::~BufferPool() {
  std::lock_guard lock(home_->mutex);
  home_->on_room = nullptr;
  home_->open = false;
  home_->drop_kept();
}

std::optional<Buffer> BufferPool::try_take(size_t size, uint64_t spare) {
  if (size != 0) {
    std::lock_guard lock(home_->mutex);
    if (!home_->has_room(class_bytes(class_of(size)), spare)) {
      home_->refused = true;
      return std::nullopt;
    }
  }
  return take(size);
}

Buffer BufferPool::take(size_t size) {
  Buffer buffer;
  if (size == 0) return buffer;
  buffer.size_class_ = class_of(size);
  {
    std::lock_guard lock(home_->mutex);
    buffer.data_ = home_->take(buffer.size_class_);
  }
  buffer.size_ = size;
  buffer.home_ = home_;
  return buffer;
}

// Takes one lock at a time, since two pools may adopt from each other.
void BufferPool::adopt(Buffer& buffer) {
  if (!buffer.home_ || buffer.home_ == home_) return;
  std::shared_ptr<Buffer::Home> from = std::exchange(buffer.home_, home_);
  char* spare;
  {
    std::lock_guard lock(home_->mutex);
    spare = home_->exchange(buffer.size_class_);
  }
  std::lock_guard lock(from->mutex);
  from->give_back(spare, buffer.size_class_);
}

bool BufferPool::fits(size_t size) const {
  return class_bytes(class_of(size)) <= home_->max_bytes;
}

uint64_t BufferPool::bytes_in_use() const {
  std::lock_guard lock(home_->mutex);
  return home_->used_bytes;
}

uint64_t BufferPool::bytes_kept() const {
  std::lock_guard lock(home_->mutex);
  return home_->kept_bytes;
}

}  // namespace ps
