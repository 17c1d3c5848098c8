#include "base/async_io.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error.h"

namespace ps {

namespace {

// Contexts of files that are closed, kept for the next file: destroying one takes the system a hundred times
// as long as a write.
struct FreeContexts {
  std::mutex mutex;
  std::vector<aio_context_t> contexts;

  static FreeContexts& of_process() {
    static FreeContexts free;
    return free;
  }
};

}  // namespace

std::unique_ptr<AsyncIo> AsyncIo::make() {
  FreeContexts& free = FreeContexts::of_process();
  std::lock_guard lock(free.mutex);
  aio_context_t context = 0;
  if (!free.contexts.empty()) {
    context = free.contexts.back();
    free.contexts.pop_back();
  } else if (syscall(SYS_io_setup, 1, &context) != 0) {
    return nullptr;
  }
  return std::unique_ptr<AsyncIo>(new AsyncIo(context));
}

// A context goes to another file only after its request has ended.
AsyncIo::~AsyncIo() {
  wait();
  FreeContexts& free = FreeContexts::of_process();
  std::lock_guard lock(free.mutex);
  free.contexts.push_back(context_);
}

int AsyncIo::read(int file, uint64_t offset, std::span<char> into) {
  return start(IOCB_CMD_PREAD, file, offset, into.data(), into.size());
}

int AsyncIo::write(int file, uint64_t offset, std::string_view bytes) {
  return start(IOCB_CMD_PWRITE, file, offset, bytes.data(), bytes.size());
}

int AsyncIo::start(int operation, int file, uint64_t offset, const char* memory, size_t bytes) {
  PS_CHECK(!started_);
  request_ = {};
  request_.aio_lio_opcode = static_cast<uint16_t>(operation);
  request_.aio_fildes = static_cast<uint32_t>(file);
  request_.aio_buf = reinterpret_cast<uint64_t>(memory);
  request_.aio_nbytes = bytes;
  request_.aio_offset = static_cast<int64_t>(offset);
  iocb* requests[] = {&request_};
  started_ = syscall(SYS_io_submit, context_, 1, requests) == 1;
  return started_ ? 0 : errno;
}

AsyncIo::Result AsyncIo::wait() {
  if (!std::exchange(started_, false)) return {};
  io_event event{};
  // A signal may interrupt the wait; nothing else can make it fail.
  while (syscall(SYS_io_getevents, context_, 1, 1, &event, nullptr) != 1) PS_CHECK(errno == EINTR);
  if (event.res < 0) return {.error = static_cast<int>(-event.res)};
  return {.bytes = static_cast<uint64_t>(event.res)};
}

}  // namespace ps
