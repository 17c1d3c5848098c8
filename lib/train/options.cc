#include "train/options.h"

namespace ps {

const ObjectSpec<TrainOptions>& TrainOptions::spec() {
  static const ObjectSpec<TrainOptions> spec = [] {
    ObjectSpec<TrainOptions> s;
    s.field("passes", &TrainOptions::passes, "times through the data").at_least(0);
    s.field("gradient", &TrainOptions::gradient,
            "gradient of a batch: over its examples, their sum or their mean")
        .one_of({"sum", "mean"});
    s.field("log_period", &TrainOptions::log_period,
            "batches between two reports, 0: only at the end of a pass")
        .at_least(0);
    s.field("save_dir", &TrainOptions::save_dir,
            "folder in which pass-00000 and so on are saved, empty: none");
    s.field("saving_period", &TrainOptions::saving_period,
            "passes between two saved models; the last pass is always saved")
        .at_least(1);
    return s;
  }();
  return spec;
}

}  // namespace ps
