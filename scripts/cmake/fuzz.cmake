# libFuzzer with the address and undefined behaviour sanitizers (scripts/fuzz). Nothing but the fuzz targets.
set(CMAKE_C_COMPILER clang CACHE STRING "")
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(CMAKE_C_FLAGS_DEBUG "-O2 -g1" CACHE STRING "")
set(FGPU_SANITIZE "address,undefined" CACHE STRING "")
set(FGPU_FUZZ ON CACHE BOOL "")
set(FGPU_TESTS OFF CACHE BOOL "")
