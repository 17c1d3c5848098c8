// The reports of ps-ckpt2model: the contents of a checkpoint, and the differences between two models.
#ifndef PS_JOB_CHECKPOINT_REPORT_H_
#define PS_JOB_CHECKPOINT_REPORT_H_

#include <string>

#include "checkpoint/checkpoint_reader.h"
#include "checkpoint/model/model_source.h"
#include "config/fwd.h"

namespace ps {

// The folder step-… that `path` means: itself, or in a folder of checkpoints the one that LATEST names, else
// the newest.  Throws kUsage when there is none.
std::string checkpoint_folder(const std::string& path);

// True when checkpoint_folder would find one.
bool is_checkpoint(const std::string& path);

// {"folder", "step", "base", "tables": [{"name", "kind", "rows", "width", …}], "states", "bytes"}
Json describe_checkpoint(const CheckpointReader& reader);
std::string checkpoint_text(const Json& description);

// Compares each table of both models: rows in both, rows in one alone, rows that differ, the largest
// difference and where it is.
Json compare_models(ModelSource& a, ModelSource& b);
std::string comparison_text(const Json& comparison);

}  // namespace ps

#endif  // PS_JOB_CHECKPOINT_REPORT_H_
