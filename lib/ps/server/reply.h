// Reply: the destination of the answer to one request.  Used by Shard and by the objects that answer for it;
// made by ShardSession, and by tests.
#ifndef PS_PS_SERVER_REPLY_H_
#define PS_PS_SERVER_REPLY_H_

#include <memory>
#include <utility>

#include "base/error.h"
#include "net/frame.h"

namespace ps {

// Either answer or fail is called, once.
class Reply {
 public:
  virtual ~Reply() = default;
  virtual void answer(std::shared_ptr<const Payload> payload) = 0;
  virtual void fail(const Error& error) = 0;
  // Gives a piece of the answer to a pull to read.  The payload of `answer` is the last piece then.
  virtual void answer_piece(std::shared_ptr<const Payload> payload) {
    (void)payload;
    PS_CHECK(false);
  }
  virtual bool wanted() const = 0;  // returns false once the connection of the request is gone
  void answer(Payload payload) { answer(std::make_shared<const Payload>(std::move(payload))); }
};
using ReplyPtr = std::unique_ptr<Reply>;

inline bool is_unwanted(const ReplyPtr& reply) {
  return !reply->wanted();
}

}  // namespace ps

#endif  // PS_PS_SERVER_REPLY_H_
