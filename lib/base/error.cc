#include "base/error.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ps {

void fail_errno(Code otherwise, std::string_view what, std::string_view subject, int error) {
  // Errors of what the system lacks, and of what it does not allow, have codes of their own; the code of
  // the caller is for all others.
  Code code = otherwise;
  if (error == ENOSPC || error == ENOMEM || error == EMFILE || error == ENFILE || error == EDQUOT) {
    code = Code::kExhausted;
  } else if (error == EACCES || error == EPERM) {
    code = Code::kAuthentication;
  }
  std::string reason = std::strerror(error);
  if (!reason.empty() && reason[0] >= 'A' && reason[0] <= 'Z') reason[0] = static_cast<char>(reason[0] + 32);
  fail(code, what, " ", quote(subject), ": ", reason);
}

void abort_check(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace ps
