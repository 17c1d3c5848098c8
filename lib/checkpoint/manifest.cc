#include "checkpoint/manifest.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/hash.h"
#include "config/spec.h"
#include "table/table_partition.h"

namespace ps {

namespace {

constexpr int kVersion = 2;
// The last line of a manifest, and the end: a fixed number of bytes, so that the tail is found from the end
// of the text.
constexpr std::string_view kTailBegin = "  \"checksum\": \"", kTailEnd = "\"\n}\n";
constexpr size_t kTailBytes = kTailBegin.size() + 16 + kTailEnd.size();

// The structs of the JSON document.
struct SectionJson {
  std::string table;
  int64_t partition = 0, rows = 0, gone = 0;
  static const ObjectSpec<SectionJson>& spec();
};

struct FileJson {
  std::string path;
  int64_t bytes = 0;
  std::string checksum;
  std::vector<SectionJson> sections;
  std::vector<std::string> states;
  static const ObjectSpec<FileJson>& spec();
};

struct TableJson {
  std::string name;
  bool sparse = false, stamped = false;
  uint64_t rows = 0;
  int64_t width = 0, state_arrays = 0;
  std::vector<std::string> statistics;
  static const ObjectSpec<TableJson>& spec();
};

struct BaseJson {
  std::string folder, checksum;
  static const ObjectSpec<BaseJson>& spec();
};

struct ManifestJson {
  std::string format = "pskit checkpoint";
  int64_t version = kVersion, oldest_reader = kVersion;
  int64_t step = 0;
  uint64_t generation = 0;
  int64_t partitions = kPartitions;
  std::optional<BaseJson> base;
  Json job;
  std::vector<TableJson> tables;
  std::vector<FileJson> files;
  std::string checksum;
  static const ObjectSpec<ManifestJson>& spec();
};

const ObjectSpec<SectionJson>& SectionJson::spec() {
  static const ObjectSpec<SectionJson> spec = [] {
    ObjectSpec<SectionJson> s;
    s.field("table", &SectionJson::table, "").must();
    s.field("partition", &SectionJson::partition, "").at_least(0).at_most(UINT32_MAX).must();
    s.field("rows", &SectionJson::rows, "").at_least(0).must();
    s.field("gone", &SectionJson::gone, "").at_least(0);
    return s;
  }();
  return spec;
}

const ObjectSpec<FileJson>& FileJson::spec() {
  static const ObjectSpec<FileJson> spec = [] {
    ObjectSpec<FileJson> s;
    s.field("path", &FileJson::path, "").must();
    s.field("bytes", &FileJson::bytes, "").at_least(0).must();
    s.field("checksum", &FileJson::checksum, "").must();
    s.field("sections", &FileJson::sections, "");
    s.field("states", &FileJson::states, "");
    return s;
  }();
  return spec;
}

const ObjectSpec<TableJson>& TableJson::spec() {
  static const ObjectSpec<TableJson> spec = [] {
    ObjectSpec<TableJson> s;
    s.field("name", &TableJson::name, "").must();
    s.field("sparse", &TableJson::sparse, "").must();
    s.field("rows", &TableJson::rows, "").must();
    s.field("width", &TableJson::width, "").at_least(1).at_most(1 << 28).must();
    s.field("state_arrays", &TableJson::state_arrays, "").at_least(0).at_most(64).must();
    s.field("stamped", &TableJson::stamped, "").must();
    s.field("statistics", &TableJson::statistics, "");
    return s;
  }();
  return spec;
}

const ObjectSpec<BaseJson>& BaseJson::spec() {
  static const ObjectSpec<BaseJson> spec = [] {
    ObjectSpec<BaseJson> s;
    s.field("folder", &BaseJson::folder, "").must();
    s.field("checksum", &BaseJson::checksum, "").must();
    return s;
  }();
  return spec;
}

const ObjectSpec<ManifestJson>& ManifestJson::spec() {
  static const ObjectSpec<ManifestJson> spec = [] {
    ObjectSpec<ManifestJson> s;
    s.field("format", &ManifestJson::format, "").one_of({"pskit checkpoint"}).must();
    s.field("version", &ManifestJson::version, "").at_least(kVersion).must();
    s.field("oldest_reader", &ManifestJson::oldest_reader, "").at_most(kVersion).must();
    s.field("step", &ManifestJson::step, "").at_least(0).must();
    s.field("generation", &ManifestJson::generation, "");
    s.field("partitions", &ManifestJson::partitions, "").must();
    s.field("base", &ManifestJson::base, "");
    s.field("job", &ManifestJson::job, "");
    s.field("tables", &ManifestJson::tables, "").must();
    s.field("files", &ManifestJson::files, "").must();
    s.field("checksum", &ManifestJson::checksum, "").must();
    return s;
  }();
  return spec;
}

// Returns the number of 16 hexadecimal digits.  Throws kCorrupt for any other text.
uint64_t parse_checksum(const std::string& text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size() || text.size() != 16) {
    fail(Code::kCorrupt, "checksum ", quote(text), " is not 16 hexadecimal digits");
  }
  return value;
}

// Checks that a name is a plain file name, which cannot lead out of the folder.
void check_name(const std::string& name) {
  if (!name.empty() && name[0] != '.' && name.find('/') == std::string::npos &&
      name.find('\0') == std::string::npos && name != kManifestFile) {
    return;
  }
  fail(Code::kCorrupt, quote(name), " is not the name of a file");
}

// Returns the entry of a file, whose sections name tables of the manifest.  The name must be that of a file
// of the folder, since it comes from the document and is opened.
FileEntry decode_file(const FileJson& json, const std::map<std::string, const TableLayout*>& tables) {
  check_name(json.path);
  FileEntry file{
      json.path, {static_cast<uint64_t>(json.bytes), parse_checksum(json.checksum)}, {}, json.states};
  for (const SectionJson& section : json.sections) {
    auto found = tables.find(section.table);
    if (found == tables.end()) fail(Code::kCorrupt, quote(json.path), ": no table ", quote(section.table));
    if (found->second->sparse && section.partition >= kPartitions) {
      fail(Code::kCorrupt, quote(json.path), ": no partition ", section.partition);
    }
    file.sections.push_back({section.table, static_cast<uint32_t>(section.partition),
                             static_cast<uint64_t>(section.rows), static_cast<uint64_t>(section.gone)});
  }
  return file;
}

// Two entries for the same rows or the same state would make it a matter of order which of them is read.
void check_unique(const Manifest& manifest) {
  std::set<std::string> paths, states;
  std::set<std::pair<std::string, uint32_t>> sections;
  for (const FileEntry& file : manifest.files) {
    if (!paths.insert(file.path).second) fail(Code::kCorrupt, quote(file.path), " is listed twice");
    for (const SectionEntry& section : file.sections) {
      if (sections.insert({section.table, section.partition}).second) continue;
      fail(Code::kCorrupt, "partition ", section.partition, " of ", quote(section.table), " is listed twice");
    }
    for (const std::string& state : file.states) {
      if (!states.insert(state).second) fail(Code::kCorrupt, "state ", quote(state), " is listed twice");
    }
  }
}

// Checks the references between the parts of the document: names of tables are unique, a section names a
// table that is there and a partition of it, and no file, section or state is listed twice.
Manifest from_json(const ManifestJson& json) {
  if (json.partitions != kPartitions) {
    fail(Code::kCorrupt, json.partitions, " partitions, expected ", kPartitions);
  }
  Manifest manifest;
  manifest.step = json.step;
  manifest.generation = json.generation;
  manifest.job = json.job;
  if (json.base) {
    check_name(json.base->folder);
    manifest.base = {json.base->folder, parse_checksum(json.base->checksum)};
  }
  for (const TableJson& table : json.tables) {
    manifest.tables.push_back({table.name, table.sparse, table.rows, table.width,
                               static_cast<int>(table.state_arrays), table.stamped, table.statistics});
  }
  std::map<std::string, const TableLayout*> tables;
  for (const TableLayout& table : manifest.tables) {
    if (!tables.emplace(table.name, &table).second) fail(Code::kCorrupt, "two tables ", quote(table.name));
  }
  for (const FileJson& file : json.files) manifest.files.push_back(decode_file(file, tables));
  check_unique(manifest);
  return manifest;
}

ManifestJson to_json(const Manifest& manifest) {
  ManifestJson json;
  json.step = manifest.step;
  json.generation = manifest.generation;
  json.job = manifest.job;
  if (manifest.base) json.base = {manifest.base->folder, checksum_text(manifest.base->checksum)};
  for (const TableLayout& table : manifest.tables) {
    json.tables.push_back({table.name, table.sparse, table.stamped, table.rows, table.width,
                           table.state_arrays, table.statistics});
  }
  for (const FileEntry& file : manifest.files) {
    FileJson& out = json.files.emplace_back();
    out.path = file.path;
    out.bytes = static_cast<int64_t>(file.sum.bytes);
    out.checksum = checksum_text(file.sum.checksum);
    out.states = file.states;
    for (const SectionEntry& section : file.sections) {
      out.sections.push_back({section.table, section.partition, static_cast<int64_t>(section.rows),
                              static_cast<int64_t>(section.gone)});
    }
  }
  return json;
}

std::string tail(uint64_t checksum) {
  return cat(kTailBegin, checksum_text(checksum), kTailEnd);
}

}  // namespace

