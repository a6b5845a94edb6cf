# weir::redis, for limits that many processes share: the client of Redis, beside weir::weir so that users of that
# alone need neither OpenSSL nor Boost.

add_library(weir_redis_library $<TARGET_OBJECTS:weir_net> $<TARGET_OBJECTS:weir_resp> $<TARGET_OBJECTS:weir_redis>
                               $<TARGET_OBJECTS:weir_library_redis>)
add_library(weir::redis ALIAS weir_redis_library)
set_target_properties(weir_redis_library PROPERTIES EXPORT_NAME redis OUTPUT_NAME weir_redis ${weir_library_version})
target_compile_features(weir_redis_library PUBLIC cxx_std_20)
target_link_libraries(weir_redis_library PUBLIC weir PRIVATE $<BUILD_INTERFACE:Boost::headers>
                                         PUBLIC OpenSSL::SSL OpenSSL::Crypto)
weir_uses_internals(weir_redis_library weir_store weir_core)
weir_public_headers(weir_redis_library ${weir_redis_headers})

weir_install_library(weir_redis_library weir_redis_targets)
weir_pkg_config(weir-redis)
