# The Debian package `fgpu`, which scripts/package makes with CPack (decision 0079): what `cmake --install` installs, and what only a
# package has: unit, configuration, documentation. Of the commit's time, so that it is the same whenever it is made.
set(FGPU_MAINTAINER "fgpu maintainers <maintainers@fgpu.invalid>" CACHE STRING "Whom the package names: NAME <ADDRESS>")
set(packaging_dir ${CMAKE_SOURCE_DIR}/scripts/packaging)
set(packaging_made ${CMAKE_BINARY_DIR}/packaging)

# Debian's own places for packages, whatever the prefix of the build is.
function(fgpu_package_file to)
    install(FILES ${ARGN} DESTINATION ${to} COMPONENT package EXCLUDE_FROM_ALL)
endfunction()
fgpu_package_file(/lib/systemd/system ${packaging_dir}/fgpu.service)
fgpu_package_file(/etc/fgpu ${packaging_dir}/fgpu.yaml)
configure_file(${packaging_dir}/changelog.in ${packaging_made}/changelog @ONLY)
fgpu_package_file(/usr/share/doc/fgpu ${packaging_made}/changelog ${packaging_dir}/copyright ${packaging_dir}/README.Debian)
fgpu_package_file(/usr/share/doc/fgpu/examples ${CMAKE_SOURCE_DIR}/manifests/control-plane/rbac.yaml
                  ${CMAKE_SOURCE_DIR}/manifests/control-plane/ops-access.yaml
                  ${CMAKE_SOURCE_DIR}/manifests/control-plane/scheduler.yaml ${CMAKE_SOURCE_DIR}/manifests/mtls/certificates.sh
                  ${CMAKE_SOURCE_DIR}/config/fgpu.yaml)
install(FILES ${packaging_dir}/lintian-overrides DESTINATION /usr/share/lintian/overrides RENAME fgpu COMPONENT package EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME fgpu)
set(CPACK_PACKAGE_VENDOR fgpu)
set(CPACK_PACKAGE_CONTACT "${FGPU_MAINTAINER}")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "scheduler extender of Kubernetes that lets pods share GPUs")
set(CPACK_PACKAGE_DESCRIPTION "kube-scheduler can only assign whole GPUs. fgpu runs beside it,
keeps a ledger of compute and memory of every GPU, packs pods onto the GPUs
where they fit, and writes node and devices of a pod in one write.
.
This package has the service, which starts once it is configured
(README.Debian), and the commands that read a running fgpu, of a cluster too:
as kubectl-fgpu it is a plugin of kubectl.")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/package)
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${packaging_dir}/tidy.cmake)
set(CPACK_COMPONENTS_ALL Unspecified package)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS tzdata) # time zones of time windows; libraries are added to it
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${packaging_dir}/conffiles ${packaging_dir}/postinst ${packaging_dir}/prerm ${packaging_dir}/postrm)
include(CPack)
