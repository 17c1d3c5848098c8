#include "collective/net/rendezvous.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "collective/blame.h"
#include "net/backoff.h"

namespace ps {

namespace {

// The time in which a link must deliver some bytes, or say_goodbye cuts it.
constexpr Duration kGoodbye = std::chrono::seconds(1);

// The largest number of connections that have not sent a hello, in addition to those of ranks.
constexpr size_t kMaxStrangers = 1024;

using Links = std::vector<std::unique_ptr<RankLanes>>;

// "4 connections", or "4 connections, of which it measures how many to use,".
std::string lanes_text(int num, bool measures) {
  return cat(num, num == 1 ? " connection" : " connections",
             measures ? ", of which it measures how many to use," : "");
}

// The meeting of all ranks, as seen by one of them.  Rank 0 hosts it: it greets strangers and tells the others
// which ranks are missing, until all have come.  The other ranks connect to rank 0, wait for the addresses of
// all, connect to lower ranks, and greet higher ones; then come the further connections to rank 0, if there are any.
// One owner thread, which runs the loop.
class Meeting {
 public:
  Meeting(Transport& transport, BufferPool& pool, const NetCommunicatorOptions& options)
      : transport_(transport),
        loop_(transport.loop()),
        pool_(pool),
        options_(options),
        num_lanes_(num_opened(options)),
        begin_(loop_.now()),
        links_(static_cast<size_t>(options.size)),
        addresses_(static_cast<size_t>(options.size)) {
    for (int rank = 0; rank < options.size; ++rank) {
      if (rank != options.rank) links_[static_cast<size_t>(rank)] = std::make_unique<RankLanes>(num_lanes_);
    }
  }

  // On an error the links that there are carry it to the other ranks, until the end of join_timeout; then
  // it is thrown here.
  Links run() {
    try {
      if (options_.rank == 0) {
        host();
      } else {
        join_others();
      }
    } catch (const Error& error) {
      for (const auto& link : links_) {
        if (link != nullptr) link->give_up(error);
      }
      say_goodbye(loop_, links_, add_time(begin_, options_.join_timeout));
      throw;
    }
    return std::move(links_);
  }

 private:
  // The last eighth of the time is reserved for telling the others.
  Time deadline() const { return add_time(begin_, options_.join_timeout / 8 * 7); }
  RankLanes* link(int rank) const { return links_[static_cast<size_t>(rank)].get(); }
  bool is_missing(int rank) const { return rank != options_.rank && !link(rank)->whole(); }
  std::string seconds_text() const { return cat(to_seconds(options_.join_timeout), " s"); }

  std::vector<int> missing() const {
    return ranks_of([this](int rank) { return is_missing(rank); });
  }

  // Returns the ranks of which there is no connection yet over which they are told anything.
  std::vector<int> absent() const {
    return ranks_of([this](int rank) { return rank != options_.rank && !link(rank)->has_lane(0); });
  }

  template <class Is>
  std::vector<int> ranks_of(const Is& is) const {
    std::vector<int> ranks;
    for (int rank = 0; rank < options_.size; ++rank) {
      if (is(rank)) ranks.push_back(rank);
    }
    return ranks;
  }

  // Runs the loop until done(), and returns true, or until the deadline, and returns false.  Throws if a rank
  // that had come is gone.
  bool wait(const std::function<bool()>& done) {
    auto gone = [](const auto& link) { return link && (link->gave_up() || link->lost()); };
    loop_.run_until([&] { return std::ranges::any_of(links_, gone) || done(); }, deadline());
    for (int rank = 0; rank < options_.size; ++rank) {
      if (gone(links_[static_cast<size_t>(rank)])) fail_gone(rank);
    }
    return done();
  }

  [[noreturn]] void fail_gone(int rank) const {
    const RankLanes& gone = *link(rank);
    if (gone.gave_up()) throw gone.gave_up()->within(rank_text(rank, gone));
    throw Error(Code::kUnavailable, cat(rank_text(rank, gone), " is gone: ", gone.loss().message()));
  }

