# An overlay port of the sources that it lies in: docs/packaging.md.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS FEATURES
                     redis WEIR_BUILD_REDIS
                     limits WEIR_BUILD_LIMITS)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
                      OPTIONS -DWEIR_BUILD_SERVER=OFF -DWEIR_BUILD_TESTS=OFF -DWEIR_BUILD_BENCH=OFF
                              -DWEIR_INSTALL=ON ${FEATURE_OPTIONS})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/weir)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
