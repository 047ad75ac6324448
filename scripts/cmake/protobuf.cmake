# src/nri/nri.proto as C, by protoc-c, which writes code that our warnings are not for.
set(protobuf_dir ${CMAKE_BINARY_DIR}/generated/nri)
add_custom_command(
    OUTPUT ${protobuf_dir}/nri.pb-c.c ${protobuf_dir}/nri.pb-c.h
    COMMAND ${CMAKE_COMMAND} -E make_directory ${protobuf_dir}
    COMMAND ${PROTOC_C} --proto_path=${CMAKE_SOURCE_DIR}/src/nri --c_out=${protobuf_dir} ${CMAKE_SOURCE_DIR}/src/nri/nri.proto
    DEPENDS ${CMAKE_SOURCE_DIR}/src/nri/nri.proto
    VERBATIM)
add_library(fgpu_nri_messages STATIC ${protobuf_dir}/nri.pb-c.c ${protobuf_dir}/nri.pb-c.h)
target_include_directories(fgpu_nri_messages SYSTEM PUBLIC ${protobuf_dir})
target_link_libraries(fgpu_nri_messages PUBLIC PkgConfig::PROTOBUF_C)
target_link_libraries(fgpu_nri PUBLIC fgpu_nri_messages)
