# Address, undefined behaviour and leak checking; arenas hand out one malloc per object here.
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g" CACHE STRING "")
set(FGPU_SANITIZE "address,undefined" CACHE STRING "")
