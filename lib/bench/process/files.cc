#include "bench/process/files.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "data/synth/stream.h"
#include "data/writer.h"

namespace ps {

namespace {

constexpr uint64_t kFingerprintSamples = 64;
constexpr uint64_t kLeastHeldOut = 100,
                   kHeldOutShare = 50;  // one example in 50 is held out, but 100 at least

// The generator and the writer of a kind.  Constant after construction; one owner thread.
class Source {
 public:
  Source(const SyntheticKind& kind, double scale)
      : format_(find_writer(kind.format)), generator_(make_generator(kind, scale)) {
    writer_ = make_writer(format_, generator_->traits());
  }

  int64_t dim() const { return generator_->traits().schema.slots[0].dim; }

  void write(uint64_t first, uint64_t samples, int threads, const StreamSink& sink) const {
    generate_stream(*generator_, *writer_,
                    {.first = first, .samples = samples, .threads = threads, .sorted = format_.sorted}, sink,
                    nullptr);
  }

  // Returns a hash of the first examples, which changes with the generator, its options, and the writer.
  uint64_t fingerprint() const {
    std::string bytes;
    write(0, kFingerprintSamples, 1, [&](std::string_view piece, int64_t) {
      bytes += piece;
      return true;
    });
    return hash_bytes(bytes);
  }

 private:
  const WriterEntry& format_;
  const std::unique_ptr<Generator> generator_;
  std::unique_ptr<Writer> writer_;
};

// Writes examples into a file unless it exists.  A file that exists is complete, since it gets its name at
// the end.
void make_once(const std::string& path, const Source& source, uint64_t first, uint64_t samples, int threads) {
  if (exists(path)) return;
  AtomicFile file(path);
  source.write(first, samples, threads, [&](std::string_view bytes, int64_t) {
    file.write(bytes);
    return true;
  });
  file.commit();
}

template <class Body>
void for_lines(std::string_view text, Body&& body) {
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size() - 1);
    body(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
}

void rewrite_once(const std::string& from, const std::string& to, const RewriteLine& rewrite) {
  if (exists(to)) return;
  AtomicFile file(to);
  std::string line;
  for_lines(read_file(from, UINT64_MAX), [&](std::string_view text) {
    line.clear();
    rewrite(text, line);
    line += '\n';
    file.write(line);
  });
  file.commit();
}

}  // namespace

// The held-out examples are those that follow the ones for training, so they have the same law and are
// others.
DataFiles cached_data(const BenchSettings& settings, const SyntheticKind& kind, uint64_t full_samples) {
  Source source(kind, settings.scale);
  DataFiles files;
  files.samples = scaled_samples(settings.scale, full_samples);
  files.held_out_samples = std::max(kLeastHeldOut, files.samples / kHeldOutShare);
  files.dim = source.dim();
  make_directories(settings.cache);
  std::string name = cat(kind.kind, "-", files.samples, "-", source.fingerprint(), ".", kind.format);
  files.train = join_path(settings.cache, name);
  files.held_out = join_path(settings.cache, cat("held-out-", name));
  make_once(files.train, source, 0, files.samples, settings.threads);
  make_once(files.held_out, source, files.samples, files.held_out_samples, settings.threads);
  files.bytes = std::filesystem::file_size(files.train);
  return files;
}

DataFiles cached_rewrite(const DataFiles& files, const std::string& suffix, const RewriteLine& rewrite) {
  DataFiles out = files;
  out.train += suffix, out.held_out += suffix;
  rewrite_once(files.train, out.train, rewrite);
  rewrite_once(files.held_out, out.held_out, rewrite);
  out.bytes = std::filesystem::file_size(out.train);
  return out;
}

std::vector<float> labels_of(const std::string& path) {
  std::vector<float> labels;
  for_lines(read_file(path, UINT64_MAX), [&](std::string_view line) {
    std::optional<double> label = parse_double(line.substr(0, line.find(' ')));
    if (!label) fail(Code::kInternal, path, ": a line has no label: ", quote(line));
    labels.push_back(static_cast<float>(*label));
  });
  return labels;
}

}  // namespace ps
