#include "bench/link/program.h"

#include <optional>
#include <utility>

#include "base/error.h"
#include "bench/link/link_flags.h"
#include "bench/link/rank_links.h"
#include "bench/link/report.h"
#include "bench/plan/columns.h"
#include "bench/row_output.h"
#include "cli/interrupts.h"
#include "codec/sparse_vector.h"
#include "collective/algorithm.h"
#include "config/json.h"

namespace ps {

namespace {

// The differences between the programs of the suites.
struct LinkSuiteEntry {
  LinkSuite suite;
  const char *name, *summary;
  // The defaults of the flags.  Without a default for the bandwidth, the flag is required.
  const char *model, *ranks, *bandwidth, *compute;
  std::vector<Json> (*measure)(const LinkRequest& request, Log& log);
  std::vector<Example> examples;
};

// Returns the entry of a suite.  The compute times of 339 and 430.2 ms follow from published tables; see
// simulate/published.cc.
const LinkSuiteEntry& entry_of(LinkSuite suite) {
  static const LinkSuiteEntry kEntries[] = {
      {LinkSuite::kDgc,
       "dgc",
       "steps of dense momentum and of Deep Gradient Compression over links of given bandwidths",
       "faster-rcnn",
       "2",
       "",
       "339ms",
       measure_dgc,
       {{"ps-bench dgc --bandwidth 100G,10G,1G", "beside the published table"},
        {"ps-bench dgc --bandwidth 1G --model resnet50", "of another model"}}},
      {LinkSuite::kLocalSgd,
       "local-sgd",
       "throughput of local SGD against the steps from one exchange to the next",
       "resnet50",
       "2",
       "10G,1G",
       "430.2ms",
       measure_local_sgd,
       {{"ps-bench local-sgd --bandwidth 1G --periods 1,4,16", "over one link"}}},
      {LinkSuite::kScaling,
       "scaling",
       "weak scaling of all-reduce algorithms and of Deep Gradient Compression",
       "resnet50",
       "2,4",
       "1G",
       "339ms",
       measure_scaling,
       {{"ps-bench scaling --ranks 2,4,8 --bandwidth 1G", "up to 8 ranks"}}},
  };
  for (const LinkSuiteEntry& entry : kEntries) {
    if (entry.suite == suite) return entry;
  }
  PS_CHECK(false);
}

// Returns the flags that all suites have, grouped as in --help.
std::vector<Flag> shared_flags(const LinkSuiteEntry& entry) {
  return {
      {.name = "bandwidth",
       .argument = "B,...",
       .help = "bits a second of a link, each way: 10G, 100M",
       .details = "A machine carries what it can: the bandwidth that was measured is told with each.",
       .group = "links",
       .default_text = entry.bandwidth},
      {.name = "link",
       .argument = "KIND",
       .help = "what holds a link to its bandwidth",
       .details =
           "Namespaces are of the system, each with a device that tc(8) slows down; they need root.  A "
           "bucket is in our transport, over loopback, and limits only what a rank sends.  With auto, "
           "namespaces where they are allowed.",
       .group = "links",
       .default_text = "auto",
       .choices = link_choices()},
      {.name = "ranks",
       .argument = entry.suite == LinkSuite::kScaling ? "N,..." : "N",
       .help = "trainers, each a thread with a link of its own",
       .group = "links",
       .default_text = entry.ranks},
      {.name = "model",
       .argument = "NAME",
       .help = "whose gradients: resnet50, vgg16 and so on, faster-rcnn, or JOB.json",
       .details =
           "Names are those of share/jobs/nets; faster-rcnn is 264 MB, as PaddlePaddle's table has it.",
       .group = "steps",
       .default_text = entry.model},
      {.name = "compute",
       .argument = "TIME",
       .help = "of a step, in which a rank waits as for an accelerator",
       .group = "steps",
       .default_text = entry.compute},
      {.name = "runs",
       .letter = 'n',
       .argument = "N",
       .help = "timed runs of each kind of step, as far as they take 5 s",
       .details = "They follow one that is checked; where that alone takes longer, it counts itself.",
       .group = "steps",
       .default_text = "5"},
  };
}

std::string algorithm_names() {
  std::vector<std::string> names;
  for (const AllReduceAlgorithm* each : all_reduce_catalog()) names.push_back(each->name);
  names.push_back("dgc");
  return join(names, ",");
}

// Returns the encodings of packed gradients that keep the bits of values, which are checked.
std::vector<std::string> exact_encodings() {
  std::vector<std::string> names;
  for (const std::string& name : sparse_encoding_names()) {
    if (!rounds_values(find_sparse_encoding(name))) names.push_back(name);
  }
  return names;
}

void add_own_flags(LinkSuite suite, std::vector<Flag>& flags) {
  if (suite == LinkSuite::kDgc) {
    flags.push_back({.name = "encoding",
                     .argument = "NAME",
                     .help = "of the indices and values that DGC sends",
                     .group = "steps",
                     .default_text = LinkRequest().encoding,
                     .choices = exact_encodings()});
  }
  if (suite == LinkSuite::kLocalSgd) {
    flags.push_back({.name = "periods",
                     .argument = "K,...",
                     .help = "steps from one exchange to the next",
                     .group = "steps",
                     .default_text = "1,2,4,8,16"});
    flags.push_back({.name = "batch",
                     .argument = "N",
                     .help = "examples of a trainer in a step",
                     .group = "steps",
                     .default_text = "128"});
  }
  if (suite == LinkSuite::kScaling) {
    flags.push_back({.name = "algorithms",
                     .argument = "NAME,...",
                     .help = "of all-reduce, and dgc",
                     .group = "steps",
                     .default_text = algorithm_names()});
  }
}

std::vector<std::string> algorithms(const Flags& flags) {
  const std::vector<std::string> names = flags.list("algorithms");
  for (const std::string& name : names) {
    if (name != "dgc") all_reduce_algorithm(name);
  }
  if (names.empty()) flags.refuse("algorithms", "expected at least one");
  return names;
}

// Reads all of a request except the bandwidth and the number of ranks.
LinkRequest read_request(LinkSuite suite, const Flags& flags) {
  LinkRequest request;
  request.model = find_model_shape(*flags.text("model"));
  request.compute_seconds = *flags.seconds("compute", 0, 3600);
  request.link = *flags.text("link");
  request.most_runs = static_cast<int>(*flags.integer("runs", 1, 10000));
  if (suite == LinkSuite::kDgc) request.encoding = *flags.text("encoding");
  if (suite == LinkSuite::kLocalSgd) {
    request.periods = integer_list(flags, "periods", 1, 1000);
    request.batch = static_cast<int>(*flags.integer("batch", 1, 1 << 24));
  }
  if (suite == LinkSuite::kScaling) request.algorithms = algorithms(flags);
  return request;
}

std::vector<int> rank_counts(LinkSuite suite, const Flags& flags) {
  if (suite == LinkSuite::kScaling) return integer_list(flags, "ranks", 2, kMostLinkedRanks);
  return {static_cast<int>(*flags.integer("ranks", 2, kMostLinkedRanks))};
}

}  // namespace

// Looks at the words before any flags are parsed, since the set of flags depends on the suite.
std::optional<LinkSuite> find_link_suite(std::span<const char* const> words) {
  if (words.empty()) return std::nullopt;
  const std::string_view first = words[0];
  if (first == "local-sgd") return LinkSuite::kLocalSgd;
  if (first == "scaling") return LinkSuite::kScaling;
  for (const char* word : words.subspan(1)) {
    const std::string_view flag = word;
    if (first == "dgc" && (flag == "--bandwidth" || flag.starts_with("--bandwidth="))) return LinkSuite::kDgc;
  }
  return std::nullopt;
}

Program link_program(LinkSuite suite) {
  const LinkSuiteEntry& entry = entry_of(suite);
  std::vector<Flag> flags = shared_flags(entry);
  add_own_flags(suite, flags);
  for (Flag& flag : row_output_flags()) flags.push_back(std::move(flag));
  for (Flag& flag : flags) flag.environment = false, flag.brief = true;
  return {.name = cat("ps-bench ", entry.name),
          .summary = entry.summary,
          .synopsis = suite == LinkSuite::kDgc ? "--bandwidth B,... [flags]" : "[flags]",
          .flags = with_common_flags(std::move(flags), {"json", "log-level"}),
          .examples = entry.examples};
}

// Measures every bandwidth with every number of ranks.  Links are made anew for each, and rows are saved
// after each.
int run_link_suite(LinkSuite suite, const Flags& flags, Log& log) {
  LinkRequest request = read_request(suite, flags);
  const std::vector<int> counts = rank_counts(suite, flags);
  const std::vector<double> rates = bandwidth_list(flags);
  RowOutput output(flags);
  Interrupts interrupts("ps-bench", "ending after this link; press Ctrl-C again to end at once");
  for (double rate : rates) {
    for (int ranks : counts) {
      if (interrupts.requested()) continue;
      request.bits_per_second = rate, request.ranks = ranks;
      output.add(entry_of(suite).measure(request, log));
    }
  }
  output.end(link_document, link_report);
  return interrupts.exit_status();
}

}  // namespace ps
