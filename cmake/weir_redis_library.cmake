# weir::redis, for limits that many processes share: the client of Redis, beside weir::weir so that users of that
# alone need neither OpenSSL nor Boost.

add_library(weir_redis_library STATIC $<TARGET_OBJECTS:weir_net> $<TARGET_OBJECTS:weir_resp> $<TARGET_OBJECTS:weir_redis>)
add_library(weir::redis ALIAS weir_redis_library)
set_target_properties(weir_redis_library PROPERTIES EXPORT_NAME redis OUTPUT_NAME weir_redis)
target_compile_features(weir_redis_library PUBLIC cxx_std_20)
target_link_libraries(weir_redis_library PUBLIC weir PRIVATE $<BUILD_INTERFACE:Boost::headers>
                                         PUBLIC OpenSSL::SSL OpenSSL::Crypto)
weir_public_headers(weir_redis_library ${weir_redis_headers})

install(TARGETS weir_redis_library EXPORT weir_redis_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} FILE_SET HEADERS)
install(EXPORT weir_redis_targets NAMESPACE weir:: DESTINATION ${weir_package})
weir_pkg_config(weir-redis)
