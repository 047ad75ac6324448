# Debian's cross compiler, and the libraries that scripts/debian-root unpacked.
execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/../debian-root arm64 OUTPUT_VARIABLE debian_root OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_SYSROOT ${debian_root})
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${debian_root})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${debian_root}/usr/lib/aarch64-linux-gnu/pkgconfig:${debian_root}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${debian_root})
