# The flags of every translation unit. A flag that needs a word has one.
add_library(fgpu_warnings INTERFACE)
target_compile_options(fgpu_warnings INTERFACE
    -Wall -Wextra -Wshadow
    -Wno-missing-field-initializers    # rows of tables leave out what is zero at their end
    -Wconversion -Wsign-conversion     # sums of money and memory: no silent narrowing
    -Wcast-qual -Wcast-align -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
    -Wpointer-arith -Wwrite-strings -Wformat=2 -Wvla -Walloca -Wundef
    -Wswitch-enum                      # switches over our enums name every case and have no default
    -Wnull-dereference -Wdouble-promotion -Wimplicit-fallthrough
    -fno-omit-frame-pointer -fstack-protector-strong -fno-common)
if(CMAKE_C_COMPILER_ID STREQUAL GNU)
    target_compile_options(fgpu_warnings INTERFACE
        -Wlogical-op -Wduplicated-cond -Wduplicated-branches)
endif()
if(FGPU_WERROR)
    target_compile_options(fgpu_warnings INTERFACE -Werror)
endif()
if(FGPU_SANITIZE)
    # PUBLIC to everything, test programs included: the runtime must be linked in.
    add_compile_options(-fsanitize=${FGPU_SANITIZE} -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${FGPU_SANITIZE})
endif()
if(FGPU_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link) # libFuzzer's own main comes with the targets
endif()
if(CMAKE_BUILD_TYPE STREQUAL Release)
    target_compile_options(fgpu_warnings INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
    add_link_options(-pie -Wl,-z,relro -Wl,-z,now)
    # The same from whatever folder it is built, and with a compiler cache that makes paths relative: images are compared by
    # their digests (decision 0073).
    add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/= -ffile-prefix-map=../../= -ffile-prefix-map=${CMAKE_BINARY_DIR}=build
                        -ffile-prefix-map=generated/=build/generated/)
endif()
