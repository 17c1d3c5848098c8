#include "bench/accuracy/accuracy_rows.h"

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "bench/accuracy/trials.h"

namespace ps {

namespace {

// Returns the names of all trials in the order of tables.  The names do not depend on the number of steps.
std::vector<std::string> trial_names() {
  constexpr int64_t kSomeSteps = 100;
  std::vector<std::string> names = {dense_trial().name};
  for (const AccuracyTrial& trial : accuracy_trials(kSomeSteps)) names.push_back(trial.name);
  return names;
}

// Returns a key that is equal for rows of the same table.
auto table_key(const Json& row) {
  return std::tuple(row.at("job").get<std::string>(), row.at("ranks").get<int>(),
                    row.value("passes", int64_t{0}), row.at("measure").get<std::string>());
}

// Orders rows by the place of their trial in tables, then by name, for trials that this version does not
// have, then by seed.  Rows of a training that was measured twice then stand together, and the first is
// kept: the sort is stable.
void sort_rows(std::vector<Json>& rows) {
  const std::vector<std::string> names = trial_names();
  auto sort_key = [&](const Json& row) {
    const auto found = std::find(names.begin(), names.end(), row.at("strategy").get<std::string>());
    return std::tuple(found - names.begin(), row.at("strategy").get<std::string>(),
                      row.at("seed").get<int64_t>());
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const Json& one, const Json& other) { return sort_key(one) < sort_key(other); });
  auto same = [&](const Json& one, const Json& other) { return sort_key(one) == sort_key(other); };
  rows.erase(std::unique(rows.begin(), rows.end(), same), rows.end());
}

}  // namespace

std::string accuracy_job_name(const std::string& job) {
  return std::filesystem::path(job).stem().string();
}

Json accuracy_row(const AccuracyJob& job, const std::string& strategy, int64_t seed,
                  const TrialResult& result) {
  Json row = {{"suite", "accuracy"},      {"job", job.name},       {"strategy", strategy},
              {"ranks", job.ranks},       {"seed", seed},          {"measure", result.measure},
              {"value", result.value},    {"steps", result.steps}, {"bytes_sent", result.bytes_sent},
              {"seconds", result.seconds}};
  if (job.passes) row["passes"] = *job.passes;
  return row;
}

bool is_row_of(const Json& row, const AccuracyJob& job, const std::string& strategy, int64_t seed) {
  return row.at("job") == job.name && row.at("ranks") == job.ranks &&
         row.value("passes", int64_t{0}) == job.passes.value_or(0) && row.at("strategy") == strategy &&
         row.at("seed") == seed && (job.measure.empty() || row.at("measure") == job.measure);
}

// Tables are in the order of their first rows.  A linear search is enough, since there are few.
std::vector<AccuracyTable> accuracy_tables(const std::vector<Json>& rows) {
  std::vector<AccuracyTable> tables;
  for (const Json& row : rows) {
    auto found = std::find_if(tables.begin(), tables.end(), [&](const AccuracyTable& table) {
      return table_key(table.rows.front()) == table_key(row);
    });
    if (found == tables.end()) found = tables.insert(tables.end(), AccuracyTable{});
    found->rows.push_back(row);
  }
  for (AccuracyTable& table : tables) sort_rows(table.rows);
  return tables;
}

}  // namespace ps
