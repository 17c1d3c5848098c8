// Unix sockets beside TCP's ports: who takes them, and that all works where they are not to be had.
#include "net/tcp/local_socket.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>

#include "net/network.h"

namespace ps::local_socket_test {
namespace {

using namespace std::chrono_literals;

class LocalSocketTest : public testing::Test {
 protected:
  std::unique_ptr<Listener> listen(Transport& network, const Address& address) {
    return network.listen(address, [this](std::unique_ptr<Stream> stream) { far_ = std::move(stream); });
  }

  // Returns the listener's name for a peer that connects: "process …" for one over a Unix socket.
  std::string comes_as(Transport& network, const Address& address) {
    near_.reset();
    far_.reset();
    auto attempt = network.connect(address, 5s, [this](std::unique_ptr<Stream> stream, auto error) {
      EXPECT_FALSE(error) << error->what();
      near_ = std::move(stream);
    });
    network.loop().run_until([this] { return near_ && far_; }, add_time(network.loop().now(), 10s));
    return far_ ? far_->peer() : "nobody";
  }

  const std::unique_ptr<Transport> local_owner_ = make_network({.local = true}), tcp_owner_ = make_network();
  Transport& network_ = *local_owner_;
  Transport& with_tcp_only_ = *tcp_owner_;
  std::unique_ptr<Stream> near_, far_;
  const std::string this_process_ = cat("process ", getpid(), " of this machine");
};

bool is_own(const char* text) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(7164);
  if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
    return is_own_address(reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(7164);
  EXPECT_EQ(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
  return is_own_address(reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
}

TEST_F(LocalSocketTest, ANeighbourComesOverIt) {
  const auto listener = listen(network_, {"127.0.0.1", 0});
  EXPECT_EQ(comes_as(network_, listener->address()), this_process_);
  EXPECT_EQ(near_->peer(), to_text(listener->address())) << "that is how messages name it";
}

TEST_F(LocalSocketTest, WhoListensEverywhereIsFoundAtAnyAddress) {
  const auto listener = listen(network_, {"", 0});
  for (const char* host : {"127.0.0.1", "127.0.0.2", "localhost"}) {
    EXPECT_EQ(comes_as(network_, {host, listener->address().port}), this_process_) << host;
  }
}

// Two listeners may have one port, of different addresses.
TEST_F(LocalSocketTest, TheAddressIsPartOfTheName) {
  const auto listener = listen(network_, {"127.0.0.1", 0});
  const auto other = listen(with_tcp_only_, {"127.0.0.2", listener->address().port});
  EXPECT_EQ(connect_locally(local_name("127.0.0.2", listener->address().port)), -1);
  const int connected = connect_locally(local_name("127.0.0.1", listener->address().port));
  EXPECT_GE(connected, 0);
  close(connected);
}

TEST_F(LocalSocketTest, WithoutOneTcpDoes) {
  const auto listener = listen(with_tcp_only_, {"127.0.0.1", 0});
  EXPECT_EQ(connect_locally(local_name("127.0.0.1", listener->address().port)), -1);
  EXPECT_TRUE(comes_as(with_tcp_only_, listener->address()).starts_with("127.0.0.1:"));
}

TEST_F(LocalSocketTest, ANameThatIsTakenIsAsAPortThatIs) {
  const uint16_t port = listen(with_tcp_only_, {"127.0.0.1", 0})->address().port;  // free again
  const int taken = listen_locally(local_name("127.0.0.1", port));
  ASSERT_GE(taken, 0);
  EXPECT_EQ(listen_locally(local_name("127.0.0.1", port)), -1);
  try {
    listen(network_, {"127.0.0.1", port});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnavailable);
    EXPECT_NE(error.message().find(cat("Unix socket beside '127.0.0.1:", port, "'")), std::string::npos)
        << error.message();
  }
  close(taken);
  const auto listener = listen(network_, {"127.0.0.1", port});
  EXPECT_EQ(comes_as(network_, listener->address()), this_process_);
}

// The system notes who listens; only root can be another for a while.
TEST_F(LocalSocketTest, AnotherUsersSocketIsNotTrusted) {
  constexpr uid_t kNobody = 65534;
  const std::string name = local_name("127.0.0.1", 1);
  const bool root = geteuid() == 0;
  if (root) {
    ASSERT_EQ(seteuid(kNobody), 0);
  }
  const int listener = listen_locally(name);
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  ASSERT_GE(listener, 0);
  const int connected = connect_locally(name);
  EXPECT_EQ(connected < 0, root);
  if (connected >= 0) close(connected);
  close(listener);
}

// Anybody may connect to an abstract name; the system notes who does.  Only root can be another for a while.
TEST_F(LocalSocketTest, AnotherUserIsNotLetIn) {
  constexpr uid_t kNobody = 65534;
  const auto listener = listen(network_, {"127.0.0.1", 0});
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = local_name("127.0.0.1", listener->address().port);
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool root = geteuid() == 0;
  if (root) {
    ASSERT_EQ(seteuid(kNobody), 0);
  }
  const int connected = connect(descriptor, reinterpret_cast<const sockaddr*>(&address), size);
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  ASSERT_EQ(connected, 0);
  network_.loop().run_until([this] { return far_ || network_.num_refused() > 0; },
                            add_time(network_.loop().now(), 10s));
  EXPECT_EQ(network_.num_refused(), root ? 1u : 0u);
  EXPECT_EQ(far_ == nullptr, root);
  char byte;
  if (root) {
    EXPECT_EQ(read(descriptor, &byte, 1), 0) << "the end of the stream";
  }
  close(descriptor);
  EXPECT_EQ(comes_as(network_, listener->address()), this_process_) << "its own user still comes";
}

// A process of another user than the listener's would be refused there, also of root's: it comes over TCP.
TEST_F(LocalSocketTest, WhoWouldBeRefusedDoesNotTry) {
  constexpr uid_t kNobody = 65534;
  const std::string name = local_name("127.0.0.1", 2);
  const int listener = listen_locally(name);
  ASSERT_GE(listener, 0);
  const bool root = geteuid() == 0;
  if (root) {
    ASSERT_EQ(seteuid(kNobody), 0);
  }
  const int connected = connect_locally(name);
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  EXPECT_EQ(connected < 0, root);
  if (connected >= 0) close(connected);
  close(listener);
}

TEST_F(LocalSocketTest, AListenerTakesItsNameWithIt) {
  auto listener = listen(network_, {"127.0.0.1", 0});
  const std::string name = local_name("127.0.0.1", listener->address().port);
  EXPECT_EQ(listen_locally(name), -1);
  listener.reset();
  const int again = listen_locally(name);
  EXPECT_GE(again, 0);
  close(again);
}

TEST_F(LocalSocketTest, KnowsTheAddressesOfThisMachine) {
  EXPECT_TRUE(is_own("127.0.0.1"));
  EXPECT_TRUE(is_own("127.1.2.3"));
  EXPECT_FALSE(is_own("192.0.2.1"));  // of no machine: RFC 5737
  EXPECT_FALSE(is_own("2001:db8::1"));
}

}  // namespace
}  // namespace ps::local_socket_test
