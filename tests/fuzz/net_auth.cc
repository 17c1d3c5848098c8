// Bytes of a stranger to both sides of the authentication, and as a token file: nobody who does not know the
// secret comes through, in whatever pieces the bytes come, and a token out of a file is one.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "net/auth/authentication.h"
#include "net/auth/token_file.h"
#include "stranger_stream.h"

namespace ps {
namespace {

void attack(Handshake& handshake, std::string_view bytes, size_t piece) {
  StrangerStream stream(bytes, piece);
  try {
    for (;;) PS_CHECK(handshake.go_on(stream) != Handshake::Step::kDone);
  } catch (const Error& error) {
    PS_CHECK(error.code() == Code::kAuthentication || error.code() == Code::kUnavailable);
  }
  PS_CHECK(handshake.last_words().size() < 200);
}

void read_tokens(std::string_view text) {
  try {
    for (const Token& token : parse_tokens(text, "tokens")) {
      PS_CHECK(token.secret.size() >= kMinSecretBytes && token.secret.size() <= kMaxSecretBytes);
    }
  } catch (const Error& error) {
    PS_CHECK(error.code() == Code::kUsage && error.message().size() < 200);
  }
}

}  // namespace
}  // namespace ps

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t piece = 1 + data[0] % 64;
  const std::vector<ps::Token> tokens = {{ps::Access::kTrain, std::string(32, 't')},
                                         {ps::Access::kAdmin, std::string(16, 'a')}};
  ps::ServerAuthentication server(std::make_shared<const std::vector<ps::Token>>(tokens));
  ps::attack(server, bytes, piece);
  ps::ClientAuthentication client(tokens[0]);
  ps::attack(client, bytes, piece);
  ps::read_tokens(bytes);
  return 0;
}
