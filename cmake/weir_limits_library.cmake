# weir::limits, the limits of a limits file in a C++ program, beside weir::weir so that users of that alone need no
# libyaml.

add_library(weir_limits_library STATIC $<TARGET_OBJECTS:weir_limits>)
add_library(weir::limits ALIAS weir_limits_library)
set_target_properties(weir_limits_library PROPERTIES EXPORT_NAME limits OUTPUT_NAME weir_limits)
target_compile_features(weir_limits_library PUBLIC cxx_std_20)
# By its name, so that the package may be used where libyaml lies elsewhere.
target_link_libraries(weir_limits_library PUBLIC weir yaml)
weir_public_headers(weir_limits_library ${weir_limits_headers})

install(TARGETS weir_limits_library EXPORT weir_limits_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} FILE_SET HEADERS)
install(EXPORT weir_limits_targets NAMESPACE weir:: DESTINATION ${weir_package})
weir_pkg_config(weir-limits)
