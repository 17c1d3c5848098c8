// The figures of a test by name, "cost" or the value of an evaluator, and whether larger values of them are
// better.  Used to stop early, and to measure the importance of slots.
#ifndef PS_TRAIN_FIGURE_H_
#define PS_TRAIN_FIGURE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/fwd.h"

namespace ps {

// Returns true if larger values of the figure are better, and false if smaller ones are.  Throws kUsage
// "SOURCE: 'x' tells no better from worse…" for other figures; `source` is the key or flag that names the
// figure.
bool larger_is_better(const std::string& figure, std::string_view source);

// Returns the figure in TestResult::json(), or nullopt if it is undefined.  Throws kUsage "SOURCE: …" if it is
// missing.
std::optional<double> figure_of(const Json& tested, const std::string& figure, std::string_view source);

// Returns a figure for people, "0.310251", and for programs; one that is not finite is "undefined", and null.
std::string figure_text(double figure);
Json figure_json(double figure);

// Returns the names of the figures in TestResult::json() that `figure` names: itself, or that of each label if the job
// has several and no figure of just this name: "click.auc" and "conversion.auc" of "auc".  Throws kUsage "SOURCE: …" if
// there are none.
std::vector<std::string> figures_named(const Json& tested, const std::string& figure,
                                       std::string_view source);

}  // namespace ps

#endif  // PS_TRAIN_FIGURE_H_
