#include "job/run_page.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/memory.h"
#include "job/refusal_log.h"
#include "net/auth/http_token.h"

namespace ps {

namespace {

// Returns the credentials of the page.  Only tokens for 'status', and those of operators, count.
Credentials page_credentials(const SecurityOptions& security) {
  Credentials credentials;
  if (!security.token_file.empty()) {
    for (Token& token : read_token_file(security.token_file)) {
      const bool counts = token.access == kStatusAccess || token.access == Access::kAdmin;
      if (counts) credentials.tokens.push_back(std::move(token));
    }
    if (std::ranges::count(credentials.tokens, kStatusAccess, &Token::access) == 0) {
      fail(Code::kUsage, "--status-port: token file ", quote(security.token_file),
           " has no token for 'status', by which the page knows who may see it: ps-security(7)");
    }
  }
  const TlsFiles& files = security.tls;
  if (files.authority.empty() && files.certificate.empty()) return credentials;
  if (files.certificate.empty() || files.key.empty())
    fail(Code::kUsage, "--status-port: with --tls-ca the page needs --tls-cert and --tls-key too");
  credentials.tls.server = std::make_shared<TlsContext>(files, TlsSide::kServer);
  return credentials;
}

// The constant facts of a trainer that its page shows.
struct PageFacts {
  std::string job, exposure;
  int rank = 0, trainers = 1;
  bool trains = true;           // else it tests
  bool has_checkpoints = true;  // the job names a folder for them
};

// One owner thread, that of the page.
class RunPageService {
 public:
  RunPageService(Loop& loop, PageFacts facts, std::shared_ptr<const RunCurves> curves,
                 std::shared_ptr<const MissingServers> missing)
      : loop_(loop),
        facts_(std::move(facts)),
        curves_(std::move(curves)),
        missing_(std::move(missing)),
        started_(loop.now()) {}

  HttpResponse answer(const HttpRequest& request) const {
    if (request.path == "/") return {.type = "text/html; charset=utf-8", .body = kStatusPage};
    if (request.path == "/status.json") return {.type = "application/json", .body = status().dump()};
    if (request.path == "/livez" || request.path == "/readyz") return {.body = "ok\n"};
    return {.status = 404, .body = "there are /, /livez, /readyz and /status.json\n"};
  }

  void count_refusal() { ++num_refused_; }

  std::string why_not(OperatorRequest asked) const {
    if (asked == OperatorRequest::kEnd) return "";
    if (!facts_.trains) return "this process does not train";
    if (asked == OperatorRequest::kCheckpoint && !facts_.has_checkpoints)
      return "checkpoint.directory is empty: there are no checkpoints";
    return "";
  }

 private:
  Json status() const {
    Json json = curves_->json();
    json["job"] = facts_.job;
    json["exposure"] = facts_.exposure;
    json["rank"] = facts_.rank;
    json["trainers"] = facts_.trainers;
    json["uptime_seconds"] = to_seconds(loop_.now() - started_);
    json["memory_bytes"] = resident_memory_bytes();
    json["status_refused"] = num_refused_;
    json["missing_servers"] = missing_->json();
    return json;
  }

  Loop& loop_;
  const PageFacts facts_;
  const std::shared_ptr<const RunCurves> curves_;
  const std::shared_ptr<const MissingServers> missing_;
  const Time started_;
  uint64_t num_refused_ = 0;
};

}  // namespace

// Refuses an exposed page without tokens first.  The pages share the curves with this object, to which the
// training thread adds reports while the thread of the page reads them.
RunPage::RunPage(const Job& job, const RunOptions& options, Log& log) {
  check_exposure(options.security, options.status_host);
  const PageFacts facts{.job = job.job.name,
                        .exposure = describe_exposure(options.security, options.status_host),
                        .rank = options.rank,
                        .trainers = job.cluster.trainers,
                        .trains = options.task == "train",
                        .has_checkpoints = !job.checkpoint.directory.empty()};
  HandshakeOptions handshakes;
  handshakes.on_refused = [refusals = std::make_shared<RefusalLog>(log)](
                              const std::string& peer, const Error& reason) { refusals->add(peer, reason); };
  const Address address{options.status_host, *options.status_port};
  thread_ = std::make_unique<StatusThread>(
      address, page_credentials(options.security), handshakes, *options.operators,
      [&](Loop& loop) -> StatusPages {
        auto service = std::make_shared<RunPageService>(loop, facts, curves_, options.missing_servers);
        return {[service](const HttpRequest& request) { return service->answer(request); },
                [service] { service->count_refusal(); },
                [service](OperatorRequest asked) { return service->why_not(asked); }};
      });
  if (options.renewal != nullptr) {
    renewal_ = options.renewal->watch([security = options.security] { return page_credentials(security); },
                                      [this](const Credentials& read) { thread_->set_credentials(read); });
  }
  const bool encrypted = !options.security.tls.certificate.empty();
  log.info("The status page is at ", encrypted ? "https" : "http", "://",
           to_text(Address{options.status_host, thread_->port()}), "/");
}

}  // namespace ps
