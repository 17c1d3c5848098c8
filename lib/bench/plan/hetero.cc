#include "bench/plan/hetero.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "bench/plan/columns.h"
#include "config/json.h"

namespace ps {

namespace {

constexpr double kSame = 1e-9;  // relative difference of rates and prices below which they are equal

bool is_more(double a, double b) {
  return a > b * (1 + kSame);
}

// The seconds that a plain trainer takes for a batch: of its processor or accelerator, and of its link.
struct PlainSeconds {
  double computing = 0, link = 0;

  double total() const { return computing + link; }
};

// Returns the seconds of a plain trainer.  Its gradients go when a batch is computed, and the weights of
// its next step come after them.  It reads beside an accelerator, but not beside computing of its own.
PlainSeconds plain_seconds(const HeteroRequest& request, HeteroCut cut) {
  const double link = 2 * (request.row_bytes + request.dense_bytes) / request.bandwidth;
  if (cut == HeteroCut::kNone) return {request.read_seconds + request.cpu_seconds, link};
  return {std::max(request.read_seconds - link, request.compute_seconds), link};
}

// Returns the seconds that the links of servers take for a batch: its rows and the dense parameters.
double server_links(const HeteroRequest& request) {
  return (request.row_bytes + request.dense_bytes) /
         (request.bandwidth * static_cast<double>(request.servers));
}

// Returns the seconds that the link of a compute trainer takes for a batch.
double compute_link(const HeteroRequest& request) {
  return (request.batch_bytes + request.dense_bytes) / request.bandwidth;
}

// Returns the seconds that the link of a reader takes for a batch.
double reader_link(const HeteroRequest& request) {
  return (request.row_bytes + request.batch_bytes) / request.bandwidth;
}

// The seconds for a batch of all machines of a kind together.
struct Loads {
  double processors = 0, accelerators = 0, links = 0;
};

// Returns the seconds that a batch takes of each kind of machine, which share the batches evenly.  With a
// cut behind the rows the kinds work at the same time, and the slowest decides.  A plain trainer does its
// parts in turn, so there is one number, total() by the number of trainers; it is put where most of it is
// spent: at the links if they or those of the servers take longer, at the processors if a trainer computes
// there or waits for reading, else at the accelerators.
Loads loads(const HeteroRequest& request, HeteroCut cut, double processors, double accelerators) {
  if (cut == HeteroCut::kRows) {
    return {request.read_seconds / processors, request.compute_seconds / accelerators,
            std::max({reader_link(request) / processors, compute_link(request) / accelerators,
                      server_links(request)})};
  }
  const PlainSeconds work = plain_seconds(request, cut);
  const double seconds = work.total() / (cut == HeteroCut::kNone ? processors : accelerators);
  if (work.link > work.computing || server_links(request) > seconds)
    return {0, 0, std::max(seconds, server_links(request))};
  if (cut == HeteroCut::kNone || request.read_seconds - work.link > request.compute_seconds)
    return {seconds, 0, 0};
  return {0, seconds, 0};
}

// Returns the fewest readers that do not limit `accelerators` compute trainers, neither by their processors
// nor by their links; but at most request.most_processors.
int64_t fewest_readers(const HeteroRequest& request, int64_t accelerators) {
  const double compute = std::max(request.compute_seconds, compute_link(request));
  const double others = std::max(compute / static_cast<double>(accelerators), server_links(request));
  const double most = static_cast<double>(request.most_processors);
  const double work = std::max(request.read_seconds, reader_link(request));
  if (work >= others * most) return request.most_processors;
  return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(work / others * (1 - kSame))));
}

std::string cut_name(HeteroCut cut) {
  switch (cut) {
    case HeteroCut::kNone:
      return "none";
    case HeteroCut::kRows:
      return "rows";
    case HeteroCut::kAccelerators:
      return "none, accelerators";
  }
  return "";
}

std::string advice(const HeteroChoice& choice) {
  const std::string rate =
      cat(significant(choice.batches_per_second, 4), " batches/s, limited by ", choice.limit);
  switch (choice.cut) {
    case HeteroCut::kNone:
      return cat("no cut: ", choice.processors, " plain trainers on processors: ", rate);
    case HeteroCut::kRows:
      return cat("cut behind the rows: ", choice.processors, " readers and ", choice.accelerators,
                 " compute trainers: ", rate);
    case HeteroCut::kAccelerators:
      return cat("no cut: ", choice.accelerators, " plain trainers with an accelerator each: ", rate);
  }
  return "";
}

Json choice_json(const HeteroChoice& choice) {
  return {{"cut", cut_name(choice.cut)},
          {"processors", choice.processors},
          {"accelerators", choice.accelerators},
          {"batches_per_second", choice.batches_per_second},
          {"limit", choice.limit},
          {"price", choice.price},
          {"batch_price", choice.batch_price()}};
}

}  // namespace

