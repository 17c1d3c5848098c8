// RunEndWatch: asks the servers if the run is over, for a compute trainer that no reader tells of it.  Used by
// ComputeService.
#ifndef PS_HETER_RUN_END_WATCH_H_
#define PS_HETER_RUN_END_WATCH_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "net/buffer_pool.h"
#include "net/channel.h"
#include "net/transport.h"
#include "ps/client/shard_links.h"
#include "ps/wire/run_messages.h"

namespace ps {

// The run is over for certain when servers that keep checkpoints tell it of the passes that readers with this job
// would train: such readers would find nothing left to do.  Other servers begin another run with the readers that
// come after the end of one.  There the run counts as over once no reader has come for `patience` after it.
//
// It has a connection only while it waits for an answer.  One owner thread, that of the transport's loop.
class RunEndWatch {
 public:
  // `remote` returns how to reach the servers, with the hello of a reader that would come now; it may wait.  The
  // transport and the log outlive this.
  RunEndWatch(Transport& transport, std::function<RemoteOptions()> remote, Duration patience, Log& log);

  // To be called often while no reader is known.  Begins a question now and then.  Returns the reason, for people,
  // once the run is over.  Throws kUnavailable if the first server cannot be reached for the time that a trainer
  // waits for it.  Servers that refuse the question are not asked again; a warning says why.
  std::optional<std::string> over();

  // To be called while readers are known: forgets all that was heard.
  void rest();

 private:
  void ask();
  std::optional<std::string> judge(const RunEnd& end);

  Transport& transport_;
  const std::function<RemoteOptions()> remote_;
  const Duration patience_;
  Log& log_;
  BufferPool pool_;
  RemoteOptions options_;  // of the question under way
  // The question under way; null: there is none.
  std::unique_ptr<Channel> channel_;
  std::optional<Answer> answer_;
  bool moved_ = false;               // the server has another address now
  bool refused_ = false;             // the servers do not take the question
  Time ask_at_{};                    // the next question is due then
  std::optional<Time> ended_since_;  // the run has ended, and no other has begun, since this time at least
};

}  // namespace ps

#endif  // PS_HETER_RUN_END_WATCH_H_