  [[noreturn]] void fail_missing(const std::vector<int>& ranks) const {
    fail(Code::kUnavailable, ranks_text(ranks), ranks.size() == 1 ? " has" : " have", " not come within ",
         seconds_text(), refused_.empty() ? "" : "; refused was ", refused_);
  }

  void listen(const Address& address) {
    listener_ = transport_.listen(address, [this](std::unique_ptr<Stream> stream) {
      if (strangers_.size() >= kMaxStrangers + static_cast<size_t>(options_.size * num_lanes_)) return;
      strangers_.push_back(
          std::make_unique<RankLink>(loop_, pool_, std::move(stream), RankLink::Trust::kStranger));
    });
  }

  // ---- strangers

  bool stranger_spoke() const {
    return std::ranges::any_of(strangers_, [](const auto& each) { return each->has_frame(); });
  }

  // Turns strangers that have sent a hello into connections to ranks, or refuses them with a reason.  Returns true if
  // there is a new connection.
  bool greet_strangers() {
    bool any = false;
    // A connection that has closed after its hello is still greeted, so that its rank counts as gone;
    // without a hello it is forgotten.
    std::erase_if(strangers_, [](const auto& each) { return !each->open() && !each->has_frame(); });
    for (auto& stranger : strangers_) {
      if (!stranger->has_frame()) continue;
      const Frame frame = stranger->take_frame();
      try {
        const RankHello hello = decode_rank_hello(text_of(frame.body.bytes()));
        check(hello);
        any = true;
        welcome(hello, std::move(stranger));
      } catch (const Error& error) {
        refused_ = cat(quote(stranger->peer()), ": ", error.message());
        stranger->give_up(error);
      }
    }
    std::erase(strangers_, nullptr);
    return any;
  }

  void check(const RankHello& hello) const {
    if (hello.job != options_.job) {
      fail(Code::kUsage, "rank ", hello.rank, " is of job ", quote(hello.job), ", expected ",
           quote(options_.job));
    }
    if (hello.size != options_.size) {
      fail(Code::kUsage, "rank ", hello.rank, " is one of ", hello.size, " ranks, expected ", options_.size);
    }
    if (hello.fingerprint != options_.fingerprint) {
      fail(Code::kUsage, "rank ", hello.rank, " runs another configuration of job ", quote(options_.job));
    }
    if (hello.session != session_) fail(Code::kUsage, "rank ", hello.rank, " is of another run");
    // After this check hello.lane, which is below hello.lanes, is an index of a lane here too.
    if (hello.lanes != num_lanes_ || hello.measures != options_.measures_connections()) {
      fail(Code::kUsage, "rank ", hello.rank, " has ", lanes_text(hello.lanes, hello.measures),
           " to each other rank, expected ", lanes_text(num_lanes_, options_.measures_connections()));
    }
    if (hello.rank <= options_.rank || link(hello.rank)->has_lane(hello.lane)) {
      fail(Code::kUsage, "rank ", hello.rank, " is taken");
    }
  }

  // A rank that listens at all of its addresses is reached by others where rank 0 sees it.
  void welcome(const RankHello& hello, std::unique_ptr<RankLink> stranger) {
    Address& address = addresses_[static_cast<size_t>(hello.rank)];
    address = hello.listens;
    if (address.host.empty()) address.host = parse_address(stranger->peer(), 1).host;
    stranger->trust();
    link(hello.rank)->set_lane(hello.lane, std::move(stranger));
  }

  // ---- rank 0

  // The first loop ends when each rank has come once: until then every new rank shortens the list of
  // missing ranks, which send_roster tells all of them, and the last roster has the addresses.  Ranks then
  // open their further connections to rank 0, which the second loop waits for.
  void host() {
    if (options_.size == 1) return;
    listen(options_.rendezvous);
    if (options_.on_listening) options_.on_listening(listener_->address());
    while (!absent().empty()) {
      if (!wait([this] { return stranger_spoke(); })) fail_missing(absent());
      if (greet_strangers()) send_roster();
    }
    while (!missing().empty()) {
      if (!wait([this] { return stranger_spoke(); })) fail_missing(missing());
      greet_strangers();
    }
  }

