// AsyncIo: a read or a write that goes on while its thread does something else.  Used for files that are
// written, or read, past the system's cache.
#ifndef PS_BASE_ASYNC_IO_H_
#define PS_BASE_ASYNC_IO_H_

#include <linux/aio_abi.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace ps {

// Linux's own asynchronous reads and writes, io_submit(2): the thread that begins one submits it to the disk
// itself, so no helper thread is needed, for which a busy machine might have no processor.  Reads of files
// opened with O_DIRECT are asynchronous, and so are writes to blocks that such a file has already; every
// other call has finished when the function that begins it returns.  One owner thread; one read or write at a
// time.
class AsyncIo {
 public:
  // Returns null where the system does not offer asynchronous I/O, or refuses another context.
  static std::unique_ptr<AsyncIo> make();
  ~AsyncIo();  // waits until no read or write is in flight
  AsyncIo(const AsyncIo&) = delete;
  AsyncIo& operator=(const AsyncIo&) = delete;

  // Begin a read or a write.  Its memory must stay until wait has returned.  Return 0 or an errno.
  int read(int file, uint64_t offset, std::span<char> into);
  int write(int file, uint64_t offset, std::string_view bytes);

  // Blocks until the read or write that was begun has finished; returns at once when none was begun.
  struct Result {
    int error = 0;       // an errno, or 0
    uint64_t bytes = 0;  // bytes read or written
  };
  Result wait();

 private:
  explicit AsyncIo(aio_context_t context) : context_(context) {}

  int start(int operation, int file, uint64_t offset, const char* memory, size_t bytes);

  const aio_context_t context_;
  iocb request_{};
  bool started_ = false;
};

}  // namespace ps

#endif  // PS_BASE_ASYNC_IO_H_
