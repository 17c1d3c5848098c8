#include "data_test.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/text.h"

namespace ps {

DataTest::DataTest() {
  std::string name = testing::TempDir() + "/ps_data_XXXXXX";
  folder_ = mkdtemp(name.data());
}

DataTest::~DataTest() {
  std::filesystem::remove_all(folder_);
}

std::string DataTest::put_file(const std::string& name, std::string_view bytes) {
  std::string path = folder_ + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string describe(const DataSchema& schema, const Batch& batch, int64_t example) {
  size_t b = static_cast<size_t>(example);
  std::string out = cat(batch.labels[b]);
  if (!batch.weights.empty()) out += cat("*", batch.weights[b]);
  if (!batch.groups.empty()) out += cat("@", batch.groups[b]);
  for (size_t s = 0; s < schema.slots.size(); ++s) {
    const SlotData& slot = batch.slots[s];
    out += cat(" ", schema.slots[s].name, ":");
    size_t width = static_cast<size_t>(schema.slots[s].dim);
    size_t begin = schema.slots[s].dense ? b * width : slot.offsets[b];
    size_t end = schema.slots[s].dense ? begin + width : slot.offsets[b + 1];
    for (size_t i = begin; i < end; ++i) {
      if (i > begin) out += ",";
      if (!schema.slots[s].dense) out += cat(slot.keys[i]);
      if (!schema.slots[s].dense && slot.valued()) out += "=";
      if (schema.slots[s].dense || slot.valued()) out += cat(slot.values[i]);
    }
  }
  return out;
}

std::vector<std::string> DataTest::read(const DataOptions& options, std::string_view bytes,
                                        ReaderSettings settings) {
  BatchReader reader(options, {put_file("data", bytes)}, settings);
  reader.begin_pass(0);
  std::vector<std::string> examples;
  Batch batch;
  while (reader.next(batch)) {
    for (int64_t b = 0; b < batch.size(); ++b) examples.push_back(describe(reader.schema(), batch, b));
  }
  return examples;
}

std::vector<std::string> DataTest::read_batches(BatchReader& reader, int pass) {
  reader.begin_pass(pass);
  std::vector<std::string> batches;
  Batch batch;
  while (reader.next(batch)) {
    std::string& text = batches.emplace_back();
    for (int64_t b = 0; b < batch.size(); ++b) text += describe(reader.schema(), batch, b) + "\n";
  }
  return batches;
}

std::string DataTest::error_text(const Error& error) const {
  std::string message = error.message();
  for (size_t at; (at = message.find(folder_ + "/")) != std::string::npos;)
    message.erase(at, folder_.size() + 1);
  return cat(static_cast<int>(error.code()), ": ", message);
}

std::string DataTest::error_of(const DataOptions& options, std::string_view bytes, ReaderSettings settings) {
  return error_from([&] { read(options, bytes, settings); });
}

DataOptions options_for(const std::string& format, int64_t dim) {
  DataOptions options;
  options.format = format;
  options.dim = dim;
  return options;
}

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

std::string sample_lines(int lines) {
  std::string out;
  for (int i = 0; i < lines; ++i) {
    out += cat(i % 3, i % 5 == 0 ? ":0.5" : "");
    for (int k = 0; k <= i % 7; ++k)
      out += cat(" ", (i * 7919 + k * 31) % 100003, i % 4 == 1 ? cat(":", 0.25 * k) : "");
    out += "\n";
  }
  return out;
}

struct FedPipe::Feeder {
  std::thread thread;
};

FedPipe::FedPipe(std::vector<std::string> pieces) : feeder_(std::make_unique<Feeder>()) {
  signal(SIGPIPE, SIG_IGN);
  if (pipe2(ends_, O_CLOEXEC) != 0) abort();
  feeder_->thread = std::thread([this, pieces = std::move(pieces)] {
    for (const std::string& piece : pieces) {
      size_t done = 0;
      while (done < piece.size()) {
        ssize_t wrote = write(ends_[1], piece.data() + done, piece.size() - done);
        if (wrote <= 0) break;
        done += static_cast<size_t>(wrote);
      }
    }
    close(ends_[1]);
  });
}

FedPipe::~FedPipe() {
  close(ends_[0]);  // ends a writer that waits
  feeder_->thread.join();
}

}  // namespace ps
