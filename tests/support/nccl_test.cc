// A library in place of NCCL, for the memory of emulated devices: the functions of lib/collective/nccl_library.h, among
// processes of this machine, over sockets.  Sums run in the order of ranks.  Loaded by ps-train --nccl-library and by unit tests.
//
// NCCL_TEST=FUNCTION:N:WHAT has the N-th call of a function in this process go wrong: `fail` returns an error, `error`
// is one that comes later, `hang` never ends, and `die` kills the process.  NCCL_TEST_VERSION is another version.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collective/nccl_library.h"

namespace ps::nccl_test {
namespace {

enum class Kind : int { kAllReduce, kReduce, kReduceScatter, kAllGather, kBroadcast };

// Ranks compare all but the addresses.
struct Operation {
  Kind kind;
  const void* send;
  void* receive;
  uint64_t count;
  NcclType type;
  int root;

  uint64_t element() const { return type == NcclType::kFloat32 ? sizeof(float) : sizeof(double); }
};

struct Failed {
  NcclResult result;
};

// The memory of a device is closed to the host's own functions in builds with sanitizers, so bytes are copied one by one.
std::vector<char> read_device(const void* from, uint64_t bytes) {
  const volatile char* const source = static_cast<const char*>(from);
  std::vector<char> copy(bytes);
  for (uint64_t i = 0; i < bytes; ++i) copy[i] = source[i];
  return copy;
}

void write_device(void* to, const char* from, uint64_t bytes) {
  volatile char* const target = static_cast<char*>(to);
  for (uint64_t i = 0; i < bytes; ++i) target[i] = from[i];
}

void send_all(int socket, const void* data, uint64_t bytes) {
  for (const char* next = static_cast<const char*>(data); bytes > 0;) {
    const ssize_t sent = send(socket, next, bytes, MSG_NOSIGNAL);
    if (sent <= 0) throw Failed{NcclResult::kRemoteError};
    next += sent, bytes -= static_cast<uint64_t>(sent);
  }
}

void receive_all(int socket, void* data, uint64_t bytes) {
  for (char* next = static_cast<char*>(data); bytes > 0;) {
    const ssize_t got = recv(socket, next, bytes, 0);
    if (got <= 0) throw Failed{NcclResult::kRemoteError};
    next += got, bytes -= static_cast<uint64_t>(got);
  }
}

template <class T>
void add(std::vector<char>& into, const std::vector<char>& other) {
  T* const sums = reinterpret_cast<T*>(into.data());
  const T* const values = reinterpret_cast<const T*>(other.data());
  for (size_t i = 0; i < into.size() / sizeof(T); ++i) sums[i] = static_cast<T>(sums[i] + values[i]);
}

void add(NcclType type, std::vector<char>& into, const std::vector<char>& other) {
  if (type == NcclType::kFloat32) return add<float>(into, other);
  if (type == NcclType::kFloat64) return add<double>(into, other);
  add<uint64_t>(into, other);
}

// The address of a socket that no file stands for.
std::pair<sockaddr_un, socklen_t> address_of(const NcclUniqueId& id) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = id.bytes;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())};
}

// The identities that this process has given out, and the sockets at which their ranks are to come.
struct Listeners {
  std::mutex mutex;
  std::map<std::string, int> sockets;
};

Listeners& listeners() {
  static Listeners all;
  return all;
}

// The planned mishap of this call of a function; empty: none.
std::string mishap(const std::string& function) {
  static std::mutex mutex;
  static std::map<std::string, int> calls;
  const std::lock_guard lock(mutex);
  const std::string begin = function + ":" + std::to_string(++calls[function]) + ":";
  const char* const planned = std::getenv("NCCL_TEST");
  if (planned == nullptr || !std::string(planned).starts_with(begin)) return "";
  const std::string what = std::string(planned).substr(begin.size());
  if (what == "die") std::raise(SIGKILL);
  return what;
}

// A communicator, whose thread does one thing after the other.  Rank 0 is connected with all others, and they with it.
class Handle {
 public:
  Handle(int ranks, const NcclUniqueId& id, int rank, const std::string& what)
      : rank_(rank), size_(ranks), sockets_(static_cast<size_t>(ranks), -1) {
    if (rank == 0) {
      const std::lock_guard lock(listeners().mutex);
      listener_ = listeners().sockets.at(id.bytes);
    }
    begin([this, id] { connect_all(id); }, what);
  }
  ~Handle() {
    end();
    if (thread_.joinable()) thread_.join();
    for (const int socket : sockets_) close(socket);
  }

  NcclResult state() const { return state_; }
  void begin(std::vector<Operation> operations, const std::string& what) {
    begin(
        [this, all = std::move(operations)] {
          for (const Operation& each : all) run(each);
        },
        what);
  }

