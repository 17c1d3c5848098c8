#include "device/device_type.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "device/split_device.h"

namespace ps {

namespace {

constexpr std::string_view kCuda = "cuda", kEmulated = "emulated";

// Returns N if the type is NAME:N.
std::optional<int> number_of(std::string_view type, std::string_view name) {
  constexpr int64_t kMost = 1023;
  if (!type.starts_with(name) || !type.substr(name.size()).starts_with(':')) return std::nullopt;
  const std::optional<int64_t> number = parse_int(type.substr(name.size() + 1));
  if (!number || *number < 0 || *number > kMost) return std::nullopt;
  return static_cast<int>(*number);
}

bool is_device(std::string_view type) {
  return type == kEmulated || number_of(type, kEmulated) || number_of(type, kCuda);
}

std::unique_ptr<RowDevice> open_one(std::string_view type) {
  if (const std::optional<int> number = number_of(type, kCuda)) return make_cuda_device(*number);
  return make_emulated_device();
}

}  // namespace

std::optional<int> cuda_number(std::string_view type) {
  return number_of(type, kCuda);
}

// A name may have several devices, of which each must be known and none may come twice: both would share
// memory that each counts as its own.
void check_device_type(std::string_view type) {
  if (type == "cpu") return;
  const std::vector<std::string_view> all = split(type, ',');
  if (!std::ranges::all_of(all, is_device)) {
    fail(Code::kUsage, "device.type: found ", quote(type),
         ", expected 'cpu', 'emulated', or a GPU, as 'cuda:0', or several, as 'cuda:0,cuda:1'");
  }
  if (std::set(all.begin(), all.end()).size() == all.size()) return;
  fail(Code::kUsage, "device.type: ", quote(type), " names a device twice");
}

std::unique_ptr<RowDevice> open_row_device(std::string_view type) {
  check_device_type(type);
  PS_CHECK(type != "cpu");
  std::vector<std::unique_ptr<RowDevice>> devices;
  for (std::string_view one : split(type, ',')) devices.push_back(open_one(one));
  if (devices.size() == 1) return std::move(devices[0]);
  return std::make_unique<SplitDevice>(std::move(devices));
}

}  // namespace ps
