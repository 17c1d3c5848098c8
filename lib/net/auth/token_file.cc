#include "net/auth/token_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "base/byte_text.h"
#include "base/error.h"

namespace ps {

namespace {

constexpr size_t kMaxTokenFileBytes = 64 << 10;

constexpr std::array kAccesses = {kStatusAccess, Access::kRead, Access::kTrain, Access::kAdmin};

std::optional<Access> parse_access(std::string_view name) {
  for (Access access : kAccesses) {
    if (access_name(access) == name) return access;
  }
  return std::nullopt;
}

// Parses "train SECRET", with blanks between and around, into `token`.
void parse_token(std::string_view line, const std::string& where, Token& token) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::string_view name = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(name.size());
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  const std::string_view digits = line.substr(0, line.find_last_not_of(kBlanks) + 1);
  const std::optional<Access> access = parse_access(name);
  if (!access) fail(Code::kUsage, where, ": expected 'train', 'read', 'admin' or 'status', then a secret");
  std::optional<std::string> secret = from_hex(digits);
  if (!secret || secret->size() < kMinSecretBytes || secret->size() > kMaxSecretBytes) {
    fail(Code::kUsage, where, ": the secret of '", name, "' is not an even number of hexadecimal digits, ",
         2 * kMinSecretBytes, " to ", 2 * kMaxSecretBytes, " of them: openssl rand -hex 32 makes one");
  }
  token.access = *access;
  token.secret = std::move(*secret);
}

class OpenFile {
 public:
  explicit OpenFile(const std::string& path)
      // O_NONBLOCK keeps the program from waiting for a writer if the path is a pipe, which
      // check_is_private then refuses.
      : path_(path), descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (descriptor_ < 0) fail_errno(Code::kUsage, "cannot open", path, errno);
  }
  ~OpenFile() { close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  // The open file is checked and not its path, which might lead to another file by the time it is read.
  void check_is_private() const {
    struct stat status {};
    if (fstat(descriptor_, &status) != 0) fail_errno(Code::kUsage, "cannot look at", path_, errno);
    if (!S_ISREG(status.st_mode)) fail(Code::kUsage, "token file ", quote(path_), ": not a regular file");
    if (status.st_uid != geteuid() && status.st_uid != 0) {
      fail(Code::kUsage, "token file ", quote(path_), ": belongs to user ", status.st_uid,
           ", expected this user or root");
    }
    if ((status.st_mode & 077) != 0) {
      fail(Code::kUsage, "token file ", quote(path_), ": others than its owner may use it: chmod 600 ",
           path_);
    }
  }

  // Reads at most one byte more than is allowed, which shows that the file is too large.
  std::string read_text() const {
    std::string text(kMaxTokenFileBytes + 1, '\0');
    size_t size = 0;
    while (size < text.size()) {
      const ssize_t count = read(descriptor_, text.data() + size, text.size() - size);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail_errno(Code::kUsage, "cannot read", path_, errno);
      if (count == 0) break;
      size += static_cast<size_t>(count);
    }
    if (size > kMaxTokenFileBytes) {
      fail(Code::kUsage, "token file ", quote(path_), ": larger than ", human_bytes(kMaxTokenFileBytes));
    }
    text.resize(size);
    return text;
  }

 private:
  const std::string path_;
  const int descriptor_;
};

}  // namespace

std::string_view access_name(Access access) {
  if (access == kStatusAccess) return "status";
  return access == Access::kRead ? "read" : access == Access::kTrain ? "train" : "admin";
}

std::vector<Token> parse_tokens(std::string_view text, const std::string& name) {
  std::vector<Token> tokens;
  size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.empty() || line[0] == '#') continue;
    parse_token(line, cat("token file ", quote(name), ":", number), tokens.emplace_back());
  }
  if (tokens.empty()) fail(Code::kUsage, "token file ", quote(name), ": no token in it");
  return tokens;
}

std::vector<Token> read_token_file(const std::string& path) {
  const OpenFile file(path);
  file.check_is_private();
  return parse_tokens(file.read_text(), path);
}

// Returns the first token of the least access that is enough, so that a trainer shows no more rights than
// it needs.
const Token& choose_token(const std::vector<Token>& tokens, Access needed, const std::string& name) {
  const Token* best = nullptr;
  for (const Token& token : tokens) {
    if (token.access < needed || (best != nullptr && best->access <= token.access)) continue;
    best = &token;
  }
  if (best == nullptr) {
    fail(Code::kUsage, "token file ", quote(name), ": no token for '", access_name(needed), "'");
  }
  return *best;
}

}  // namespace ps
