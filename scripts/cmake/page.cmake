# The web page in fgpu: every file of FGPU_PAGE_DIR, which scripts/page makes, compressed, in a table (routes/page.h). Without it a page that
# says how to build it: fgpu is built without node, and offline. Configured anew when a file changes, comes or goes.
set(FGPU_PAGE_DIR ${CMAKE_SOURCE_DIR}/build/page/dist CACHE PATH "The built web page; fgpu is built without it where it is not there")
find_program(GZIP gzip REQUIRED)

file(GLOB page_files CONFIGURE_DEPENDS ${FGPU_PAGE_DIR}/*)
set(page_is_built true)
if(NOT EXISTS ${FGPU_PAGE_DIR}/index.html)
    set(page_is_built false)
    set(page_files ${CMAKE_SOURCE_DIR}/scripts/cmake/page/index.html)
endif()
set(page_type_html "text/html; charset=utf-8")
set(page_type_js "text/javascript; charset=utf-8")
set(page_type_css "text/css; charset=utf-8")
set(page_type_svg "image/svg+xml")
set(page_type_json "application/json")
set(page_type_txt "text/plain; charset=utf-8")
set(page_type_png "image/png")
set(page_type_ico "image/vnd.microsoft.icon")
set(page_type_woff2 "font/woff2")
set(page_type_webmanifest "application/manifest+json")

set(page_dir ${CMAKE_BINARY_DIR}/generated/page)
file(REMOVE_RECURSE ${page_dir})
file(MAKE_DIRECTORY ${page_dir})
set(page_bytes "")
set(page_names "")
set(page_rows "")
set(page_n 0)
foreach(file IN LISTS page_files)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    get_filename_component(name ${file} NAME)
    string(REGEX MATCH "[a-z0-9]+$" suffix ${name})
    if(NOT DEFINED page_type_${suffix})
        message(FATAL_ERROR "${file}: no content type for .${suffix}; add it to scripts/cmake/page.cmake")
    endif()
    execute_process(COMMAND ${GZIP} -9nc ${file} OUTPUT_FILE ${page_dir}/${page_n}.gz COMMAND_ERROR_IS_FATAL ANY)
    file(SIZE ${file} size)
    file(SHA256 ${file} hash)
    string(SUBSTRING ${hash} 0 16 hash)
    set(immutable false)
    if(name MATCHES "-[0-9A-Za-z_]+\\.[a-z0-9]+$") # NAME-HASH.js, as src/page names them
        set(immutable true)
    endif()
    string(APPEND page_bytes "    \"page_asset_${page_n}: .incbin \\\"${page_dir}/${page_n}.gz\\\"\\n\"\n"
                             "    \"page_asset_${page_n}_end: .byte 0\\n\"\n")
    string(APPEND page_names "extern const uint8_t page_asset_${page_n}[], page_asset_${page_n}_end[];\n")
    string(APPEND page_rows "    {\"${name}\", \"${page_type_${suffix}}\", \"\\\"${hash}\\\"\", ${immutable}, page_asset_${page_n}, "
                            "page_asset_${page_n}_end, ${size}},\n")
    math(EXPR page_n "${page_n} + 1")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/page_assets.c @ONLY CONTENT [[
/* Made of the built page by scripts/cmake/page.cmake. */
#include "routes/page.h"

__asm__(
    ".section .rodata\n"
@page_bytes@    ".previous\n");
@page_names@
const struct page_asset page_assets[] = {
@page_rows@};
const size_t page_asset_n = sizeof(page_assets) / sizeof(page_assets[0]);
const bool page_is_built = @page_is_built@;
]])
set_source_files_properties(${CMAKE_BINARY_DIR}/generated/page_assets.c PROPERTIES OBJECT_DEPENDS "${page_files}")
target_sources(fgpu_routes PRIVATE ${CMAKE_BINARY_DIR}/generated/page_assets.c)
