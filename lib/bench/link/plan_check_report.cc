#include "bench/link/plan_check_report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/statistics.h"
#include "base/text.h"
#include "bench/plan/columns.h"
#include "collective/algorithm.h"

namespace ps {

namespace {

constexpr double kNear = 1.05;  // a choice within this ratio of the fastest counts as right
// The bars for all rows together, in percent: for the errors of steps, and for the share of configurations
// with a right choice.
constexpr double kMedianBar = 5, kNinetiethBar = 10, kWorstBar = 15, kRightBar = 95;

// The sizes of the errors of all rows in a group, in percent.
struct Errors {
  std::vector<double> step, exchange, codec;

  void add(const Json& row) {
    add_to(step, row, "modelled_step_seconds", "step_seconds");
    add_to(exchange, row, "modelled_exchange_seconds", "exchange_seconds");
    if (!row.at("codec_seconds").is_null()) add_to(codec, row, "modelled_codec_seconds", "codec_seconds");
  }

 private:
  static void add_to(std::vector<double>& errors, const Json& row, const char* modelled,
                     const char* measured) {
    const double found = row.at(measured);
    if (found > 0) errors.push_back(100 * std::abs(row.at(modelled).get<double>() / found - 1));
  }
};

ErrorFigures figures_of(const std::vector<double>& errors) {
  if (errors.empty()) return {};
  return {median(errors), quantile(errors, 0.9), quantile(errors, 1)};
}

PlanErrors errors_of(const std::string& strategy, const Errors& errors) {
  return {strategy, static_cast<int64_t>(errors.step.size()), figures_of(errors.step),
          figures_of(errors.exchange), figures_of(errors.codec)};
}

std::string configuration_of(const Json& row) {
  const double compute = row.at("compute_seconds");
  return cat(row.at("model").get<std::string>(), ", ", row.at("ranks").get<int>(), " ranks, ",
             row.at("bandwidth_text").get<std::string>(), ", ", seconds_text(compute));
}

std::string strategy_of(const Json& row) {
  const int servers = row.at("servers");
  const std::string name = row.at("strategy");
  return servers == 0 ? name : cat(name, " x ", servers);
}

const Json& least(const std::vector<const Json*>& rows, const char* key) {
  return **std::min_element(rows.begin(), rows.end(), [&](const Json* one, const Json* other) {
    return one->at(key).get<double>() < other->at(key).get<double>();
  });
}

std::string percent_text(double value) {
  return cat(significant(value, 3), " %");
}

// Returns a line for each strategy, then one for all rows: the median, the 90th percentile and the worst
// error of a step, the same of its exchange, and the median error of the codec.
std::string error_table(const std::vector<Json>& rows, bool markdown) {
  std::vector<Cells> cells = {{"strategy", "rows", "step: median", "90th", "worst", "exchange: median",
                               "90th", "worst", "codec: median"}};
  for (const PlanErrors& each : plan_errors(rows)) {
    Cells line = {each.strategy, cat(each.count)};
    for (const ErrorFigures& figures : {each.step, each.exchange}) {
      for (double value : {figures.median, figures.ninetieth, figures.worst})
        line.push_back(percent_text(value));
    }
    line.push_back(each.codec.worst > 0 ? percent_text(each.codec.median) : "-");
    cells.push_back(std::move(line));
  }
  return titled_table("Errors of the plan, in percent of what was measured", cells, markdown);
}

std::string wrong_choices(const std::string& title, const std::vector<PlanChoice>& choices, bool markdown) {
  std::vector<Cells> cells = {{"configuration", "named", "s a step", "fastest", "s a step"}};
  for (const PlanChoice& each : choices) {
    if (each.right()) continue;
    cells.push_back({each.configuration, each.named, significant(each.named_seconds, 4), each.fastest,
                     significant(each.fastest_seconds, 4)});
  }
  if (cells.size() == 1) return "";
  return titled_table(title, cells, markdown);
}

// `choices` is not empty.
double share_right(const std::vector<PlanChoice>& choices) {
  const auto right =
      std::count_if(choices.begin(), choices.end(), [](const PlanChoice& choice) { return choice.right(); });
  return 100 * static_cast<double>(right) / static_cast<double>(choices.size());
}

std::string bar_line(const char* what, double value, double bar, bool met) {
  return cat(what, ": ", percent_text(value), ", bar ", percent_text(bar), ": ", met ? "met" : "missed",
             "\n");
}

std::string choice_line(const char* what, const std::vector<PlanChoice>& choices) {
  if (choices.empty()) return "";
  const double right = share_right(choices);
  return bar_line(what, right, kRightBar, right >= kRightBar);
}

std::string bar_lines(const ErrorFigures& step, const std::vector<PlanChoice>& choices,
                      const std::vector<PlanChoice>& uncompressed) {
  return cat(bar_line("median error of a step", step.median, kMedianBar, step.median <= kMedianBar),
             bar_line("90th percentile", step.ninetieth, kNinetiethBar, step.ninetieth <= kNinetiethBar),
             bar_line("worst", step.worst, kWorstBar, step.worst <= kWorstBar),
             choice_line("named the fastest, or one within 5 % of it", choices),
             choice_line("the same among exchanges of whole gradients", uncompressed));
}

Json choices_json(const std::vector<PlanChoice>& choices) {
  Json all = Json::array();
  for (const PlanChoice& each : choices) {
    all.push_back({{"configuration", each.configuration},
                   {"named", each.named},
                   {"named_seconds", each.named_seconds},
                   {"fastest", each.fastest},
                   {"fastest_seconds", each.fastest_seconds},
                   {"right", each.right()}});
  }
  return all;
}

Json figures_json(const ErrorFigures& figures) {
  return {{"median", figures.median}, {"90th", figures.ninetieth}, {"worst", figures.worst}};
}

}  // namespace

bool PlanChoice::right() const {
  return named_seconds <= kNear * fastest_seconds;
}

// Groups the rows by strategy; `names` keeps the order in which strategies first appear, since the map
// sorts them.
std::vector<PlanErrors> plan_errors(const std::vector<Json>& rows) {
  std::vector<std::string> names;
  std::map<std::string, Errors> groups;
  Errors all;
  for (const Json& row : rows) {
    const std::string name = strategy_of(row);
    if (!groups.contains(name)) names.push_back(name);
    groups[name].add(row);
    all.add(row);
  }
  std::vector<PlanErrors> errors;
  for (const std::string& name : names) errors.push_back(errors_of(name, groups[name]));
  errors.push_back(errors_of("all", all));
  return errors;
}

// Groups the rows by configuration.  In each, the plan's choice is the row with the least modelled seconds,
// and it is judged by the seconds that were measured for it.
std::vector<PlanChoice> plan_choices(const std::vector<Json>& rows) {
  std::vector<std::string> names;
  std::map<std::string, std::vector<const Json*>> groups;
  for (const Json& row : rows) {
    const std::string name = configuration_of(row);
    if (!groups.contains(name)) names.push_back(name);
    groups[name].push_back(&row);
  }
  std::vector<PlanChoice> choices;
  for (const std::string& name : names) {
    const Json& named = least(groups[name], "modelled_step_seconds");
    const Json& fastest = least(groups[name], "step_seconds");
    choices.push_back({name, strategy_of(named), strategy_of(fastest), named.at("step_seconds"),
                       fastest.at("step_seconds")});
  }
  return choices;
}

std::vector<Json> uncompressed_rows(const std::vector<Json>& rows) {
  std::vector<Json> some;
  for (const Json& row : rows) {
    const std::string name = row.at("strategy");
    const bool is_all_reduce = std::ranges::any_of(
        all_reduce_catalog(), [&](const AllReduceAlgorithm* algorithm) { return algorithm->name == name; });
    if (is_all_reduce || row.at("servers") != 0) some.push_back(row);
  }
  return some;
}

std::string plan_check_report(const Machine& machine, const std::vector<Json>& rows, bool markdown) {
  const std::vector<PlanChoice> choices = plan_choices(rows),
                                uncompressed = plan_choices(uncompressed_rows(rows));
  std::string text =
      cat(machine.processor, ", ", machine.cores, " cores, ", machine.kernel, ", ", machine.program, "\n",
          rows.size(), " rows of ", choices.size(), " configurations\n", error_table(rows, markdown),
          wrong_choices("Where the plan names one that is more than 5 % slower than the fastest", choices,
                        markdown),
          wrong_choices("The same among exchanges of whole gradients", uncompressed, markdown));
  return text + "\n" + bar_lines(plan_errors(rows).back().step, choices, uncompressed);
}

Json plan_check_document(const Machine& machine, const std::vector<Json>& rows) {
  Json errors = Json::array();
  for (const PlanErrors& each : plan_errors(rows)) {
    errors.push_back({{"strategy", each.strategy},
                      {"rows", each.count},
                      {"step", figures_json(each.step)},
                      {"exchange", figures_json(each.exchange)},
                      {"codec", figures_json(each.codec)}});
  }
  const std::vector<PlanChoice> all = plan_choices(rows),
                                uncompressed = plan_choices(uncompressed_rows(rows));
  const bool has_some = !uncompressed.empty();
  return {{"machine", machine.json()},
          {"rows", rows},
          {"errors", errors},
          {"choices", choices_json(all)},
          {"right_percent", share_right(all)},
          {"uncompressed_choices", choices_json(uncompressed)},
          {"uncompressed_right_percent", has_some ? Json(share_right(uncompressed)) : Json(nullptr)}};
}

}  // namespace ps
