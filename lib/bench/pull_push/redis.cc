// Times Redis as a store of rows, where redis-server is installed: a server that was made for other purposes,
// with the same keys.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstring>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/hash.h"
#include "bench/process/child.h"
#include "bench/pull_push/suite.h"

extern char** environ;

namespace ps {

namespace {

// These are the numbers of pull-push/pull/10k-of-16, with four requests in flight, as in the published
// figures of ps-lite (bar_table.cc).
constexpr size_t kWidth = 16, kRowBytes = kWidth * sizeof(float), kKeysOfASet = 10'000, kSets = 32;
constexpr double kRows = 4e6;
constexpr size_t kInFlight = 4;  // number of requests

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

// A blocking socket.  One owner thread.
class RedisSocket {
 public:
  RedisSocket() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (socket_ < 0) fail(Code::kUnavailable, "no socket: ", std::strerror(errno));
  }
  ~RedisSocket() { close(socket_); }
  RedisSocket(const RedisSocket&) = delete;
  RedisSocket& operator=(const RedisSocket&) = delete;

  // Binds the socket to a free port and returns it.
  uint16_t free_port() {
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    if (bind(socket_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      fail(Code::kUnavailable, "no free port: ", std::strerror(errno));
    }
    return ntohs(address.sin_port);
  }

  bool connect_to(uint16_t port) {
    const sockaddr_in address = loopback(port);
    const int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }

  void write_all(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) fail(Code::kUnavailable, "redis-server: ", std::strerror(errno));
      bytes.remove_prefix(static_cast<size_t>(count));
    }
  }

  // Appends the bytes that are there, at most kPiece, and waits for the first of them.
  void read_some(std::string& out) {
    constexpr size_t kPiece = 256 << 10;
    const size_t old = out.size();
    out.resize(old + kPiece);
    const ssize_t count = recv(socket_, out.data() + old, kPiece, 0);
    if (count <= 0) fail(Code::kUnavailable, "redis-server has closed the connection");
    out.resize(old + static_cast<size_t>(count));
  }

 private:
  const int socket_;
};

