// Runs the tests of a binary on a GPU.  A machine without one skips them: status 77.
#include <cuda_runtime.h>
#include <gmock/gmock.h>

#include <cstdio>

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || devices == 0) {
    std::printf("no GPU: %s\n", cudaGetErrorString(status));
    return 77;
  }
  cudaDeviceProp device;
  if (cudaGetDeviceProperties(&device, 0) == cudaSuccess) std::printf("on %s\n", device.name);
  return RUN_ALL_TESTS();
}
