#include "base/text.h"
#include "checkpoint/inspect/report.h"
#include "checkpoint/inspect/table_rows.h"

namespace ps {

// The values of a row are its weights, and behind them each state array of the same width.
Json find_row(ModelSource& source, const RowNames& names, const std::string& row) {
  Json out = Json::array();
  for (const FoundRow& found : find_rows(source, names, row)) {
    const ModelTable& table = source.tables()[found.table];
    const auto width = static_cast<std::ptrdiff_t>(table.width);
    Json one = {{"table", table.name}};
    one.update(key_json(names, table.name, found.key));
    one["weights"] = std::vector<float>(found.values.begin(), found.values.begin() + width);
    if (found.counts) {
      one["shows"] = found.counts->shows;
      one["clicks"] = found.counts->clicks;
      one["unseen"] = found.counts->unseen;
    }
    for (int array = 0; array < table.state_arrays; ++array) {
      const auto begin = found.values.begin() + width * (1 + array);
      one["state"].push_back(std::vector<float>(begin, begin + width));
    }
    out.push_back(std::move(one));
  }
  return out;
}

std::string row_text(const Json& rows) {
  auto numbers = [](const Json& values) {
    std::string out;
    for (float value : values.get<std::vector<float>>()) out += cat(" ", value);
    return out + "\n";
  };
  std::string out;
  for (const Json& row : rows) {
    out += cat(row["table"].get<std::string>(), " ", key_text(row), ":", numbers(row["weights"]));
    if (row.contains("shows")) {
      out += cat("  shows ", row["shows"].get<double>(), ", clicks ", row["clicks"].get<double>(),
                 ", unseen ", row["unseen"].get<uint32_t>(), "\n");
    }
    if (!row.contains("state")) continue;
    for (size_t i = 0; i < row["state"].size(); ++i) out += cat("  state ", i, ":", numbers(row["state"][i]));
  }
  return out;
}

}  // namespace ps