// A process of redis-server that keeps its data in memory alone and has a port of its own.  It runs as long
// as this object exists.  One owner thread.
class RedisServer {
 public:
  RedisServer() {
    expect_program("redis-server", "it is in Debian's package of this name");
    port_ = RedisSocket().free_port();
    std::vector<std::string> words = {
        "redis-server", "--port", std::to_string(port_), "--bind",  "127.0.0.1", "--save",   "",
        "--appendonly", "no",     "--loglevel",          "warning", "--logfile", "/dev/null"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const int error = posix_spawnp(&process_, arguments[0], nullptr, nullptr, arguments.data(), environ);
    if (error != 0) fail(Code::kUnavailable, "cannot start redis-server: ", std::strerror(error));
  }
  ~RedisServer() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  // Connects to the server, which may not listen yet: tries again for up to 10 s.  Throws kUnavailable
  // after that.
  std::unique_ptr<RedisSocket> connect() const {
    constexpr int kTries = 500;
    for (int i = 0; i < kTries; ++i) {
      auto socket = std::make_unique<RedisSocket>();
      if (socket->connect_to(port_)) return socket;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    fail(Code::kUnavailable, "redis-server does not listen on port ", port_);
  }

 private:
  uint16_t port_ = 0;
  pid_t process_ = 0;
};

// Appends a "bulk string" of Redis's protocol: "$SIZE\r\n", the bytes, "\r\n".  Any bytes may be in it.
void append_bulk(std::string& out, const void* bytes, size_t size) {
  append(out, cat("$", size, "\r\n"));
  out.append(static_cast<const char*>(bytes), size);
  append(out, "\r\n");
}

// row [kWidth] <- the values that Redis has for this key at all times, so that each answer can be checked.
void fill_row(uint64_t key, float* row) {
  for (size_t j = 0; j < kWidth; ++j) row[j] = static_cast<float>((key + j) % 1000);
}

// Returns a command MGET or MSET for these keys, in the protocol of Redis.  A command is an array of bulk
// strings, "*COUNT\r\n", with its name first: MGET key..., or MSET key row key row...
std::string command(std::span<const uint64_t> keys, bool sets) {
  std::string out = cat("*", 1 + keys.size() * (sets ? 2 : 1), "\r\n$4\r\n", sets ? "MSET" : "MGET", "\r\n");
  float row[kWidth];
  for (const uint64_t key : keys) {
    append_bulk(out, &key, sizeof key);
    if (!sets) continue;
    fill_row(key, row);
    append_bulk(out, row, sizeof row);
  }
  return out;
}

// Pulls or overwrites sets of random rows of 16 in Redis, with keys of 8 bytes, four requests ahead.  One
// owner thread.
//
// The commands are written once in the constructor, so that a run times the server and the sockets alone.
// run() keeps up to kInFlight commands ahead of the answers, which come in their order: answer s is read,
// then command s + kInFlight is sent.  A pull compares every row with the known one as it reads it, which
// is little beside the protocol.  A push writes the rows that are there already, so checks hold after any
// number of runs.
class RedisRows final : public Workload {
 public:
  RedisRows(const BenchSettings& settings, bool pushes)
      : pushes_(pushes), rows_(static_cast<uint64_t>(std::max(1.0, settings.scale * kRows))) {
    socket_ = server_.connect();
    load();
    const size_t keys = std::min<size_t>(kKeysOfASet, std::max<uint64_t>(1, rows_ / 4));
    uint64_t draw = 0;
    for (size_t s = 0; s < kSets; ++s) {
      std::vector<uint64_t>& set = sets_.emplace_back();
      while (set.size() < keys) set.push_back(hash_key(++draw) % rows_);
      commands_.push_back(command(set, pushes_));
    }
  }

  void run() override {
    done_ = 0;
    wrong_ = 0;
    for (size_t s = 0; s < std::min(kInFlight, kSets); ++s) socket_->write_all(commands_[s]);
    for (size_t s = 0; s < kSets; ++s) {
      pushes_ ? expect_ok() : read_rows(sets_[s]);
      if (s + kInFlight < kSets) socket_->write_all(commands_[s + kInFlight]);
      done_ += sets_[s].size();
    }
  }

  void check() override {
    if (done_ == 0) fail(Code::kInternal, "no keys went there or back");
    expect_equal("rows that redis has otherwise", wrong_, 0);
  }

  Work work() const override {
    const double keys = static_cast<double>(done_);
    return {.bytes = keys * kRowBytes, .items = keys, .of_limit = keys * kRowBytes};
  }

 private:
  // Writes all rows, kKeysOfASet in a command, and waits for each command.
  void load() {
    std::vector<uint64_t> keys;
    for (uint64_t first = 0; first < rows_; first += keys.size()) {
      keys.clear();
      for (uint64_t key = first; key < std::min(rows_, first + kKeysOfASet); ++key) keys.push_back(key);
      socket_->write_all(command(keys, true));
      expect_ok();
    }
  }

  // Returns the text up to the next end of a line, without its first character, which has to be `kind`.
  std::string_view line(char kind) {
    size_t end;
    while ((end = in_.find("\r\n", at_)) == std::string::npos) more();
    if (in_[at_] != kind) fail(Code::kInternal, "redis-server: ", in_.substr(at_, end - at_));
    const std::string_view text = std::string_view(in_).substr(at_ + 1, end - at_ - 1);
    at_ = end + 2;
    return text;
  }

  void more() {
    in_.erase(0, at_);
    at_ = 0;
    socket_->read_some(in_);
  }

  void expect_ok() {
    if (line('+') != "OK") fail(Code::kInternal, "redis-server has not set the rows");
  }

  // Reads the answer to an MGET: "*COUNT\r\n", then for each key "$64\r\n", its row, "\r\n".  in_ has the
  // bytes from at_ on; more() drops those that were read and appends others.
  void read_rows(std::span<const uint64_t> keys) {
    line('*');
    float expected[kWidth];
    for (const uint64_t key : keys) {
      line('$');
      while (in_.size() - at_ < kRowBytes + 2) more();
      fill_row(key, expected);
      wrong_ += std::memcmp(in_.data() + at_, expected, kRowBytes) != 0;
      at_ += kRowBytes + 2;
    }
  }

  const bool pushes_;
  const uint64_t rows_;
  RedisServer server_;
  std::unique_ptr<RedisSocket> socket_;
  std::vector<std::vector<uint64_t>> sets_;
  std::vector<std::string> commands_;
  std::string in_;  // received bytes; those from at_ on are still to be read
  size_t at_ = 0;
  uint64_t done_ = 0, wrong_ = 0;
};

Benchmark redis_benchmark(const char* name, const char* help, bool pushes) {
  return {
      .name = name,
      .help = help,
      .unit = "keys",
      .make =
          [pushes](const BenchSettings& settings) { return std::make_unique<RedisRows>(settings, pushes); },
      .limit = "limits/tcp/rate"};
}

}  // namespace

std::vector<Benchmark> redis_benchmarks() {
  return {redis_benchmark("pull-push/pull/10k-of-16/redis",
                          "the same by MGET from redis-server, where it is installed, four requests ahead",
                          false),
          redis_benchmark("pull-push/push/10k-of-16/redis",
                          "the same keys written over by MSET: redis does not add", true)};
}

}  // namespace ps
