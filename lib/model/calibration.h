// Calibration: a rising function by which predicted probabilities become the share of examples that have label 1.  Fitted by
// fit_calibration (train/calibration_fit.h), kept in the job of a saved model, applied by the network.
#ifndef PS_MODEL_CALIBRATION_H_
#define PS_MODEL_CALIBRATION_H_

#include <string>
#include <vector>

#include "config/fwd.h"

namespace ps {

// Constant after it is parsed or fitted; any thread may use it.
struct Calibration {
  std::string type = "platt";  // platt | isotonic

  // platt: p becomes the logistic function of scale x logit(p) + offset.
  double scale = 1, offset = 0;

  // isotonic: from[i] becomes to[i], and a probability between two of them what a straight line gives; before the first and
  // behind the last it becomes that of the first or last.  Both ascend.
  std::vector<double> from, to;

  static const ObjectSpec<Calibration>& spec();

  // Returns the calibrated probability; NaN of NaN.
  float apply(float probability) const;

  bool operator==(const Calibration&) const = default;
};

// log(p / (1 - p)) of a probability that is first kept within [2^-24, 1 - 2^-24], since floats round others to 0 and 1.
double bounded_logit(double probability);

}  // namespace ps

#endif  // PS_MODEL_CALIBRATION_H_
