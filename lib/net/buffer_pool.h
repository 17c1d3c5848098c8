// Memory for the bodies of frames: aligned, reused, and limited.  Used by connections, and by whoever makes
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

// Bytes that begin at a multiple of 64, owned: rows are used where the frame put them.  Goes back to its pool
// when destroyed, on any thread; may outlive the pool.
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

// The budget that the connections of a shard share.  Buffers in use and those that are kept for reuse have
// together at most `max_bytes`, as far as try_take goes.  Any thread.
class BufferPool {
 public:
  // `on_room` is called when something came back after a try_take had been refused, on the thread that gave
  // it back and under the pool's lock: it may only post to a loop.
  explicit BufferPool(uint64_t max_bytes = UINT64_MAX, std::function<void()> on_room = nullptr);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // Nothing when that would pass the budget, or leave less than `spare` bytes of it: for what peers ask for.  Throws
  // kExhausted when the system has no memory.
  std::optional<Buffer> try_take(size_t size, uint64_t spare = 0);

  // Counted, but never refused: for what answers them, which other limits bound.
  Buffer take(size_t size);

  // Counted here from now on, and there no more: for what is held for longer than the other pool's owner can
  // spare it.  Gives the other pool an unused buffer of that size for it, if there is one here.
  void adopt(Buffer& buffer);

  // Returns true when try_take(size) could ever succeed.
  bool fits(size_t size) const;

  uint64_t bytes_in_use() const;
  uint64_t bytes_kept() const;  // for reuse

 private:
  std::shared_ptr<Buffer::Home> home_;
};

}  // namespace ps

#endif  // PS_NET_BUFFER_POOL_H_