  // Tells all ranks which ranks are missing, so that they can name them in their errors too; or the addresses
  // and the session when all have come.
  void send_roster() {
    Roster roster;
    roster.missing = absent();
    if (roster.missing.empty()) {
      // A session of 0 stands for a rank that does not know it yet.
      session_ = std::max<uint64_t>(hash_bytes(options_.job, options_.nonce), 1);
      roster.session = session_;
      roster.addresses = addresses_;
    }
    const std::string body = encode_roster(roster);
    for (const auto& each : links_) {
      if (each != nullptr && each->has_lane(0)) each->send(RankFrame::kRoster, body);
    }
  }

  // ---- the other ranks

  // Rank 0 tells the addresses only when all ranks listen, so that no rank connects too early.  Each rank
  // connects to those below it and waits for those above it, so that two ranks have one set of connections,
  // no matter which of them is faster.
  void join_others() {
    listen(options_.listen);
    introduce(0, 0, connect_to_host());
    await_roster();
    for (int rank = 0; rank < options_.rank; ++rank) {
      for (int lane = rank == 0 ? 1 : 0; lane < num_lanes_; ++lane) connect(rank, lane);
    }
    while (!missing().empty()) {
      if (!wait([this] { return stranger_spoke() || !connected_.empty(); })) fail_missing(missing());
      introduce_connected();
      greet_strangers();
    }
  }

  // Makes the stream a connection to this rank.
  void introduce(int rank, int lane, std::unique_ptr<Stream> stream) {
    auto made = std::make_unique<RankLink>(loop_, pool_, std::move(stream), RankLink::Trust::kTrusted);
    made->send(RankFrame::kHello, encode_rank_hello({.rank = options_.rank,
                                                     .size = options_.size,
                                                     .session = session_,
                                                     .fingerprint = options_.fingerprint,
                                                     .lane = lane,
                                                     .lanes = num_lanes_,
                                                     .measures = options_.measures_connections(),
                                                     .listens = listener_->address(),
                                                     .job = options_.job}));
    link(rank)->set_lane(lane, std::move(made));
  }

  // Tries until rank 0 listens at the rendezvous.  Throws at once after an error that another try would not
  // change, such as a wrong token.
  std::unique_ptr<Stream> connect_to_host() {
    // The delays are drawn from the rank, so that ranks of a large job do not all try at the same moments.
    Backoff backoff({.longest = std::chrono::seconds(1)}, Random(options_.nonce, options_.rank));
    std::optional<Error> last_error;
    while (loop_.now() < deadline()) {
      // One attempt after the other, with a pause between them that grows up to a second.  Meanwhile `wait`
      // also notices connections of other ranks that are gone.
      std::unique_ptr<Stream> stream;
      bool answered = false;
      auto attempt = transport_.connect(options_.rendezvous, deadline() - loop_.now(),
                                        [&](std::unique_ptr<Stream> made, std::optional<Error> error) {
                                          answered = true;
                                          stream = std::move(made);
                                          if (error) last_error = error;
                                        });
      wait([&] { return answered; });
      if (stream != nullptr) return stream;
      if (last_error && last_error->code() != Code::kUnavailable) {
        throw last_error->within(cat("rank 0 at ", quote(to_text(options_.rendezvous))));
      }
      pause(backoff.next());
    }
    fail(Code::kUnavailable, "rank 0 at ", quote(to_text(options_.rendezvous)), " has not come within ",
         seconds_text(), last_error ? ": " : "", last_error ? last_error->message() : "");
  }

  void pause(Duration duration) {
    bool over = false;
    Timer timer(loop_, [&over] { over = true; });
    timer.start_after(duration);
    wait([&over] { return over; });
  }

