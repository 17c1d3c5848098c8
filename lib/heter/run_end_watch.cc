#include "heter/run_end_watch.h"

#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace ps {

RunEndWatch::RunEndWatch(Transport& transport, std::function<RemoteOptions()> remote, Duration patience,
                         Log& log)
    : transport_(transport), remote_(std::move(remote)), patience_(patience), log_(log) {}

void RunEndWatch::rest() {
  channel_.reset();
  answer_.reset();
  moved_ = refused_ = false;
  ended_since_.reset();
}

// Asks the first server over a connection of its own.  The question is a hello that takes no part in the run, so that
// its place among the shards means nothing.
void RunEndWatch::ask() {
  options_ = remote_();
  options_.hello.place = to_json(ShardPlace());
  moved_ = false;
  const Address& server = options_.servers.front();
  ChannelOptions options;
  options.give_up_after = options_.server_timeout;
  options.seed = options_.hello.generation;
  options.connection = alive_within(options_.request_timeout);
  options.on_waiting = [this, server](const std::string& why) {
    options_.on_missing(to_text(server), why);
    if (options_.on_waiting) options_.on_waiting(why);
    moved_ = options_.moved();
  };
  channel_ = std::make_unique<Channel>(transport_, pool_, server, std::move(options));
  channel_->request(static_cast<uint16_t>(Message::kRunEnd),
                    Payload(Hello::spec().to_json(options_.hello).dump()), kNever,
                    [this](Answer answer) { answer_.emplace(std::move(answer)); });
}

// Returns the reason if the answer says that the run is over.  Servers with checkpoints tell its passes,
// which is final.  Others can only say that the last run has ended: that counts when it has been the answer
// for `patience`, and a run that has begun since sets the time back.
std::optional<std::string> RunEndWatch::judge(const RunEnd& end) {
  if (end.passes > 0)
    return cat("the run has ended after ", end.passes, " passes, and nothing is left to train");
  if (!end.ended) {
    ended_since_.reset();
    return std::nullopt;
  }
  const Time now = transport_.loop().now();
  if (!ended_since_) ended_since_ = now;
  if (now < add_time(*ended_since_, patience_)) return std::nullopt;
  return cat("the run has ended, and no reader has come for ", significant(to_seconds(patience_), 3), " s");
}

// One question is under way at a time, with a pause before the next one.  A server that has moved is asked
// again at its new address.  An answer ends the question before it is judged.
std::optional<std::string> RunEndWatch::over() {
  constexpr Duration kPause = std::chrono::seconds(1);  // between questions
  const Time now = transport_.loop().now();
  if (moved_) channel_.reset();
  if (!channel_ && !refused_ && now >= ask_at_) ask();
  if (!answer_) return std::nullopt;
  const Answer answer = *std::exchange(answer_, std::nullopt);
  const std::string server = to_text(channel_->address());
  channel_.reset();
  options_.on_missing(server, "");
  ask_at_ = add_time(now, kPause);
  if (!answer.error) return judge(decode_run_end(answer.frame.body.bytes()));
  if (answer.error->code() == Code::kUnavailable) throw *answer.error;
  refused_ = true;
  log_.warning("server ", quote(server),
               " does not tell whether the run has ended: ", answer.error->message());
  return std::nullopt;
}

}  // namespace ps
