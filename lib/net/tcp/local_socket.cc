#include "net/tcp/local_socket.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace ps {

namespace {

// The largest number of bytes in the socket, few enough to be in a cache still when they are read.
constexpr int kSendBuffer = 250000;

// A file descriptor that is closed unless it is released.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return value_; }
  int release() { return std::exchange(value_, -1); }

 private:
  int value_;
};

struct LocalAddress {
  // The address begins with a zero byte, so that the name is an abstract one.
  explicit LocalAddress(const std::string& name) {
    address.sun_family = AF_UNIX;
    const size_t length = std::min(name.size(), sizeof address.sun_path - 1);
    std::memcpy(address.sun_path + 1, name.data(), length);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }

  sockaddr_un address{};
  socklen_t size;
};

int open_local() {
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &kSendBuffer, sizeof kSendBuffer);
  return descriptor;
}

ucred credentials(int descriptor) {
  ucred peer{.pid = 0, .uid = static_cast<uid_t>(-1), .gid = static_cast<gid_t>(-1)};
  socklen_t size = sizeof peer;
  getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size);
  return peer;
}

}  // namespace

std::string local_name(const std::string& host, uint16_t port) {
  return cat("pskit:", host.empty() ? "*" : host, ":", port);
}

// Returns true if the system would send to the address from the same address, which it does for this machine's
// own addresses.  To other addresses of the loopback device it sends from 127.0.0.1, so these are recognised by
// their first byte.
bool is_own_address(const sockaddr* address, unsigned size) {
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    if (ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET) return true;
  }
  // Connecting a datagram socket sends nothing: it only makes the system choose a route and the address to
  // send from.
  const Descriptor probe(socket(address->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage from{};
  socklen_t from_size = sizeof from;
  if (connect(probe.get(), address, size) < 0) return false;
  if (getsockname(probe.get(), reinterpret_cast<sockaddr*>(&from), &from_size) < 0) return false;
  if (address->sa_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in*>(&from)->sin_addr.s_addr;
  }
  return std::memcmp(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr,
                     &reinterpret_cast<const sockaddr_in6*>(&from)->sin6_addr, sizeof(in6_addr)) == 0;
}

int listen_locally(const std::string& name) {
  const LocalAddress address(name);
  Descriptor socket(open_local());
  if (bind(socket.get(), address.get(), address.size) < 0) return -1;
  return listen(socket.get(), SOMAXCONN) < 0 ? -1 : socket.release();
}

int connect_locally(const std::string& name) {
  const LocalAddress address(name);
  Descriptor socket(open_local());
  if (connect(socket.get(), address.get(), address.size) < 0) return -1;
  // The user of the listening process.
  return credentials(socket.get()).uid == geteuid() ? socket.release() : -1;
}

bool is_from_trusted_user(int descriptor) {
  const uid_t user = credentials(descriptor).uid;
  return user == geteuid() || user == 0;
}

int peer_process(int descriptor) {
  return credentials(descriptor).pid;
}

}  // namespace ps
