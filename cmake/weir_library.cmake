# weir::weir, what users link: the rule and the embedded store in one static library.

add_library(weir STATIC $<TARGET_OBJECTS:weir_core> $<TARGET_OBJECTS:weir_store>)
add_library(weir::weir ALIAS weir)
target_compile_features(weir PUBLIC cxx_std_20)
target_include_directories(weir PUBLIC $<BUILD_INTERFACE:${weir_SOURCE_DIR}/include>
                                       $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(weir PUBLIC tl::expected Threads::Threads)
if(WEIR_SANITIZE)
  target_link_options(weir PUBLIC -fsanitize=${WEIR_SANITIZE})
endif()

include(CMakePackageConfigHelpers)
set(weir_package ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
install(TARGETS weir EXPORT weir_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${weir_SOURCE_DIR}/include/weir DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT weir_targets NAMESPACE weir:: DESTINATION ${weir_package})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/weirConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/weirConfig.cmake
                              INSTALL_DESTINATION ${weir_package})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/weirConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/weirConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/weirConfigVersion.cmake
        DESTINATION ${weir_package})