HeteroChoice hetero_choice(const HeteroRequest& request, HeteroCut cut, int64_t processors,
                           int64_t accelerators) {
  const Loads each = loads(request, cut, static_cast<double>(processors), static_cast<double>(accelerators));
  const double slowest = std::max({each.processors, each.accelerators, each.links});
  HeteroChoice choice;
  choice.cut = cut, choice.processors = processors, choice.accelerators = accelerators;
  choice.batches_per_second = 1 / slowest;
  choice.limit = slowest == each.accelerators ? "accelerators"
                 : slowest == each.processors ? "processors"
                                              : "links";
  choice.price = static_cast<double>(processors) * request.processor_price +
                 static_cast<double>(accelerators) * request.accelerator_price;
  return choice;
}

// Tries plain trainers on all processors, then 1 to most_accelerators compute trainers with just enough
// readers, then all accelerators as plain trainers: so few choices need no search.  `faster` and `cheaper`
// compare by more than rounding (kSame), so that equal choices are decided by the other criterion, and the
// first of equals stays.
HeteroPlan make_hetero_plan(const HeteroRequest& request) {
  HeteroPlan plan;
  plan.request = request;
  plan.choices.push_back(hetero_choice(request, HeteroCut::kNone, request.most_processors, 0));
  for (int64_t m = 1; m <= request.most_accelerators; ++m) {
    plan.choices.push_back(hetero_choice(request, HeteroCut::kRows, fewest_readers(request, m), m));
  }
  plan.choices.push_back(hetero_choice(request, HeteroCut::kAccelerators, 0, request.most_accelerators));
  auto faster = [](const HeteroChoice& a, const HeteroChoice& b) {
    if (is_more(a.batches_per_second, b.batches_per_second)) return true;
    return !is_more(b.batches_per_second, a.batches_per_second) && a.price < b.price;
  };
  auto cheaper = [](const HeteroChoice& a, const HeteroChoice& b) {
    if (is_more(b.batch_price(), a.batch_price())) return true;
    return !is_more(a.batch_price(), b.batch_price()) && a.batches_per_second > b.batches_per_second;
  };
  for (size_t c = 1; c < plan.choices.size(); ++c) {
    if (faster(plan.choices[c], plan.choices[plan.fastest])) plan.fastest = c;
    if (cheaper(plan.choices[c], plan.choices[plan.cheapest])) plan.cheapest = c;
  }
  return plan;
}

// Writes the costs of a batch, a line for each choice, and the advice: the fastest choice, and the one with
// the cheapest batch.
std::string hetero_text(const std::string& job, const HeteroPlan& plan, bool markdown) {
  const HeteroRequest& request = plan.request;
  std::string out = cat(job, ": a batch takes ", seconds_text(request.read_seconds), " to read, ",
                        seconds_text(request.cpu_seconds), " to compute on a processor, ",
                        seconds_text(request.compute_seconds), " on an accelerator, and ",
                        quantity_text(request.batch_bytes, "B"), " each way between them; its rows are ",
                        quantity_text(request.row_bytes, "B"), " and the dense parameters ",
                        quantity_text(request.dense_bytes, "B"), " each way between trainers and ",
                        request.servers, request.servers == 1 ? " server" : " servers", ", at ",
                        quantity_text(8 * request.bandwidth, "bit/s"), "\n");
  std::vector<Cells> rows = {
      {"cut", "processors", "accelerators", "batches/s", "limited by", "price", "price of 1000 batches"}};
  for (const HeteroChoice& choice : plan.choices) {
    rows.push_back({cut_name(choice.cut), cat(choice.processors), cat(choice.accelerators),
                    significant(choice.batches_per_second, 4), choice.limit, significant(choice.price, 4),
                    significant(1000 * choice.batch_price(), 4)});
  }
  append(out, titled_table("Where to cut, and how many machines", rows, markdown));
  append(out, cat("\n- fastest: ", advice(plan.choices[plan.fastest]), "\n"));
  append(out, cat("- cheapest for a batch: ", advice(plan.choices[plan.cheapest]), "\n"));
  return out;
}

Json hetero_json(const std::string& job, const HeteroPlan& plan) {
  const HeteroRequest& request = plan.request;
  Json choices = Json::array();
  for (const HeteroChoice& choice : plan.choices) choices.push_back(choice_json(choice));
  return {{"job", job},
          {"read_seconds", request.read_seconds},
          {"cpu_seconds", request.cpu_seconds},
          {"compute_seconds", request.compute_seconds},
          {"batch_bytes", request.batch_bytes},
          {"row_bytes", request.row_bytes},
          {"dense_bytes", request.dense_bytes},
          {"servers", request.servers},
          {"bandwidth", request.bandwidth},
          {"choices", std::move(choices)},
          {"fastest", choice_json(plan.choices[plan.fastest])},
          {"cheapest", choice_json(plan.choices[plan.cheapest])}};
}

}  // namespace ps
