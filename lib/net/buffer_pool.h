// Memory for the bodies of frames: aligned, reused, and limited.  Used by connections, and by code that makes
// answers.
#ifndef PS_NET_BUFFER_POOL_H_
#define PS_NET_BUFFER_POOL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace ps {

// Owned bytes that begin at a multiple of 64, so that rows are used in the memory of their frame.  A buffer
// returns to its pool when it is destroyed, on any thread; it may outlive the pool.
class Buffer {
 public:
  static constexpr size_t kAlignment = 64;

  Buffer() = default;
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer(std::move(other)).swap(*this);
    return *this;
  }
  ~Buffer();

  char* data() { return data_; }
  const char* data() const { return data_; }
  size_t size() const { return size_; }
  std::span<char> bytes() { return {data_, size_}; }
  std::span<const char> bytes() const { return {data_, size_}; }

 private:
  friend class BufferPool;
  struct Home;

  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(size_class_, other.size_class_);
    std::swap(home_, other.home_);
  }

  char* data_ = nullptr;
  size_t size_ = 0;
  unsigned size_class_ = 0;
  std::shared_ptr<Home> home_;
};

// The memory that the connections of a shard share. try_take keeps used buffers, and those that are kept for
// reuse, together within `max_bytes`.  Any thread.
class BufferPool {
 public:
  // `on_room` is called when a buffer returns after try_take has refused one.  It runs on the thread that
  // returned the buffer, under the pool's lock, so that it may only post to a loop.
  explicit BufferPool(uint64_t max_bytes = UINT64_MAX, std::function<void()> on_room = nullptr);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // Returns nothing if the buffer would exceed the limit, or leave less than `spare` bytes.  For memory that
  // peers ask for.  Throws kExhausted if the system has no memory.
  std::optional<Buffer> try_take(size_t size, uint64_t spare = 0);

  // Returns a buffer that is counted and never refused.  For answers, which other limits bound.
  Buffer take(size_t size);

  // Counts a buffer of another pool as one of this pool from now on, for data that are held for longer than the
  // other pool can spare them.  Gives the other pool an unused buffer of that size in exchange, if there is one
  // here.
  void adopt(Buffer& buffer);

  // Returns true when try_take(size) could ever succeed.
  bool fits(size_t size) const;

  uint64_t bytes_in_use() const;
  uint64_t bytes_kept() const;  // bytes of unused buffers

 private:
  std::shared_ptr<Buffer::Home> home_;
};

}  // namespace ps

#endif  // PS_NET_BUFFER_POOL_H_