  // Reads rosters until one has no missing ranks.  The last one that names missing ranks is kept for the
  // error, which so blames them and not rank 0.
  void await_roster() {
    std::vector<int> absent;
    while (true) {
      if (!wait([this] { return link(0)->has_frame(); })) {
        if (!absent.empty()) fail_missing(absent);
        fail(Code::kUnavailable, rank_text(0, *link(0)), " has not answered within ", seconds_text());
      }
      const Frame frame = link(0)->take_frame();
      if (frame.header.type != static_cast<uint16_t>(RankFrame::kRoster)) {
        fail(Code::kUsage, rank_text(0, *link(0)), " sent no roster");
      }
      Roster roster = decode_roster(text_of(frame.body.bytes()));
      absent = roster.missing;
      if (!absent.empty()) continue;
      if (roster.addresses.size() != links_.size()) {
        fail(Code::kUsage, rank_text(0, *link(0)), " sent ", roster.addresses.size(), " addresses, expected ",
             links_.size());
      }
      session_ = roster.session;
      addresses_ = std::move(roster.addresses);
      return;
    }
  }

  void connect(int rank, int lane) {
    const Address& to = rank == 0 ? options_.rendezvous : addresses_[static_cast<size_t>(rank)];
    attempts_.push_back(
        transport_.connect(to, deadline() - loop_.now(),
                           [this, rank, lane](std::unique_ptr<Stream> stream, std::optional<Error> error) {
                             connected_.push_back({rank, lane, std::move(stream), std::move(error)});
                           }));
  }

  void introduce_connected() {
    for (Connected& each : std::exchange(connected_, {})) {
      if (each.error) throw each.error->within(cat("rank ", each.rank));
      introduce(each.rank, each.lane, std::move(each.stream));
    }
  }

  struct Connected {
    int rank, lane;
    std::unique_ptr<Stream> stream;
    std::optional<Error> error;
  };

  Transport& transport_;
  Loop& loop_;
  BufferPool& pool_;
  const NetCommunicatorOptions& options_;
  const int num_lanes_;  // between two ranks
  const Time begin_;
  uint64_t session_ = 0;
  Links links_;
  std::vector<Address> addresses_;  // by rank: address at which it listens
  // connections that are not greeted yet, or were refused
  std::vector<std::unique_ptr<RankLink>> strangers_;
  std::string refused_;  // the last refused connection, and the reason
  std::vector<Connected> connected_;
  std::vector<std::unique_ptr<ConnectAttempt>> attempts_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace

std::string rank_text(int rank, const RankLanes& link) {
  return cat("rank ", rank, " at ", quote(link.peer()));
}

// Returns the bytes of all links that their peers' systems do not have yet.
static uint64_t undelivered(std::span<const std::unique_ptr<RankLanes>> links) {
  uint64_t bytes = 0;
  for (const auto& link : links) bytes += link != nullptr ? link->undelivered_bytes() : 0;
  return bytes;
}

// Waits in rounds of kGoodbye, as long as fewer bytes are undelivered after each round.  If a connection were
// cut while a slow link carries its last bytes, these would be lost as soon as the peer sends anything, since
// the system would answer with a reset.
void say_goodbye(Loop& loop, std::span<const std::unique_ptr<RankLanes>> links, Time deadline) {
  auto ended = [&] {
    return std::ranges::all_of(links, [](const auto& link) { return link == nullptr || !link->any_open(); });
  };
  uint64_t before = UINT64_MAX, left = undelivered(links);
  while (left < before && !loop.run_until(ended, std::min(deadline, add_time(loop.now(), kGoodbye)))) {
    if (loop.now() >= deadline) break;
    before = std::exchange(left, undelivered(links));
  }
  for (const auto& link : links) {
    if (link != nullptr) link->cut();
  }
}

std::vector<std::unique_ptr<RankLanes>> meet(Transport& transport, BufferPool& pool,
                                             const NetCommunicatorOptions& options) {
  return Meeting(transport, pool, options).run();
}

}  // namespace ps