// The checksum is the last field of the document, so its line can be cut off, and be written again with the
// checksum of all that stands before it.
std::string encode_manifest(const Manifest& manifest) {
  std::string text = ManifestJson::spec().to_json(to_json(manifest)).dump(2) + "\n";
  PS_CHECK(text.ends_with(cat("  \"checksum\": \"\"\n}\n")));
  text.resize(text.size() - cat(kTailBegin, kTailEnd).size());
  return text + tail(hash_bytes(text));
}

uint64_t manifest_checksum(std::string_view text) {
  return hash_bytes(text.substr(0, text.size() - std::min(text.size(), kTailBytes)));
}

// The tail is compared as text, byte by byte, before the document is parsed: damaged or cut text is never
// parsed.
Manifest decode_manifest(std::string_view text, const std::string& name) {
  const size_t body = text.size() - std::min(text.size(), kTailBytes);
  if (text.substr(body) != tail(manifest_checksum(text))) {
    fail(Code::kCorrupt, name, ": offset ", body, ": expected the checksum ",
         checksum_text(manifest_checksum(text)), " and the end");
  }
  try {
    return from_json(ManifestJson::spec().parse(parse_json(text, name), ""));
  } catch (const Error& error) {
    fail(Code::kCorrupt, name, ": offset 0: ", error.message());
  }
}

Json comparable_job(Json job, const Json& earlier) {
  constexpr const char* kFeatureKeys[] = {"cross", "dense", "hash_bits", "log_counts", "unit_length"};
  const bool known = earlier.contains("data") && earlier["data"].contains("unit_length");
  if (known || !job.contains("data")) return job;
  for (const char* key : kFeatureKeys) job["data"].erase(key);
  return job;
}

// Shards write different sections of the same tables, so each table is taken from the first part that has
// it, and files are taken from all.
Manifest join_manifests(std::span<const Manifest> parts) {
  Manifest whole{.base = parts.front().base};
  std::set<std::string> tables;
  for (const Manifest& part : parts) {
    if (part.base != whole.base) {
      fail(Code::kUnavailable, "the parts of different servers build on different checkpoints");
    }
    for (const TableLayout& layout : part.tables) {
      if (tables.insert(layout.name).second) whole.tables.push_back(layout);
    }
    whole.files.insert(whole.files.end(), part.files.begin(), part.files.end());
  }
  return whole;
}

}  // namespace ps
