// Measures time and memory of Vowpal Wabbit on the data of process/logistic.
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "bench/process/child.h"
#include "bench/process/files.h"
#include "bench/process/suite.h"
#include "bench/resident.h"

namespace ps {

namespace {

// Rewrites the features "17:1 30:1" as "| 17 30", and the label 0 as -1.
void rewrite_line(std::string_view line, std::string& out) {
  size_t space = std::min(line.find(' '), line.size());
  append(out, line.substr(0, space) == "0" ? "-1 |" : "1 |");
  for (std::string_view word : split(line.substr(space), ' ')) {
    if (!word.empty()) append(out, ' '), append(out, word.substr(0, word.find(':')));
  }
}

// Reads "average loss = 0.31" from the messages; the loss of each example counts before it is learned.
double average_loss(const std::string& path) {
  constexpr std::string_view kLabel = "\naverage loss = ";
  std::string text = read_file(path);
  size_t position = text.find(kLabel);
  std::optional<double> loss;
  if (position != std::string::npos) {
    position += kLabel.size();
    loss =
        parse_double(std::string_view(text).substr(position, text.find_first_of(" \n", position) - position));
  }
  if (!loss) fail(Code::kInternal, "vw told no average loss");
  return *loss;
}

// Runs of vw.  It reads the data in its own format, from a file that is made before the time begins, and
// makes one pass, as process/logistic does.  One owner thread.
class VowpalWabbit final : public Workload {
 public:
  explicit VowpalWabbit(const BenchSettings& settings)
      : one_core_(on_one_core(settings.threads)), folder_(settings.scratch) {
    expect_program("vw", "see https://vowpalwabbit.org");
    files_ = cached_rewrite(cached_data(settings, kFortyLibsvm, kFortySamples), ".vw", rewrite_line);
  }

  void prepare() override { begin_peak(); }

  // Runs vw with its defaults, except for the loss and for 2^24 weights, which are about as many as there are
  // ids.
  void run() override {
    usage_ = run_child(command({"-b", "24", "-d", files_.train, "-f", model()}));
    loss_ = average_loss(messages());
  }

  void check() override {
    run_child(command({"-t", "-i", model(), "-d", files_.held_out}));
    held_out_loss_ = average_loss(messages());
    expect_learned(held_out_loss_, files_.samples);
  }

  Work work() const override {
    return {.bytes = static_cast<double>(files_.bytes), .items = static_cast<double>(files_.samples)};
  }

  std::vector<Figure> figures() const override {
    return {{"CPU s", usage_.cpu_seconds},
            {kMegabytes, static_cast<double>(usage_.peak_bytes) / kBytesOfMegabyte},
            {"loss", loss_},
            {kHeldOutLoss, held_out_loss_}};
  }

 private:
  Command command(const std::vector<std::string>& arguments) const {
    Command out{.words = {"vw", "--loss_function", "logistic"}, .errors = messages(), .one_core = one_core_};
    out.words.insert(out.words.end(), arguments.begin(), arguments.end());
    return out;
  }
  std::string model() const { return folder_.path("model"); }
  std::string messages() const { return folder_.path("messages"); }

  const bool one_core_;
  const TemporaryFolder folder_;
  DataFiles files_;
  Usage usage_;
  double loss_ = 0, held_out_loss_ = 0;
};

}  // namespace

Benchmark vowpal_wabbit_benchmark(const std::string& name) {
  return {.name = name,
          .help = "the same data by Vowpal Wabbit, where vw is installed; 1 thread is on one core",
          .unit = "examples",
          .make = [](const BenchSettings& settings) { return std::make_unique<VowpalWabbit>(settings); },
          .threaded = true};
}

}  // namespace ps
