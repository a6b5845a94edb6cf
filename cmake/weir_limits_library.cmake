# weir::limits, the limits of a limits file in a C++ program, beside weir::weir so that users of that alone need no
# libyaml.

add_library(weir_limits_library $<TARGET_OBJECTS:weir_limits> $<TARGET_OBJECTS:weir_service_questions> $<TARGET_OBJECTS:weir_library_limits>)
add_library(weir::limits ALIAS weir_limits_library)
set_target_properties(weir_limits_library PROPERTIES EXPORT_NAME limits OUTPUT_NAME weir_limits ${weir_library_version})
target_compile_features(weir_limits_library PUBLIC cxx_std_20)
# By its name, so that the package may be used where libyaml lies elsewhere.
target_link_libraries(weir_limits_library PUBLIC weir yaml)
weir_uses_internals(weir_limits_library weir_store weir_core)
weir_public_headers(weir_limits_library ${weir_limits_headers})

weir_install_library(weir_limits_library weir_limits_targets)
weir_pkg_config(weir-limits)
