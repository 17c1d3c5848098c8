// The one exception of the project, and the exit statuses it maps to.  Used by everything.
//
// An Error is thrown where a fault is seen, gains context where it passes a boundary, and is caught in three
// places: main, the session of a connection, the loop of a shard.  Messages are lower case, without a full
// stop: what failed, the subject quoted, found against expected, the way out.
#ifndef PS_BASE_ERROR_H_
#define PS_BASE_ERROR_H_

#include <exception>
#include <string>
#include <string_view>

#include "base/text.h"

namespace ps {

// Exit status of a program, and code on the wire: never renumber.
enum class Code {
  kInternal = 1,        // a fault of the program
  kUsage = 2,           // flags or job file
  kData = 3,            // bad input data
  kUnavailable = 4,     // peer gone or silent; may be retried
  kCorrupt = 5,         // checksum, truncation or version of a file
  kExhausted = 6,       // memory, disk, descriptors
  kAuthentication = 7,  // the peer or the system refused the credentials
  kFenced = 8,          // another instance owns this role
  kBelowBar = 9,        // benchmark below its bar
};

// Constant after construction: any thread may read it.
class Error : public std::exception {
 public:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

  // The same error seen from further out: "context: message".
  Error within(std::string_view context) const { return Error(code_, cat(context, ": ", message_)); }

 private:
  Code code_;
  std::string message_;
};

// Throws Error(code, cat(parts...)).
template <class... Parts>
[[noreturn]] void fail(Code code, const Parts&... parts) {
  throw Error(code, cat(parts...));
}

// Throws for a failed system call: "what 'subject': strerror(error)".  No space, no memory and too many files
// are kExhausted, no permission is kAuthentication, else `otherwise`.
[[noreturn]] void fail_errno(Code otherwise, std::string_view what, std::string_view subject, int error);

// Ends the program, printing file and line.  For mistakes of the program only, never for bytes from outside.
[[noreturn]] void abort_check(const char* file, int line, const char* condition);

}  // namespace ps

#define PS_CHECK(condition) ((condition) ? (void)0 : ::ps::abort_check(__FILE__, __LINE__, #condition))

#endif  // PS_BASE_ERROR_H_
