// Fits of calibrations to examples that the model was not trained on.  Used by RunValidation.
#ifndef PS_TRAIN_CALIBRATION_FIT_H_
#define PS_TRAIN_CALIBRATION_FIT_H_

#include <string>
#include <vector>

#include "model/calibration.h"

namespace ps {

struct CalibrationExample {
  float probability;  // as the model predicts it
  bool positive;      // it has label 1
  float weight;
};

// Platt scaling: scale and offset that minimise the cross entropy to targets that are drawn in from 0 and 1, (N+ + 1) / (N+ +
// 2) and 1 / (N- + 2), where N+ and N- are the weights of both labels.  Platt, "Probabilistic outputs for support vector
// machines", 1999, by the method of Lin, Lin and Weng, "A note on Platt's probabilistic outputs", 2007.
Calibration fit_platt(const std::vector<CalibrationExample>& examples);

// Isotonic regression: the rising function with the least squared error, by pooling adjacent violators.  Zadrozny and Elkan,
// "Transforming classifier scores into accurate multiclass probability estimates", 2002.
Calibration fit_isotonic(std::vector<CalibrationExample> examples);

// Fits the calibration of this type.  Throws kData unless examples of both labels have a weight.
Calibration fit_calibration(const std::string& type, const std::vector<CalibrationExample>& examples);

}  // namespace ps

#endif  // PS_TRAIN_CALIBRATION_FIT_H_
