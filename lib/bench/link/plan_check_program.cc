#include "bench/link/plan_check_program.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bench/link/link_flags.h"
#include "bench/link/plan_check.h"
#include "bench/link/plan_check_report.h"
#include "bench/link/rank_links.h"
#include "bench/plan/columns.h"
#include "bench/row_output.h"
#include "bench/saved_rows.h"
#include "cli/interrupts.h"

namespace ps {

namespace {

constexpr const char* kSuite = "plan-check";
constexpr int kMostCheckedServers = 16, kMostPeriod = 1000;

std::vector<Flag> configuration_flags() {
  return {{.name = "models",
           .argument = "NAME,...",
           .help = "whose gradients: nets of share/jobs/nets, faster-rcnn, or JOB.json",
           .group = "configurations",
           .default_text = "lenet,googlenet,resnet50"},
          {.name = "ranks",
           .argument = "N,...",
           .help = "trainers, each a thread with a link of its own",
           .group = "configurations",
           .default_text = "2,4,8"},
          {.name = "bandwidth",
           .argument = "B,...",
           .help = "bits a second of a link, each way: 10G, 100M",
           .group = "configurations",
           .default_text = "10G,1G,100M"},
          {.name = "servers",
           .argument = "S,...",
           .help = "numbers of servers, each with one port and a link of its own",
           .group = "configurations",
           .default_text = "1,2,4"},
          {.name = "periods",
           .argument = "K,...",
           .help = "of local SGD: steps from one exchange to the next",
           .group = "configurations",
           .default_text = "4,16"},
          {.name = "compute",
           .argument = "TIME",
           .help = "of a step, in which a rank waits as for an accelerator",
           .group = "configurations",
           .default_text = "200ms"}};
}

std::vector<Flag> measuring_flags() {
  return {{.name = "link",
           .argument = "KIND",
           .help = "what holds a link to its bandwidth",
           .details = "As for ps-bench dgc.",
           .group = "measuring",
           .default_text = "auto",
           .choices = link_choices()},
          {.name = "runs",
           .letter = 'n',
           .argument = "N",
           .help = "timed runs of each kind of step, as far as they take 5 s",
           .group = "measuring",
           .default_text = "5"},
          {.name = "join",
           .argument = "FILE,...",
           .help = "measure nothing: tables of rows that were saved",
           .group = "measuring"}};
}

// Returns the configurations to be measured, without strategies that already have rows.
std::vector<PlanCheckRequest> requests_of(const Flags& flags, const std::vector<Json>& known) {
  std::vector<PlanCheckRequest> requests;
  const std::vector<CheckedStrategy> strategies = checked_strategies(
      integer_list(flags, "servers", 1, kMostCheckedServers), integer_list(flags, "periods", 2, kMostPeriod));
  PlanCheckRequest request;
  request.link.compute_seconds = *flags.seconds("compute", 0, 3600);
  request.link.link = *flags.text("link");
  request.link.most_runs = static_cast<int>(*flags.integer("runs", 1, 10000));
  for (const std::string& model : flags.list("models")) {
    request.link.model = find_model_shape(model);
    for (int ranks : integer_list(flags, "ranks", 2, kMostLinkedRanks - kMostCheckedServers)) {
      for (double rate : bandwidth_list(flags)) {
        request.link.ranks = ranks, request.link.bits_per_second = rate;
        request.strategies = strategies;
        std::erase_if(request.strategies, [&](const CheckedStrategy& strategy) {
          return std::any_of(known.begin(), known.end(),
                             [&](const Json& row) { return is_plan_row(row, request.link, strategy); });
        });
        if (!request.strategies.empty()) requests.push_back(request);
      }
    }
  }
  return requests;
}

int join_runs(const Flags& flags) {
  const SavedRows saved = read_saved_rows(flags.list("join"), kSuite);
  if (saved.rows.empty()) flags.refuse("join", "the files have no results");
  RowOutput(flags, saved).end(plan_check_document, plan_check_report);
  return 0;
}

}  // namespace

// Flags are not read from the environment, since its variables describe a cluster that exists.
Program plan_check_program() {
  std::vector<Flag> flags = configuration_flags();
  for (Flag& flag : measuring_flags()) flags.push_back(std::move(flag));
  for (Flag& flag : row_output_flags()) flags.push_back(std::move(flag));
  flags.push_back(resume_flag());
  for (Flag& flag : flags) flag.environment = false, flag.brief = true;
  return {
      .name = cat("ps-bench ", kSuite),
      .summary = "how far the plan is from steps that were measured, and whether it names the fastest",
      .synopsis = "[flags]",
      .flags = with_common_flags(std::move(flags), {"json", "log-level"}),
      .examples = {{"ps-bench plan-check --save rows.jsonl --resume", "all, in as many pieces as you like"},
                   {"ps-bench plan-check --models lenet --ranks 2 --bandwidth 1G", "one configuration"}}};
}

// Rows are saved as they come, and rows that are known are not measured again; an interrupt ends the run
// after the configuration that is under way, so that a long table may be measured in pieces.
int run_plan_check(const Flags& flags, Log& log) {
  if (flags.given("join")) return join_runs(flags);
  SavedRows known = rows_to_resume(flags, kSuite);
  const std::vector<PlanCheckRequest> requests = requests_of(flags, known.rows);
  RowOutput output(flags, std::move(known));
  Interrupts interrupts("ps-bench", "ending after this configuration; press Ctrl-C again to end at once");
  for (const PlanCheckRequest& request : requests) {
    if (interrupts.requested()) break;
    log.info(request.link.model.name, ", ", request.link.ranks, " ranks, ",
             decimal_rate_text(request.link.bits_per_second), ": ", request.strategies.size(), " strategies");
    check_plan(request, log, [&](const Json& row) { output.add({row}); });
  }
  output.end(plan_check_document, plan_check_report);
  return interrupts.exit_status();
}

}  // namespace ps
