# The arm64 profile with its unit tests, which ctest runs in qemu (scripts/test-arm64).
set(FGPU_TESTS ON CACHE BOOL "")
set(FGPU_WERROR OFF CACHE BOOL "") # of tests, which no other profile optimises so far, gcc says more here
include(${CMAKE_CURRENT_LIST_DIR}/arm64.cmake)
