#include "base/async_write.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <vector>

namespace ps {

namespace {

// Contexts that nobody uses: to end one takes the system a hundred times as long as a write, so that the next
// file takes it up.
struct FreeContexts {
  std::mutex mutex;
  std::vector<aio_context_t> contexts;

  static FreeContexts& of_process() {
    static FreeContexts free;
    return free;
  }
};

}  // namespace

std::unique_ptr<AsyncWrite> AsyncWrite::make() {
  FreeContexts& free = FreeContexts::of_process();
  std::lock_guard lock(free.mutex);
  aio_context_t context = 0;
  if (!free.contexts.empty()) {
    context = free.contexts.back();
    free.contexts.pop_back();
  } else if (syscall(SYS_io_setup, 1, &context) != 0) {
    return nullptr;
  }
  return std::unique_ptr<AsyncWrite>(new AsyncWrite(context));
}

AsyncWrite::~AsyncWrite() {
  wait();
  FreeContexts& free = FreeContexts::of_process();
  std::lock_guard lock(free.mutex);
  free.contexts.push_back(context_);
}

int AsyncWrite::start(int file, uint64_t offset, std::string_view bytes) {
  request_ = {};
  request_.aio_lio_opcode = IOCB_CMD_PWRITE;
  request_.aio_fildes = static_cast<uint32_t>(file);
  request_.aio_buf = reinterpret_cast<uint64_t>(bytes.data());
  request_.aio_nbytes = bytes.size();
  request_.aio_offset = static_cast<int64_t>(offset);
  iocb* requests[] = {&request_};
  started_ = syscall(SYS_io_submit, context_, 1, requests) == 1;
  return started_ ? 0 : errno;
}

int AsyncWrite::wait() {
  if (!started_) return 0;
  io_event event{};
  while (syscall(SYS_io_getevents, context_, 1, 1, &event, nullptr) != 1) {
    if (errno != EINTR) return errno;
  }
  started_ = false;
  if (event.res < 0) return static_cast<int>(-event.res);
  return static_cast<uint64_t>(event.res) == request_.aio_nbytes ? 0 : EIO;
}

}  // namespace ps