 private:
  void begin(std::function<void()> work, const std::string& what) {
    if (thread_.joinable()) thread_.join();
    state_ = NcclResult::kInProgress;
    thread_ = std::thread([this, work = std::move(work), what] {
      try {
        if (what == "hang") wait_for_end();
        if (what == "error") throw Failed{NcclResult::kSystemError};
        work();
        state_ = NcclResult::kSuccess;
      } catch (const Failed& failed) {
        state_ = failed.result;
        for (const int socket : sockets_) shutdown(socket, SHUT_RDWR);
      }
    });
  }

  void wait_for_end() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_; });
    throw Failed{NcclResult::kRemoteError};
  }

  // Has all that the thread waits for fail, now and later.
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
    for (const int socket : sockets_) shutdown(socket, SHUT_RDWR);
    if (listener_ >= 0) shutdown(listener_, SHUT_RDWR);
  }

  // The connection with a rank, or with rank 0.
  void keep(int rank, int socket) {
    const std::lock_guard lock(mutex_);
    sockets_.at(static_cast<size_t>(rank)) = socket;
    if (ended_) throw Failed{NcclResult::kRemoteError};
  }

  void connect_all(const NcclUniqueId& id) {
    if (rank_ == 0) return accept_all();
    const auto [address, size] = address_of(id);
    const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool connected = connect(made, reinterpret_cast<const sockaddr*>(&address), size) == 0;
    keep(0, made);
    if (!connected) throw Failed{NcclResult::kRemoteError};
    send_all(made, &rank_, sizeof(rank_));
    char ready;  // all are there
    receive_all(made, &ready, 1);
  }

  void accept_all() {
    for (int n = 1; n < size_; ++n) {
      const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) throw Failed{NcclResult::kSystemError};
      int rank = 0;
      receive_all(socket, &rank, sizeof(rank));
      keep(rank, socket);
    }
    for (int rank = 1; rank < size_; ++rank) send_all(sockets_[static_cast<size_t>(rank)], "", 1);
  }

  // Each rank sends what it gives to rank 0, which sends the result to all.
  void run(const Operation& operation) {
    const bool gives_all = operation.kind == Kind::kReduceScatter;
    const uint64_t part = operation.count * operation.element(), ranks = static_cast<uint64_t>(size_);
    const std::vector<char> own = read_device(operation.send, gives_all ? part * ranks : part);
    std::vector<char> result(operation.kind == Kind::kAllGather || gives_all ? part * ranks : part);
    if (rank_ == 0) {
      result = collect(operation, own);
      for (int rank = 1; rank < size_; ++rank)
        send_all(sockets_[static_cast<size_t>(rank)], result.data(), result.size());
    } else {
      send_all(sockets_[0], &operation, sizeof(operation));
      send_all(sockets_[0], own.data(), own.size());
      receive_all(sockets_[0], result.data(), result.size());
    }
    if (operation.kind == Kind::kReduce && operation.root != rank_) return;
    const uint64_t first = gives_all ? part * static_cast<uint64_t>(rank_) : 0;
    write_device(operation.receive, result.data() + first, gives_all ? part : result.size());
  }

  std::vector<char> collect(const Operation& operation, const std::vector<char>& own) {
    std::vector<char> result = own;
    for (int rank = 1; rank < size_; ++rank) {
      Operation other;
      receive_all(sockets_[static_cast<size_t>(rank)], &other, sizeof(other));
      if (other.kind != operation.kind || other.count != operation.count || other.type != operation.type ||
          other.root != operation.root) {
        throw Failed{NcclResult::kInvalidUsage};
      }
      std::vector<char> given(own.size());
      receive_all(sockets_[static_cast<size_t>(rank)], given.data(), given.size());
      if (operation.kind == Kind::kAllGather) {
        result.insert(result.end(), given.begin(), given.end());
      } else if (operation.kind == Kind::kBroadcast) {
        if (rank == operation.root) result = given;
      } else {
        add(operation.type, result, given);
      }
    }
    return result;
  }

  const int rank_, size_;
  std::vector<int> sockets_;
  int listener_ = -1;
  std::atomic<NcclResult> state_ = NcclResult::kSuccess;
  bool ended_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
};

// The calls between ncclGroupStart and ncclGroupEnd.
struct Group {
  int depth = 0;
  Handle* handle = nullptr;
  std::vector<Operation> operations;
  std::string what;
};

Group& group() {
  static thread_local Group own;
  return own;
}

