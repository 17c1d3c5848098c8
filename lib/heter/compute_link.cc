#include "heter/compute_link.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace ps {

namespace {

// Returns how long one compute trainer is tried.  If there are several, this is short, so that all of them get
// tried within the timeout.
Duration patience(const ComputeLinkOptions& options) {
  constexpr Duration kLongest = std::chrono::seconds(5);
  const auto count = static_cast<int64_t>(options.compute.size());
  return count == 1 ? options.timeout : std::min(kLongest, options.timeout / (2 * count));
}

ChannelOptions channel_options(const ComputeLinkOptions& options, Duration give_up_after, bool ends) {
  ChannelOptions of_channel;
  of_channel.give_up_after = give_up_after;
  of_channel.seed = options.hello.generation;
  of_channel.connection = alive_within(options.request_timeout);
  of_channel.hello_type = static_cast<uint16_t>(ComputeFrame::kHello);
  of_channel.hello = [hello = options.hello, ends]() mutable {
    hello.ends = ends;
    return Payload(ReaderHello::spec().to_json(hello).dump());
  };
  return of_channel;
}

// Sends kEnd to all compute trainers: to number `current` over the channel, if there is one, to the others over new
// ones.
void end_everywhere(Transport& transport, BufferPool& pool, const ComputeLinkOptions& options,
                    std::unique_ptr<Channel> channel, size_t current) {
  constexpr Duration kTry = std::chrono::milliseconds(300), kLongest = std::chrono::seconds(1);
  std::vector<std::unique_ptr<Channel>> channels(options.compute.size());
  channels[current] = std::move(channel);
  size_t waiting = channels.size();
  for (size_t i = 0; i < channels.size(); ++i) {
    if (!channels[i]) {
      channels[i] = std::make_unique<Channel>(transport, pool, options.compute[i],
                                              channel_options(options, kTry, /*ends=*/true));
    }
    channels[i]->request(static_cast<uint16_t>(ComputeFrame::kEnd), Payload(), kNever,
                         [&waiting](Answer) { --waiting; });
  }
  Loop& loop = transport.loop();
  loop.run_until([&waiting] { return waiting == 0; }, add_time(loop.now(), kLongest));
}

Payload shared_payload(const std::shared_ptr<const std::string>& body) {
  Payload payload;
  payload.parts.push_back({body->data(), body->size()});
  payload.keep = body;
  return payload;
}

}  // namespace

// Tries one compute trainer after another until one accepts the hello. go_to_next throws when all were
// tried for long enough.
ComputeLink::ComputeLink(Transport& transport, RemoteStore& store, const std::vector<ParameterSpec>& specs,
                         ComputeLinkOptions options)
    : transport_(transport),
      store_(store),
      specs_(specs),
      options_(std::move(options)),
      patience_(patience(options_)),
      current_(static_cast<size_t>(options_.hello.rank) % options_.compute.size()) {
  for (;;) {
    open();
    store_.wait_for([this] { return given_up_ || channel_->ready(); });
    if (channel_->ready()) return;
    go_to_next(*given_up_);
  }
}

std::string ComputeLink::name() const {
  return cat("compute trainer ", quote(to_text(options_.compute[current_])));
}

void ComputeLink::check_welcome(const Frame& frame) {
  const Json json = parse_json(text_of(frame.body.bytes()), "welcome");
  const ComputeWelcome welcome = ComputeWelcome::spec().parse(json, "welcome");
  if (welcome.cpu == options_.hello.cpu || welcome.cpu == reported_cpu_ || !options_.on_message) return;
  reported_cpu_ = welcome.cpu;
  options_.on_message(cat(name(), " has ", welcome.cpu, " kernels, this reader ", options_.hello.cpu,
                          ": --cpu on all fixes how they round"));
}

void ComputeLink::open() {
  given_up_.reset();
  ChannelOptions options = channel_options(options_, patience_, /*ends=*/false);
  options.on_hello = [this](const Frame& frame) { check_welcome(frame); };
  options.on_waiting = options_.on_message;
  options.on_given_up = [this](const Error& error) { given_up_ = error; };
  channel_ = std::make_unique<Channel>(transport_, pool_, options_.compute[current_], std::move(options));
  channel_->connect();
}

