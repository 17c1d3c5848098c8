// A conversion that is interrupted writes what it has read.
#include "job/convert.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "config/json.h"
#include "support/scratch_folder.h"

namespace ps::convert_test {
namespace {

constexpr const char* kJob = R"({
  "data": {"format": "libsvm", "dim": 10, "batch_size": 3},
  "model": {
    "layers": [{"name": "score", "type": "fc", "input": "features", "size": 1, "sparse_update": true}],
    "cost": {"type": "binary_cross_entropy", "input": "score"}
  },
  "optimizer": {"type": "sgd", "learning_rate": 0.5}
})";

// Converts 10 lines in batches of 3, until it is asked for the `calls`-th time whether to stop.  Returns the
// number of lines that were written.
int64_t lines_until_stop(int calls) {
  ScratchFolder folder;
  std::string lines;
  for (int i = 0; i < 10; ++i) lines += cat(i % 2, " ", i, ":1\n");
  write_file(folder.path("in"), lines);
  Job job = Job::spec().parse(Json::parse(kJob), "job");
  job.data.files = {folder.path("in")};
  RunOptions options;
  options.task = "convert";
  options.output = folder.path("out");
  options.output_format = "libsvm";
  int asked = 0;
  options.stop = [&] { return ++asked >= calls; };
  Log log("test", LogLevel::kError);
  EXPECT_EQ(convert_data(job, options, log), calls > 6);
  return std::ranges::count(read_file(folder.path("out")), '\n');
}

TEST(Convert, WhatWasReadBeforeAnInterruptIsWritten) {
  EXPECT_EQ(lines_until_stop(1), 0);
  EXPECT_EQ(lines_until_stop(2), 3);
  EXPECT_EQ(lines_until_stop(4), 9);
  EXPECT_EQ(lines_until_stop(100), 10);
}

}  // namespace
}  // namespace ps::convert_test
