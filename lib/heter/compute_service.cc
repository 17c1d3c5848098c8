#include "heter/compute_service.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/cpu.h"
#include "base/error.h"
#include "base/text.h"
#include "base/wait_stopped.h"
#include "heter/ahead_work.h"
#include "heter/one_batch_work.h"
#include "ps/client/shard_links.h"
#include "ps/wire/run_messages.h"

namespace ps {

namespace {

ServerOptions server_options(const ComputeServiceOptions& of_service) {
  ServerOptions options;
  options.connection = alive_within(of_service.request_timeout);
  options.max_memory_bytes = of_service.arriving_bytes;
  options.max_handshake_bytes = kMostReaderHelloBytes;
  return options;
}

ReaderHello parse_hello(const Frame& frame) {
  const Json json = parse_json(text_of(frame.body.bytes()), "hello");
  ReaderHello hello = ReaderHello::spec().parse(json, "hello");
  if (hello.protocol == kComputeProtocol) return hello;
  fail(Code::kUsage, "protocol version ", hello.protocol, ", this compute trainer speaks ", kComputeProtocol);
}

// Makes the work for the mode of the setup.  `copies` are shared by all readers.
std::shared_ptr<ReaderWork> make_reader_work(const ComputeSetup& setup, const ReaderHello& hello,
                                             HeldBatches& held, SharedCopies& copies) {
  if (!setup.ahead) return std::make_shared<OneBatchWork>(setup, hello, held);
  if (setup.asynchronous) return std::make_shared<AheadWork>(setup, hello, held);
  return std::make_shared<CopiesWork>(setup, hello, held, copies);
}

std::string ranks_text(const std::set<int>& ranks) {
  std::vector<std::string> texts;
  for (int rank : ranks) texts.push_back(std::to_string(rank));
  return join(texts, ", ");
}

}  // namespace

// One connection of a reader.  One owner thread, that of the service.
class ComputeService::ReaderSession final : public Session {
 public:
  ReaderSession(ComputeService& service, SessionLink link) : service_(service), link_(std::move(link)) {}

  // Limits what a peer can make this process receive: before a valid hello only a hello may have a body,
  // and a reader that has ended the run sends no batch any more.  An unknown type gets no limit here, and
  // is refused.
  std::optional<uint64_t> max_body_bytes(uint16_t type) override {
    switch (ComputeFrame{type}) {
      case ComputeFrame::kHello:
        return kMostReaderHelloBytes;
      case ComputeFrame::kBatch:
      case ComputeFrame::kBeginning:
      case ComputeFrame::kAhead:
        return hello_ && !hello_->ends ? kMostBatchBytes : 0;
      case ComputeFrame::kNoData:
        return hello_ && !hello_->ends ? kStepWithoutDataBytes : 0;
      case ComputeFrame::kJoin:
      case ComputeFrame::kStay:
      case ComputeFrame::kEnd:
        return 0;
    }
    return std::nullopt;
  }

  void on_request(Frame frame, Responder& responder) override {
    const ComputeFrame type{frame.header.type};
    if (type == ComputeFrame::kHello) return greet(frame, responder);
    if (!hello_) fail(Code::kAuthentication, "a hello has to come first");
    if (type == ComputeFrame::kEnd) {
      service_.end_run(*hello_);
      return responder.answer(Payload());
    }
    if (hello_->ends) fail(Code::kData, "a batch of a reader that has ended the run");
    const auto work = work_.lock();
    if (!work || work->closed()) fail(Code::kFenced, "another connection has the reader's place");
    work->receive(std::move(frame), responder);
  }

  void on_closed(const Error& reason) override {
    const auto work = work_.lock();
    if (!work || work->closed()) return;
    service_.log_.info("Reader ", work->rank(), " of ", work->trainers(), " is gone: ", reason.message());
    work->close();
  }

 private:
  void greet(const Frame& frame, Responder& responder) {
    if (link_.access() < Access::kTrain) {
      fail(Code::kAuthentication, "this token does not let its owner train");
    }
    if (hello_) fail(Code::kData, "a second hello");
    ReaderHello hello = parse_hello(frame);
    check_hello(hello, service_.setup_);
    if (hello.ends) {
      service_.end_run(hello);
    } else {
      work_ = service_.greet(hello, link_.peer());
    }
    hello_ = std::move(hello);
    link_.establish(cat("reader ", hello_->rank));
    const ComputeWelcome welcome{.cpu = std::string(cpu_level_name(service_.setup_.device.cpu()))};
    responder.answer(Payload(ComputeWelcome::spec().to_json(welcome).dump()));
  }