// Returns the time that was lost with the current compute trainer.  One that cannot reach the servers may say
// so at once; therefore this waits for kPause before the next one is asked.
Duration ComputeLink::time_lost(const Error& error) {
  constexpr Duration kPause = std::chrono::milliseconds(300);
  if (error.code() != kServersUnavailable) return patience_;
  Loop& loop = transport_.loop();
  const Time until = add_time(loop.now(), kPause);
  store_.wait_for([&loop, until] { return loop.now() >= until; });
  return loop.now() - asked_at_;
}

// Chooses the next compute trainer, or throws if another one would not help.  If the servers have lost the run,
// it is lost for all compute trainers.  Another one helps only if this one cannot be reached or cannot reach
// the servers.  Each is tried at least once, even after the timeout, since the first may have waited for other
// trainers for long before it failed.
void ComputeLink::go_to_next(const Error& error) {
  if (error.code() == kStateLost) store_.links().lose_run(error.message());
  const bool unavailable = error.code() == Code::kUnavailable || error.code() == kServersUnavailable;
  const Error named(unavailable ? Code::kUnavailable : error.code(), cat(name(), ": ", error.message()));
  if (!unavailable) throw named;
  tried_ += time_lost(error);
  ++num_tried_;
  if (tried_ >= options_.timeout && num_tried_ >= options_.compute.size()) throw named;
  current_ = (current_ + 1) % options_.compute.size();
  if (options_.on_message) options_.on_message(cat(named.message(), "; going on with ", name()));
}

void ComputeLink::request(ComputeFrame type, const std::shared_ptr<const std::string>& body,
                          std::function<void(Answer)> on_answer) {
  asked_at_ = transport_.loop().now();
  channel_->request(static_cast<uint16_t>(type), shared_payload(body), kNever, std::move(on_answer));
}

void ComputeLink::note_success() {
  tried_ = {};
  num_tried_ = 0;
}

void ComputeLink::reconnect(const Error& error) {
  channel_.reset();
  go_to_next(error);
  open();
}

// Sends the batch to one compute trainer after another until one answers it. go_to_next throws when a
// further one would not help, which ends the loop.
Frame ComputeLink::ask(const std::shared_ptr<const std::string>& body) {
  for (;;) {
    answer_.reset();
    request(ComputeFrame::kBatch, body, [this](Answer answer) { answer_.emplace(std::move(answer)); });
    store_.wait_for([this] { return answer_.has_value(); });
    if (!answer_->error) {
      note_success();
      return answer_->take();
    }
    reconnect(*answer_->error);
  }
}

double ComputeLink::run(const PreparedBatch& prepared, std::span<const ParameterView<float>> views) {
  if (options_.asynchronous) store_.finish_pushes();
  const auto body =
      std::make_shared<const std::string>(encode_batch(store_.pushes().next_step(), prepared, specs_, views));
  const Frame frame = ask(body);
  result_ = decode_result(frame.body.bytes(), prepared, options_.sizes, specs_, views);
  return result_.cost();
}

Matrix<const float> ComputeLink::predictions() const {
  const int64_t cols = result_.cols, size = static_cast<int64_t>(result_.predictions.size());
  return {result_.predictions.data(), cols == 0 ? 0 : size / cols, cols};
}

// Sends kEnd to all compute trainers, over new connections where none is ready, and waits a second at most for
// the answers.  A compute trainer that has ended already refuses the connection.  A busy one reads the hello
// with `ends`, or the kEnd, after this process is gone.
void ComputeLink::end_run() {
  if (std::exchange(ended_, true)) return;
  if (channel_ && !channel_->ready()) channel_.reset();
  end_everywhere(transport_, pool_, options_, std::move(channel_), current_);
}

void tell_end_of_run(Transport& transport, const ComputeLinkOptions& options) {
  BufferPool pool;
  end_everywhere(transport, pool, options, nullptr, 0);
}

}  // namespace ps
