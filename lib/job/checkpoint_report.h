// The reports of ps-ckpt2model: the contents of a checkpoint, and the differences between two models.
#ifndef PS_JOB_CHECKPOINT_REPORT_H_
#define PS_JOB_CHECKPOINT_REPORT_H_

#include <string>

#include "checkpoint/checkpoint_reader.h"
#include "checkpoint/model/model_source.h"
#include "config/fwd.h"

namespace ps {

// Returns the folder step-… that `path` names: the path itself; in a folder of checkpoints, the one that LATEST
// names, otherwise the newest.  Throws kUsage if there is none.
std::string checkpoint_folder(const std::string& path);

// Returns true if checkpoint_folder would find a checkpoint.
bool is_checkpoint(const std::string& path);

// {"folder", "step", "base", "tables": [{"name", "kind", "rows", "width", …}], "states", "bytes"}
Json describe_checkpoint(const CheckpointReader& reader);
std::string checkpoint_text(const Json& description);

// Compares each table of both models: counts rows in both, rows in one alone and rows that differ, and finds
// the largest difference and its place.
Json compare_models(ModelSource& a, ModelSource& b);
std::string comparison_text(const Json& comparison);

}  // namespace ps

#endif  // PS_JOB_CHECKPOINT_REPORT_H_
