#include "data/source.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/decode.h"

namespace ps {

static int make_eventfd() {
  int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0) fail_errno(Code::kExhausted, "cannot make", "eventfd", errno);
  return descriptor;
}

Interrupt::Interrupt() : descriptor_(make_eventfd()) {}

Interrupt::~Interrupt() {
  close(descriptor_);
}

void Interrupt::set() {
  set_.store(true);
  uint64_t one = 1;
  // The write fails only if the counter is full; then the descriptor is readable anyway.
  [[maybe_unused]] ssize_t written = ::write(descriptor_, &one, sizeof one);
}

bool may_wait(const InputFile& file, const SourceContext& context) {
  if (file.path != "-") return file.stream;
  struct stat status;
  return fstat(context.stdin_descriptor, &status) != 0 || !S_ISREG(status.st_mode);
}

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

// Reads as many first bytes of a file as it takes to choose a decoder.
static std::string read_head(RawFile& raw) {
  std::string head;
  while (decoder_needs_more(head)) {
    char bytes[4];
    size_t got = raw.read(bytes, sizeof bytes - head.size());
    if (got == 0) break;
    head.append(bytes, got);
  }
  return head;
}

ByteSource::ByteSource(const InputFile& file, const SourceContext& context)
    : name_(std::make_shared<const std::string>(file.name())),
      raw_(std::make_unique<RawFile>(file, context)) {}

ByteSource::~ByteSource() = default;

size_t ByteSource::read(char* out, size_t size) {
  if (peeked_used_ < peeked_.size()) {
    size_t part = std::min(size, peeked_.size() - peeked_used_);
    std::memcpy(out, peeked_.data() + peeked_used_, part);
    peeked_used_ += part;
    return part;
  }
  if (!decoder_) decoder_ = make_decoder(read_head(*raw_));
  return decoder_->read(*raw_, out, size);
}

bool ByteSource::ready() {
  return peeked_used_ < peeked_.size() || (decoder_ && decoder_->pending()) || raw_->ready();
}

std::string_view ByteSource::peek(bool (*enough)(std::string_view)) {
  std::string head;
  while (!enough(head)) {
    size_t before = head.size();
    head.resize(before + (1 << 16));
    size_t got = read(head.data() + before, head.size() - before);
    head.resize(before + got);
    if (got == 0) break;
  }
  peeked_ = std::move(head);
  peeked_used_ = 0;
  return peeked_;
}

}  // namespace ps
