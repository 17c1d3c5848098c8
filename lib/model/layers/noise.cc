#include "model/layers/noise.h"

#include "base/error.h"
#include "base/file.h"
#include "config/spec.h"

namespace ps {

namespace {

struct NoiseFile {
  std::string file;

  static const ObjectSpec<NoiseFile>& spec() {
    static const ObjectSpec<NoiseFile> spec = [] {
      ObjectSpec<NoiseFile> s;
      s.field("file", &NoiseFile::file, "weights of the classes, one a line").must();
      return s;
    }();
    return spec;
  }
};

FieldSpec named_noise() {
  FieldSpec field;
  field.one_of({"uniform", "log_uniform"});
  return field;
}

// Returns the text after the last space or tab.
std::string_view last_field(std::string_view line) {
  size_t space = line.find_last_of(" \t");
  return space == std::string_view::npos ? line : line.substr(space + 1);
}

}  // namespace

void check_noise(const Json& noise, std::string_view path) {
  std::string name;
  if (noise.is_object()) {
    NoiseFile::spec().parse(noise, path);
  } else {
    spec_internal::read(noise, named_noise(), path, name);
  }
}

NoiseDistribution make_noise(const Json& noise, int64_t classes) {
  if (noise.is_object()) {
    return NoiseDistribution::of_weights(
        read_class_weights(NoiseFile::spec().parse(noise, "noise").file, classes));
  }
  return noise == "uniform" ? NoiseDistribution::uniform(classes) : NoiseDistribution::log_uniform(classes);
}

// A line may have other fields, such as the name of the class, before its weight.  The line number of an
// error follows from the number of weights so far, since every line has one.
std::vector<double> read_class_weights(const std::string& file, int64_t classes) {
  const std::string text = read_file(file);
  std::vector<std::string_view> lines = split(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  std::vector<double> weights;
  for (std::string_view line : lines) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::optional<double> weight = parse_double(last_field(line));
    if (weight && *weight > 0) {
      weights.push_back(*weight);
    } else {
      fail(Code::kUsage, file, ":", weights.size() + 1, ": weight ", quote(last_field(line)),
           " is not a positive number");
    }
  }
  if (static_cast<int64_t>(weights.size()) == classes) return weights;
  fail(Code::kUsage, "noise.file: ", quote(file), " has ", weights.size(),
       " weights, expected one for each of ", classes, " classes");
}

}  // namespace ps
