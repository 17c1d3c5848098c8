// Measures time and memory of LIBLINEAR on the data of process/logistic.
#include <cmath>
#include <fstream>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "bench/process/child.h"
#include "bench/process/files.h"
#include "bench/process/suite.h"
#include "bench/resident.h"

namespace ps {

namespace {

// Adds one to each id, since the ids of LIBLINEAR begin at 1.
void add_one_to_ids(std::string_view line, std::string& out) {
  bool first = true;
  for (std::string_view word : split(line, ' ')) {
    std::optional<uint64_t> id = parse_uint(word.substr(0, word.find(':')));
    if (!first && id) append(out, ' '), append(out, *id + 1), append(out, ":1");
    if (first) out += word;
    first = false;
  }
}

// Returns the average loss of the output of liblinear-predict -b 1.  That is a line "labels 0 1", then for
// each example a line with the answer and the probabilities of the labels in that order.
double predicted_loss(const std::string& path, const std::vector<float>& labels) {
  std::ifstream file(path);
  std::string word, first_label, second_label;
  file >> word >> first_label >> second_label;
  double loss = 0, probabilities[2];
  for (float label : labels) {
    file >> word >> probabilities[0] >> probabilities[1];
    bool second = parse_double(second_label) == static_cast<double>(label);
    loss -= std::log(probabilities[second]);
  }
  if (!file) fail(Code::kInternal, path, ": not what liblinear-predict writes");
  return loss / static_cast<double>(labels.size());
}

// Runs of LIBLINEAR.  It has no threads and runs once, since it takes long.  The loss on held-out data is
// told beside its time, since it makes some ten passes while others make one.  One owner thread.
class Liblinear final : public Workload {
 public:
  explicit Liblinear(const BenchSettings& settings) : folder_(settings.scratch) {
    for (const char* program : {"liblinear-train", "liblinear-predict"}) {
      expect_program(program, "Debian's is in liblinear-tools");
    }
    files_ = cached_rewrite(cached_data(settings, kFortyLibsvm, kFortySamples), ".from-1", add_one_to_ids);
  }

  void prepare() override { begin_peak(); }

  // Solver 0 is logistic regression with L2; with this tolerance it stops after some ten passes over the
  // data.
  void run() override {
    usage_ = run_child({.words = {"liblinear-train", "-s", "0", "-e", "0.1", "-q", files_.train, model()},
                        .errors = folder_.path("messages"),
                        .one_core = true});
  }

  void check() override {
    std::string answers = folder_.path("answers");
    run_child({.words = {"liblinear-predict", "-b", "1", files_.held_out, model(), answers},
               .errors = folder_.path("messages")});
    loss_ = predicted_loss(answers, labels_of(files_.held_out));
    expect_learned(loss_, files_.samples);
  }

  Work work() const override {
    return {.bytes = static_cast<double>(files_.bytes), .items = static_cast<double>(files_.samples)};
  }

  std::vector<Figure> figures() const override {
    return {{"CPU s", usage_.cpu_seconds},
            {kMegabytes, static_cast<double>(usage_.peak_bytes) / kBytesOfMegabyte},
            {kHeldOutLoss, loss_}};
  }

 private:
  std::string model() const { return folder_.path("model"); }

  const TemporaryFolder folder_;
  DataFiles files_;
  Usage usage_;
  double loss_ = 0;
};

}  // namespace

Benchmark liblinear_benchmark(const std::string& name) {
  return {.name = name,
          .help = "the same data by liblinear-train -s 0 -e 0.1",
          .unit = "examples",
          .make = [](const BenchSettings& settings) { return std::make_unique<Liblinear>(settings); },
          .most_runs = 1};
}

}  // namespace ps
