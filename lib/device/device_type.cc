#include "device/device_type.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"

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

}  // namespace

std::optional<int> cuda_number(std::string_view type) {
  return number_of(type, kCuda);
}

// A name may have several devices, of which each must be known and none may come twice: both would share
// memory that each counts as its own.  All are of one kind, since they copy from each other.
void check_device_type(std::string_view type) {
  if (type == "cpu") return;
  const std::vector<std::string_view> all = split(type, ',');
  if (!std::ranges::all_of(all, is_device)) {
    fail(Code::kUsage, "device.type: found ", quote(type),
         ", expected 'cpu', 'emulated', or a GPU, as 'cuda:0', or several, as 'cuda:0,cuda:1'");
  }
  if (std::set(all.begin(), all.end()).size() != all.size())
    fail(Code::kUsage, "device.type: ", quote(type), " names a device twice");
  const auto gpus =
      std::ranges::count_if(all, [](std::string_view one) { return cuda_number(one).has_value(); });
  if (gpus != 0 && gpus != std::ssize(all)) {
    fail(Code::kUsage, "device.type: ", quote(type),
         " names GPUs and emulated devices, expected several of one kind");
  }
}

std::unique_ptr<RowDevice> open_row_device(std::string_view type) {
  check_device_type(type);
  PS_CHECK(type != "cpu");
  const std::vector<std::string_view> all = split(type, ',');
  std::vector<int> gpus;
  for (std::string_view one : all) {
    if (const std::optional<int> number = cuda_number(one)) gpus.push_back(*number);
  }
  if (gpus.empty()) return all.size() == 1 ? make_emulated_device() : make_emulated_devices(all.size());
  return gpus.size() == 1 ? make_cuda_device(gpus[0]) : make_cuda_devices(gpus);
}

}  // namespace ps
