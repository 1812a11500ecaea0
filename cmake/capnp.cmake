# cubind_schema: C++ generated from protocol/schema/cubind.capnp at build time. The generated code is not ours: its
# headers are system headers and its source is compiled without our warnings.
find_program(CUBIND_CAPNP capnp REQUIRED)
find_program(CUBIND_CAPNPC_CXX capnpc-c++ REQUIRED)

set(schema ${PROJECT_SOURCE_DIR}/protocol/schema/cubind.capnp)
set(schema_out ${PROJECT_BINARY_DIR}/generated/protocol/schema)
file(MAKE_DIRECTORY ${schema_out})
add_custom_command(
  OUTPUT ${schema_out}/cubind.capnp.c++ ${schema_out}/cubind.capnp.h
  COMMAND ${CUBIND_CAPNP} compile -o${CUBIND_CAPNPC_CXX}:${schema_out} --src-prefix=${PROJECT_SOURCE_DIR}/protocol/schema ${schema}
  DEPENDS ${schema}
  COMMENT "Generating C++ from protocol/schema/cubind.capnp"
  VERBATIM)

add_library(cubind_schema STATIC ${schema_out}/cubind.capnp.c++)
set_source_files_properties(${schema_out}/cubind.capnp.c++ PROPERTIES LANGUAGE CXX)
target_include_directories(cubind_schema SYSTEM INTERFACE ${PROJECT_BINARY_DIR}/generated)
target_link_libraries(cubind_schema PUBLIC CapnProto::capnp)
