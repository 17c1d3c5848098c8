#include "ps/client/shard_links.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "config/spec.h"
#include "ps/wire/run_messages.h"

namespace ps {

struct ShardLinks::Link {
  std::optional<Welcome> welcome;  // the first welcome of the shard
  std::unique_ptr<Channel> channel;
};

// The first shard is greeted alone, since its welcome tells the run, which the hellos to all others name.
// If this run was completed before, the others are not needed.
ShardLinks::ShardLinks(Transport& transport, RemoteOptions options)
    : transport_(transport), options_(std::move(options)) {
  PS_CHECK(!options_.servers.empty());
  find_shards();
  greet(0, 1);
  if (!finished()) greet(1, addresses_.size());
}

ShardLinks::~ShardLinks() = default;

bool ShardLinks::finished() const {
  const uint64_t passes = static_cast<uint64_t>(options_.hello.passes);
  const RunStatus& status = welcome(0).run_status;
  return passes > 0 && (status.finished >= passes || status.ended_early);
}

const Welcome& ShardLinks::welcome(size_t shard) const {
  return *links_[shard]->welcome;
}

// Connects to shards [first, last), and waits until each has welcomed this process.  A channel sends
// requests after the hello, so that an answer to an empty kDescribe shows that the welcome has come.
void ShardLinks::greet(size_t first, size_t last) {
  const auto waiting = std::make_shared<size_t>(last - first);  // answers may come after the wait has thrown
  for (size_t s = first; s < last; ++s) {
    connect(s);
    request(s, Message::kDescribe, Payload(), [waiting](Frame) { --*waiting; });
  }
  wait_for_others([&] { return *waiting == 0; });
}

uint64_t ShardLinks::bytes_sent() const {
  uint64_t bytes = 0;
  for (const auto& link : links_) bytes += link->channel->counters().bytes_sent;
  return bytes;
}

// Returns the options of all channels, also of those that only ask a server for its ports.
ChannelOptions ShardLinks::channel_options(const Address& server) {
  ChannelOptions options;
  options.give_up_after = options_.server_timeout;
  options.seed = options_.hello.generation;
  options.connection = alive_within(options_.request_timeout);
  options.on_waiting = [this, server](const std::string& why) { waits(server, why); };
  // A trainer that waits for one server must learn that another one has lost the run.
  options.on_given_up = [this](const Error& error) {
    if (error.code() == kStateLost && !error_) error_ = error;
  };
  return options;
}

// Called before each attempt to reach an absent server.  It gives up early in two cases: this process was
// told to end some seconds ago, or some server has another address now.  In the latter case the old address
// would never answer, and the caller has to look for the servers again.
void ShardLinks::waits(const Address& server, const std::string& why) {
  constexpr double kLongest = 5;
  options_.on_missing(to_text(server), why);
  if (options_.on_waiting) options_.on_waiting(why);
  if (!error_ && stopping_seconds() >= kLongest) error_ = Error(Code::kUnavailable, why);
  if (error_ || !options_.moved()) return;
  moved_ = true;
  error_ = Error(kStateLost, "a server of the job is at another place now");
}

// Returns the answer of a server, over a channel without a hello, to the request for its ports.
Frame ShardLinks::describe(Channel& channel) {
  std::optional<Answer> answer;
  channel.request(static_cast<uint16_t>(Message::kDescribe), Payload(), kNever,
                  [&answer](Answer got) { answer.emplace(std::move(got)); });
  wait_for_others([&answer] { return answer.has_value(); });
  return answer->take();
}

// Shards are numbered in the order of the servers and of their ports.  The first `dense` ports of a server
// have dense parameters and its last `sparse` ports sparse ones; a port in both ranges has both.  Shards of
// each kind are numbered across all servers, so that their total numbers are known only after the last
// server, and are filled in by the second loop.
void ShardLinks::find_shards() {
  int num_dense = 0, num_sparse = 0;
  for (size_t number = 0; number < options_.servers.size(); ++number) {
    const Address& server = options_.servers[number];
    Channel channel(transport_, pool_, server, channel_options(server));
    const Frame frame = describe(channel);
    options_.on_missing(to_text(server), "");
    std::string name = cat("server ", quote(to_text(server)));
    Json json = parse_json({frame.body.data(), frame.body.size()}, name);
    ServerPorts ports = ServerPorts::spec().parse(json, name);
    const int count = static_cast<int>(ports.ports.size());
    for (int i = 0; i < count; ++i) {
      addresses_.push_back({server.host, static_cast<uint16_t>(ports.ports[static_cast<size_t>(i)])});
      servers_.push_back(static_cast<int>(number));
      ShardPlace& place = places_.emplace_back();
      place.dense = i < ports.dense ? num_dense++ : -1;
      place.sparse = i >= count - ports.sparse ? num_sparse++ : -1;
    }
  }
  for (ShardPlace& place : places_) {
    place.num_dense = num_dense;
    place.num_sparse = num_sparse;
  }
}

// The hello is made anew for each connection of the channel.  It names the run in one of three ways: a
// process that computes for a rank has it from that rank; the first shard is asked for it, with run 0; and
// any other shard gets it from the first shard's welcome.  Only the first welcome of a shard is kept: this
// process resumes from it, and a later one, over a connection that was made again, says nothing new to it.
void ShardLinks::connect(size_t shard) {
  Link& link = *links_.emplace_back(std::make_unique<Link>());
  ChannelOptions options = channel_options(addresses_[shard]);
  options.hello_type = static_cast<uint16_t>(Message::kHello);
  options.hello = [this, &link, shard] {
    Hello hello = options_.hello;
    hello.known = link.welcome.has_value() || options_.in_run != 0;
    hello.server = servers_[shard];
    if (options_.in_run != 0) {
      hello.run = options_.in_run;
      hello.going = true;
    } else if (shard > 0) {
      const RunStatus& first = welcome(0).run_status;
      hello.run = first.run;
      hello.going = first.going;
      hello.recovers = first.recovers;
      hello.checkpoint = first.checkpoint;
    }
    hello.place = to_json(places_[shard]);
    return Payload(Hello::spec().to_json(hello).dump());
  };
  options.on_hello = [this, &link, shard](const Frame& frame) {
    options_.on_missing(to_text(addresses_[shard]), "");
    if (link.welcome) return;
    Json json = parse_json({frame.body.data(), frame.body.size()}, "welcome");
    link.welcome = Welcome::spec().parse(json, "welcome");
  };
  link.channel = std::make_unique<Channel>(transport_, pool_, addresses_[shard], std::move(options));
}

// The answer, or the error in its place, is handled in the loop, where no exception may come out.  The
// first error is kept in error_, and the next wait throws it.  Every request is answered, or gets an error, once.
void ShardLinks::request(size_t shard, Message type, Payload payload, std::function<void(Frame)> on_answer) {
  ++num_unanswered_;
  auto answered = [this, on_answer = std::move(on_answer)](Answer answer) {
    --num_unanswered_;
    try {
      on_answer(answer.take());
    } catch (const Error& error) {
      // If this trainer is to end, it does not fail because others have ended.
      if (error.code() == Code::kFenced && is_stopping()) {
        refused_ = true;
      } else if (!error_) {
        error_ = error;
      }
    }
  };
  links_[shard]->channel->request(static_cast<uint16_t>(type), std::move(payload), kNever,
                                  std::move(answered));
}

// The answer that would end this wait may be among those that were refused.  It is given up only when no other
// answer can come, since a trainer that is to end still saves what it can.
void ShardLinks::wait(const std::function<bool()>& done) {
  bool came = false;
  wait_until([&] { return (came = done()) || (refused_ && num_unanswered_ == 0); }, kNever);
  if (!came) throw WaitStopped();
}

void ShardLinks::wait(const std::function<bool()>& done, double seconds) {
  wait_until(done, add_time(transport_.loop().now(), seconds_duration(seconds)));
}

// Waits in short turns.  After some seconds it asks for trainers that are absent, less and less often.  When this
// process is told to end, it goes on waiting for half a second: trainers of a job are told to end at about the
// same time, and messages that are on their way then still arrive, so that all trainers end after the same
// step.
void ShardLinks::wait_for_others(const std::function<bool()>& done) {
  constexpr double kAskStop = 0.1, kLonger = 0.5;
  const Time begin = transport_.loop().now();
  Duration ask_after = std::chrono::seconds(3);
  bool came = false;
  for (;;) {
    wait([&] { return came = done(); }, kAskStop);
    if (came) return;
    if (check_others_) check_others_();
    if (stopping_seconds() >= kLonger) throw WaitStopped();
    if (transport_.loop().now() - begin < ask_after) continue;
    ask_after *= 3;
    ask_absent();
  }
}

// Asks the first shard, which knows the ranks without a connection, and reports them.  Without an answer it
// reports nothing.
void ShardLinks::ask_absent() {
  if (links_.empty() || !links_[0]->welcome || !options_.on_waiting) return;
  links_[0]->channel->request(
      static_cast<uint16_t>(Message::kAbsent), Payload(), kNever, [this](Answer answer) {
        try {
          const Frame frame = answer.take();
          std::vector<std::string> ranks;
          for (int rank : decode_absent(frame.body.bytes()).awaited) ranks.push_back(std::to_string(rank));
          if (ranks.empty()) return;
          options_.on_waiting(
              cat("trainer ", join(ranks, ", "), " of ", options_.hello.ranks(), " is not there"));
        } catch (const Error&) {
          return;
        }
      });
}

// Returns the seconds since the patience of this process ended, which begins when it is first seen to be told to end; 0 until
// then.
double ShardLinks::stopping_seconds() {
  if (!is_stopping()) return 0;
  const Time now = transport_.loop().now();
  if (!stopping_since_) stopping_since_ = now;
  return std::max(0.0, to_seconds(now - *stopping_since_ - options_.stop_patience));
}

// The loop receives messages during this wait.  The time that the thread used the processor for them does
// not count as waiting.  An error is thrown as what it means for the caller: the run is lost, the servers
// are to be looked for again, or a peer is gone.  Once there is an error, every further wait throws it.
void ShardLinks::wait_until(const std::function<bool()>& done, Time deadline) {
  if (!error_ && done()) return;
  const double start = monotonic_seconds(), start_cpu = thread_cpu_seconds();
  transport_.loop().run_until([&] { return error_ || done(); }, deadline);
  const double busy = thread_cpu_seconds() - start_cpu;
  waited_seconds_ += std::max(0.0, monotonic_seconds() - start - busy);
  if (!error_) return;
  const bool takes_part = !links_.empty() && links_[0]->welcome;
  if (moved_ && !takes_part) throw ServersMoved(error_->message());
  if (error_->code() == kStateLost) lose_run(error_->message());
  // For the caller, a run that cannot go on is the same as a peer that is gone.
  if (error_->code() == Code::kFenced) throw Error(Code::kUnavailable, error_->message());
  throw *error_;
}

// A process that takes no part in a run yet has lost nothing: its first hello may meet a shard that is about to
// drop the run.  It looks for the servers again.
void ShardLinks::lose_run(const std::string& why) {
  const bool takes_part = !links_.empty() && links_[0]->welcome;
  if (!takes_part && options_.in_run == 0) throw ServersMoved(why);
  const RunStatus first = takes_part ? welcome(0).run_status : RunStatus();
  throw StateLost(first.run, first.checkpointed, why);
}

Frame ShardLinks::call(size_t shard, Message type, Payload payload) {
  const auto answer = std::make_shared<std::optional<Frame>>();  // it may come after `wait` has thrown
  request(shard, type, std::move(payload), [answer](Frame frame) { answer->emplace(std::move(frame)); });
  wait([&answer] { return answer->has_value(); });
  return std::move(**answer);
}

}  // namespace ps
