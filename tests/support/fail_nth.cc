// Makes one call of the system fail.  Used by tests/e2e/resources_test.sh in two forms: a library that is preloaded into a
// program (LD_PRELOAD), or, since the address sanitizer must have the only allocator, linked into programs that have it.
//
//   FAIL_KIND=memory|large_memory|exceptions|descriptors|writes|syncs|renames|connects|threads
//                   the calls that are counted, within main
//   FAIL_NTH=N      the one that fails, counted from 1; absent or 0: none.  With large_memory, which are allocations of
//                   32 KiB and more, all fail from then on: memory has run out, but for small things.  With exceptions,
//                   which linked programs have, operator new throws though the program has a reserve (fail_nth_new.cc).
//   FAIL_COUNT=FILE gets the number of calls when main returns
//
// Calls after main are left out: the destructors of nlohmann's JSON, which static objects hold, allocate memory, and may
// not throw.
//
// A failure is one that the system has: no memory, no descriptor left (EMFILE), a full disk (ENOSPC), a disk with a fault
// (EIO), a refused connection (ECONNREFUSED), no thread left (EAGAIN).
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "support/fail_nth.h"

// The address sanitizer's own; absent without it.
extern "C" {
[[gnu::weak]] decltype(accept) __interceptor_accept;
[[gnu::weak]] decltype(accept4) __interceptor_accept4;
[[gnu::weak]] decltype(write) __interceptor_write;
[[gnu::weak]] decltype(pwrite) __interceptor_pwrite;
[[gnu::weak]] decltype(writev) __interceptor_writev;
[[gnu::weak]] int __interceptor_pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                               void* (*body)(void*), void* argument) noexcept;
}

namespace {

using ps::failing::fails;
using ps::failing::Kind;
using enum Kind;

constexpr const char* kNames[] = {"",       "memory", "large_memory", "exceptions", "descriptors",
                                  "writes", "syncs",  "renames",      "connects",   "threads"};
constexpr size_t kLarge = size_t{32} << 10;

// Written once, before main.
Kind counted = kNone;
long nth = 0;
std::atomic<long> calls{0};
std::atomic<bool> in_main{false};

// The function that this file's takes the place of.
template <class Function>
Function* next(const char* name, Function*, std::type_identity_t<Function>* sanitizers = nullptr) {
  return sanitizers != nullptr ? sanitizers : reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool is_file(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

template <class Result>
Result failed(int error, Result result) {
  errno = error;
  return result;
}

void read_environment() {
  const char* kind = std::getenv("FAIL_KIND");
  const char* number = std::getenv("FAIL_NTH");
  if (kind == nullptr) return;
  for (size_t k = 1; k < std::size(kNames); ++k) {
    if (std::strcmp(kind, kNames[k]) == 0) counted = static_cast<Kind>(k);
  }
  nth = number == nullptr ? 0 : std::atol(number);
}

void write_count() {
  const char* path = std::getenv("FAIL_COUNT");
  if (path == nullptr) return;
  if (FILE* file = std::fopen(path, "w")) {
    std::fprintf(file, "%ld\n", calls.load());
    std::fclose(file);
  }
}

using Main = int (*)(int, char**, char**);
Main real_main = nullptr;

int counted_main(int argc, char** argv, char** environment) {
  read_environment();
  in_main = true;
  const int status = real_main(argc, argv, environment);
  in_main = false;
  write_count();
  return status;
}

}  // namespace

namespace ps::failing {

bool fails(Kind kind) {
  if (kind != counted || !in_main.load(std::memory_order_relaxed)) return false;
  return calls.fetch_add(1) + 1 == nth;
}

bool has_no_memory(size_t size) {
  if (counted == kMemory) return fails(kMemory);
  if (counted != kLargeMemory || size < kLarge || !in_main.load(std::memory_order_relaxed)) return false;
  const long call = calls.fetch_add(1) + 1;
  return nth > 0 && call >= nth;
}

}  // namespace ps::failing

extern "C" {

int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(), void (*rtld_fini)(),
                      void* stack_end) {
  real_main = main;
  auto start = next("__libc_start_main", &__libc_start_main);
  return start(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return fails(kDescriptors) ? failed(EMFILE, -1) : next("open", &open)(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return fails(kDescriptors) ? failed(EMFILE, -1) : next("open64", &open64)(path, flags, mode);
}
int socket(int domain, int type, int protocol) {
  return fails(kDescriptors) ? failed(EMFILE, -1) : next("socket", &socket)(domain, type, protocol);
}
int accept(int descriptor, sockaddr* address, socklen_t* size) {
  return fails(kDescriptors) ? failed(EMFILE, -1)
                             : next("accept", &accept, &__interceptor_accept)(descriptor, address, size);
}
int accept4(int descriptor, sockaddr* address, socklen_t* size, int flags) {
  return fails(kDescriptors)
             ? failed(EMFILE, -1)
             : next("accept4", &accept4, &__interceptor_accept4)(descriptor, address, size, flags);
}
int epoll_create1(int flags) {
  return fails(kDescriptors) ? failed(EMFILE, -1) : next("epoll_create1", &epoll_create1)(flags);
}
int eventfd(unsigned int value, int flags) {
  return fails(kDescriptors) ? failed(EMFILE, -1) : next("eventfd", &eventfd)(value, flags);
}
int pipe2(int* ends, int flags) {
  return fails(kDescriptors) ? failed(EMFILE, -1) : next("pipe2", &pipe2)(ends, flags);
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
  if (is_file(descriptor) && fails(kWrites)) return failed<ssize_t>(ENOSPC, -1);
  return next("write", &write, &__interceptor_write)(descriptor, bytes, size);
}
ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t at) {
  if (is_file(descriptor) && fails(kWrites)) return failed<ssize_t>(ENOSPC, -1);
  return next("pwrite", &pwrite, &__interceptor_pwrite)(descriptor, bytes, size, at);
}
ssize_t writev(int descriptor, const iovec* parts, int count) {
  if (is_file(descriptor) && fails(kWrites)) return failed<ssize_t>(ENOSPC, -1);
  return next("writev", &writev, &__interceptor_writev)(descriptor, parts, count);
}

int fsync(int descriptor) {
  return fails(kSyncs) ? failed(EIO, -1) : next("fsync", &fsync)(descriptor);
}
int fdatasync(int descriptor) {
  return fails(kSyncs) ? failed(EIO, -1) : next("fdatasync", &fdatasync)(descriptor);
}
int rename(const char* from, const char* to) {
  return fails(kRenames) ? failed(EIO, -1) : next("rename", &rename)(from, to);
}
int connect(int descriptor, const sockaddr* address, socklen_t size) {
  return fails(kConnects) ? failed(ECONNREFUSED, -1) : next("connect", &connect)(descriptor, address, size);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) {
  if (fails(kThreads)) return EAGAIN;
  return next("pthread_create", pthread_create, &__interceptor_pthread_create)(thread, attributes, body,
                                                                               argument);
}

}  // extern "C"
