// AsyncWrite: a write that is on its way to the disk while its thread goes on.  Used by FileSystem's files.
#ifndef PS_BASE_ASYNC_WRITE_H_
#define PS_BASE_ASYNC_WRITE_H_

#include <linux/aio_abi.h>

#include <cstdint>
#include <memory>
#include <string_view>

namespace ps {

// Linux's own asynchronous writes, io_submit(2): the disk is told of them by whoever begins them, so that
// they need no thread, for which a busy machine might have no processor.  They are so for files opened, or
// set, to O_DIRECT, where these have blocks already; others are over when start returns.  One owner thread.
class AsyncWrite {
 public:
  // Null where the system has, or allows, none.
  static std::unique_ptr<AsyncWrite> make();
  ~AsyncWrite();  // when nothing is on its way any more
  AsyncWrite(const AsyncWrite&) = delete;
  AsyncWrite& operator=(const AsyncWrite&) = delete;

  // Begins to write `bytes`, which must stay, as long as none is on its way.  Both return an errno, or 0.
  int start(int file, uint64_t offset, std::string_view bytes);

  // Of what start began: 0 when all of it is written, or nothing was begun.
  int wait();

 private:
  explicit AsyncWrite(aio_context_t context) : context_(context) {}

  const aio_context_t context_;
  iocb request_{};
  bool started_ = false;
};

}  // namespace ps

#endif  // PS_BASE_ASYNC_WRITE_H_
