# weir::weir, what users link: the rule, the embedded store and the limiters in one library, which is static unless
# BUILD_SHARED_LIBS says otherwise.

file(READ ${weir_SOURCE_DIR}/include/weir/version.hpp weir_version_header)
if(NOT weir_version_header MATCHES "#define WEIR_VERSION \"${weir_VERSION}\"\n")
  message(FATAL_ERROR "include/weir/version.hpp is not of weir ${weir_VERSION}, which CMakeLists.txt names")
endif()

add_library(weir $<TARGET_OBJECTS:weir_core> $<TARGET_OBJECTS:weir_store> $<TARGET_OBJECTS:weir_library>)
# The numbers that the inline namespace has: libraries that differ in them are not exchanged for each other.
set(weir_library_version VERSION ${weir_VERSION} SOVERSION ${weir_VERSION_MAJOR}.${weir_VERSION_MINOR}
                         INSTALL_RPATH $ORIGIN)
set_target_properties(weir PROPERTIES ${weir_library_version})
add_library(weir::weir ALIAS weir)
target_compile_features(weir PUBLIC cxx_std_20)
target_link_libraries(weir PUBLIC tl::expected Threads::Threads)
if(WEIR_SANITIZE)
  target_link_options(weir PUBLIC -fsanitize=${WEIR_SANITIZE})
endif()

# Every public header belongs to one library: those of weir::redis and weir::limits are named here, the others are weir::weir's.
if(PROJECT_IS_TOP_LEVEL)
  set(weir_watched CONFIGURE_DEPENDS)  # a new header is found without being told; other people's builds need not look
endif()
file(GLOB weir_headers ${weir_watched} ${weir_SOURCE_DIR}/include/weir/*.hpp)
set(weir_redis_headers ${weir_SOURCE_DIR}/include/weir/redis.hpp)
set(weir_limits_headers ${weir_SOURCE_DIR}/include/weir/limits.hpp)
list(REMOVE_ITEM weir_headers ${weir_redis_headers} ${weir_limits_headers})

# weir_public_headers(TARGET HEADERS...): for users, and each of them compiles alone
# (the target all_verify_interface_header_sets).
function(weir_public_headers target)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${weir_SOURCE_DIR}/include FILES ${ARGN})
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ${PROJECT_IS_TOP_LEVEL})
endfunction()
weir_public_headers(weir ${weir_headers})

# weir_uses_internals(TARGET FOLDERS...): a shared library shows no internals, so another one that needs them has them
# again, for itself. In a program, static libraries have them once.
function(weir_uses_internals target)
  if(BUILD_SHARED_LIBS)
    target_link_libraries(${target} PRIVATE ${ARGN})
    target_link_options(${target} PRIVATE LINKER:--exclude-libs,ALL)
  endif()
endfunction()

# weir_install_library(TARGET EXPORT)
function(weir_install_library target export)
  if(WEIR_INSTALL)
    install(TARGETS ${target} EXPORT ${export} FILE_SET HEADERS
            ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(EXPORT ${export} NAMESPACE weir:: DESTINATION ${weir_package})
  endif()
endfunction()

# weir_pkg_config(NAME): installs NAME.pc, which finds the rest from where it lies, so that the folder may be moved.
function(weir_pkg_config name)
  if(NOT WEIR_INSTALL)
    return()
  endif()
  file(RELATIVE_PATH weir_pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  configure_file(${weir_SOURCE_DIR}/cmake/${name}.pc.in ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

set(weir_package ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
weir_install_library(weir weir_targets)
weir_pkg_config(weir)
if(NOT WEIR_INSTALL)
  return()
endif()
include(CMakePackageConfigHelpers)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/weirConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/weirConfig.cmake
                              INSTALL_DESTINATION ${weir_package})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/weirConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/weirConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/weirConfigVersion.cmake
        DESTINATION ${weir_package})