  ComputeService& service_;
  SessionLink link_;
  std::optional<ReaderHello> hello_;
  // Owned by the service; expired when another connection has the reader's place.
  std::weak_ptr<ReaderWork> work_;
};

ComputeService::ComputeService(const ComputeSetup& setup, const ComputeServiceOptions& options, Log& log)
    : setup_(setup),
      options_(options),
      log_(log),
      server_(setup.transport, options.address, server_options(options),
              [this](SessionLink link) { return std::make_unique<ReaderSession>(*this, std::move(link)); }) {
  if (setup.remote_of_newcomer) {
    watch_.emplace(setup.transport, setup.remote_of_newcomer, options.reader_timeout, log);
  }
}

ComputeService::~ComputeService() = default;

// A reader has one connection.  Work that came over an earlier connection of this rank, and copies for it, are
// of no use any more, so that work is closed.  A hello may be read after the end that the same process has sent
// over another connection; then the reader stays ended.
std::shared_ptr<ReaderWork> ComputeService::greet(const ReaderHello& hello, const std::string& peer) {
  auto work = make_reader_work(setup_, hello, held_, copies_);
  for (const auto& other : works_) {
    if (other->rank() == hello.rank) other->close();
  }
  works_.push_back(work);
  last_hello_ = hello;
  const auto ended = ended_.find(hello.rank);
  if (ended == ended_.end() || ended->second != hello.generation) unfinished_.insert(hello.rank);
  log_.info("Reader ", hello.rank, " of ", hello.trainers, " has come from ", peer);
  return work;
}

void ComputeService::end_run(const ReaderHello& hello) {
  unfinished_.erase(hello.rank);
  ended_[hello.rank] = hello.generation;
  run_ended_ = true;
}

bool ComputeService::any_ready() const {
  return std::ranges::any_of(works_, [](const auto& work) { return work->closed() || work->ready(); });
}

// Called by run(), never by the loop: work holds connections, which the loop itself must not destroy.
void ComputeService::forget_closed() {
  if (works_.empty()) return;
  for (const auto& work : works_) num_batches_ += work->closed() ? work->num_batches() : 0;
  std::erase_if(works_, [](const auto& work) { return work->closed(); });
  none_since_ = setup_.transport.loop().now();
}

// Called in every turn of run().  It has something to do when no reader has been connected for
// reader_timeout, while some have not ended the run.  Without goes_on that is an error.  With it, the
// service ends well if some other reader has ended the run, or still takes part in it at the servers: then
// the others go on without the missing ones.
void ComputeService::check_readers() {
  if (!works_.empty() || unfinished_.empty()) return;
  if (setup_.transport.loop().now() < add_time(none_since_, options_.reader_timeout)) return;
  const std::string missing = cat("no connection from reader ", ranks_text(unfinished_), " for ",
                                  significant(to_seconds(options_.reader_timeout), 3), " s");
  if (!options_.goes_on) throw Error(Code::kUnavailable, missing);
  try {
    if (!run_ended_ && !others_go_on()) throw Error(Code::kUnavailable, "the others are gone too");
  } catch (const WaitStopped&) {
    throw;
  } catch (const Error& error) {
    fail(Code::kUnavailable, missing, "; ", error.message());
  }
  // A reader may have come back while the servers were asked.
  if (!works_.empty()) return;
  log_.info("The others ", run_ended_ ? "have ended the run" : "go on", " without reader ",
            ranks_text(unfinished_));
  run_ended_ = true;
  unfinished_.clear();
}

// Asks the servers which readers have no connection to them, and which they have given up.  Returns true if some
// other reader takes part in the run, or has ended it.  Runs the loop, during which a reader may come back.
bool ComputeService::others_go_on() {
  RemoteOptions remote = setup_.remote(*last_hello_);
  remote.hello.role = "read";  // so that it does not count as a connection of the reader
  remote.in_run = 0;
  ShardLinks links(setup_.transport, std::move(remote));
  const Frame frame = links.call(0, Message::kAbsent, Payload());
  const AbsentRanks absent = decode_absent(frame.body.bytes());
  std::set<int> gone = unfinished_;
  gone.insert(absent.awaited.begin(), absent.awaited.end());
  gone.insert(absent.given_up.begin(), absent.given_up.end());
  for (int rank = 0; rank < last_hello_->trainers; ++rank) {
    if (!gone.contains(rank)) return true;
  }
  return !works_.empty();
}

// Nobody tells a process of the end that has come, or has come again, after it.
bool ComputeService::run_is_over() {
  if (!watch_) return false;
  if (!works_.empty() || !unfinished_.empty()) {
    watch_->rest();
    return false;
  }
  const std::optional<std::string> reason = watch_->over();
  if (reason) log_.info("No reader is here: ", *reason);
  return reason.has_value();
}

// Waits until some work is ready or closed, for kAskStop at most so that `stop` is asked regularly.  Then it
// forgets closed work, checks missing readers, and lets each ready work do one thing.
void ComputeService::run(const std::function<bool()>& stop) {
  constexpr Duration kAskStop = std::chrono::milliseconds(100);
  Loop& loop = setup_.transport.loop();
  while (!stop() && !(run_ended_ && unfinished_.empty())) {
    loop.run_until([this] { return any_ready(); }, add_time(loop.now(), kAskStop));
    forget_closed();
    check_readers();
    if (run_is_over()) break;
    const auto works = works_;  // a copy, since others may come while one connects to servers
    for (const auto& work : works) {
      if (work->closed() || !work->ready()) continue;
      work->advance();
      loop.poll();
    }
  }
  drain();
}

// Gives answers that are on their way a second to be sent, then closes all work.
void ComputeService::drain() {
  constexpr Duration kLongest = std::chrono::seconds(1);
  Loop& loop = setup_.transport.loop();
  server_.drain();
  loop.run_until([this] { return server_.num_connections() == 0; }, add_time(loop.now(), kLongest));
  for (const auto& work : works_) work->close();
  forget_closed();
}

}  // namespace ps