NcclResult queue(const char* function, void* handle, const Operation& operation) {
  const std::string what = mishap(function);
  if (what == "fail") return NcclResult::kInternalError;
  Group& own = group();
  own.handle = static_cast<Handle*>(handle);
  own.operations.push_back(operation);
  if (!what.empty()) own.what = what;
  if (own.depth > 0) return NcclResult::kSuccess;
  own.handle->begin(std::exchange(own.operations, {}), std::exchange(own.what, {}));
  return NcclResult::kInProgress;
}

}  // namespace
}  // namespace ps::nccl_test

using namespace ps::nccl_test;
using ps::NcclConfig, ps::NcclOperation, ps::NcclResult, ps::NcclType, ps::NcclUniqueId;

extern "C" {

extern const int pskit_nccl_of_emulated_devices;
const int pskit_nccl_of_emulated_devices = 1;

NcclResult ncclGetVersion(int* version) {
  const char* const other = std::getenv("NCCL_TEST_VERSION");
  *version = other == nullptr ? 22809 : std::atoi(other);
  return NcclResult::kSuccess;
}

NcclResult ncclGetUniqueId(NcclUniqueId* id) {
  static std::atomic<int> number = 0;
  if (mishap("ncclGetUniqueId") == "fail") return NcclResult::kSystemError;
  *id = {};
  const std::string name = "pskit-nccl-" + std::to_string(getpid()) + "-" + std::to_string(++number);
  std::memcpy(id->bytes, name.data(), name.size());
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto [address, size] = address_of(*id);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), size) != 0 || listen(listener, 64) != 0) {
    return NcclResult::kSystemError;
  }
  const std::lock_guard lock(listeners().mutex);
  listeners().sockets[name] = listener;
  return NcclResult::kSuccess;
}

NcclResult ncclCommInitRankConfig(void** made, int ranks, NcclUniqueId id, int rank, NcclConfig* config) {
  if (config->size < sizeof(NcclConfig) || config->magic != 0xcafebeef || config->blocking != 0) {
    return NcclResult::kInvalidArgument;
  }
  const std::string what = mishap("ncclCommInitRankConfig");
  if (what == "fail") return NcclResult::kUnhandledCudaError;
  *made = new Handle(ranks, id, rank, what);
  return NcclResult::kInProgress;
}

NcclResult ncclCommGetAsyncError(void* handle, NcclResult* state) {
  *state = static_cast<Handle*>(handle)->state();
  return NcclResult::kSuccess;
}

NcclResult ncclCommFinalize(void*) {
  return NcclResult::kSuccess;
}

NcclResult ncclCommDestroy(void* handle) {
  delete static_cast<Handle*>(handle);
  return NcclResult::kSuccess;
}

NcclResult ncclCommAbort(void* handle) {
  return ncclCommDestroy(handle);
}

const char* ncclGetErrorString(NcclResult result) {
  static const char* const texts[] = {"no error",
                                      "unhandled cuda error",
                                      "unhandled system error",
                                      "internal error",
                                      "invalid argument",
                                      "invalid usage",
                                      "remote process exited or there was a network error",
                                      "operation in progress"};
  return texts[static_cast<size_t>(result)];
}

const char* ncclGetLastError(void*) {
  return "";
}

NcclResult ncclAllReduce(const void* send, void* receive, size_t count, NcclType type, NcclOperation,
                         void* handle, void*) {
  return queue("ncclAllReduce", handle, {Kind::kAllReduce, send, receive, count, type, 0});
}

NcclResult ncclReduce(const void* send, void* receive, size_t count, NcclType type, NcclOperation, int root,
                      void* handle, void*) {
  return queue("ncclReduce", handle, {Kind::kReduce, send, receive, count, type, root});
}

NcclResult ncclReduceScatter(const void* send, void* receive, size_t count, NcclType type, NcclOperation,
                             void* handle, void*) {
  return queue("ncclReduceScatter", handle, {Kind::kReduceScatter, send, receive, count, type, 0});
}

NcclResult ncclAllGather(const void* send, void* receive, size_t count, NcclType type, void* handle, void*) {
  return queue("ncclAllGather", handle, {Kind::kAllGather, send, receive, count, type, 0});
}

NcclResult ncclBroadcast(const void* send, void* receive, size_t count, NcclType type, int root, void* handle,
                         void*) {
  return queue("ncclBroadcast", handle, {Kind::kBroadcast, send, receive, count, type, root});
}

NcclResult ncclGroupStart() {
  ++group().depth;
  return NcclResult::kSuccess;
}

NcclResult ncclGroupEnd() {
  Group& own = group();
  if (--own.depth > 0 || own.operations.empty()) return NcclResult::kSuccess;
  own.handle->begin(std::exchange(own.operations, {}), std::exchange(own.what, {}));
  return NcclResult::kInProgress;
}

}  // extern "C"
