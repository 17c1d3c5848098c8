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

// Linux's own asynchronous reads and writes, io_submit(2): the disk is told of them by whoever begins them,
// so that they need no thread, for which a busy machine might have no processor.  They are asynchronous for
// files of O_DIRECT, writes where the file has blocks already; others are over when they have begun.  One
// owner thread; one at a time.
class AsyncIo {
 public:
  // Null where the system has, or allows, none.
  static std::unique_ptr<AsyncIo> make();
  ~AsyncIo();  // when nothing is on its way any more
  AsyncIo(const AsyncIo&) = delete;
  AsyncIo& operator=(const AsyncIo&) = delete;

  // Begin to read, or write, memory that must stay until wait.  Return an errno, or 0.
  int read(int file, uint64_t offset, std::span<char> into);
  int write(int file, uint64_t offset, std::string_view bytes);

  // Until what was begun is over, if anything was.
  struct Result {
    int error = 0;       // an errno, or 0
    uint64_t bytes = 0;  // that were read or written
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
