#include "data/raw_file.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace ps {

static int open_input(const InputFile& file, const SourceContext& context) {
  if (file.path == "-") return context.stdin_descriptor;
  // Opening a pipe must not block until it has a writer; wait() does that, and can be interrupted.
  int descriptor = open(file.path.c_str(), O_RDONLY | O_CLOEXEC | (file.stream ? O_NONBLOCK : 0));
  if (descriptor < 0) fail_errno(Code::kUsage, "cannot open", file.path, errno);
  return descriptor;
}

RawFile::RawFile(const InputFile& file, const SourceContext& context)
    : name_(file.name()),
      context_(context),
      may_wait_(may_wait(file, context)),
      owned_(file.path != "-"),
      descriptor_(open_input(file, context)),
      head_(file.path == "-" ? context.stdin_head : nullptr) {}

RawFile::~RawFile() {
  if (owned_) close(descriptor_);
}

// Blocks until bytes can be read, the input has ended, or it is interrupted; returns false in the last
// case.  One poll waits for the input and for the interrupt, so that another thread or a signal handler
// ends the wait at once.
bool RawFile::wait() const {
  if (!may_wait_) return true;
  pollfd waits[2] = {{descriptor_, POLLIN, 0},
                     {context_.interrupt ? context_.interrupt->descriptor() : -1, POLLIN, 0}};
  while (poll(waits, 2, -1) < 0) {
    if (errno != EINTR) fail_errno(Code::kUnavailable, "cannot read", name_, errno);
  }
  return waits[1].revents == 0;
}

bool RawFile::ready() const {
  if (head_ && head_used_ < head_->size()) return true;
  pollfd waits = {descriptor_, POLLIN, 0};
  return !may_wait_ || poll(&waits, 1, 0) > 0;
}

size_t RawFile::read_held_head(char* out, size_t size) {
  size = std::min(size, head_->size() - head_used_);
  std::memcpy(out, head_->data() + head_used_, size);
  head_used_ += size;
  if (context_.bytes_read) *context_.bytes_read += size;
  return size;
}

size_t RawFile::read(char* out, size_t size) {
  if (head_ && head_used_ < head_->size()) return read_held_head(out, size);
  while (wait()) {
    ssize_t got = ::read(descriptor_, out, size);
    if (got >= 0) {
      if (context_.bytes_read) *context_.bytes_read += static_cast<uint64_t>(got);
      return static_cast<size_t>(got);
    }
    if (errno != EINTR && errno != EAGAIN) fail_errno(Code::kUnavailable, "cannot read", name_, errno);
  }
  return 0;
}

}  // namespace ps
