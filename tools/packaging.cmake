# `cpack --config build/CPackConfig.cmake` makes a Debian package and a relocatable tar archive. Both contain every
# library that the program needs except the C library.

# A shared Zydis is installed beside the project's libraries, where the RPATH points.
set_target_properties(verbatim PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/verbatim")
if(ZYDIS_LIBRARY MATCHES "\\.so$")
  execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${ZYDIS_LIBRARY} OUTPUT_VARIABLE headers)
  if(headers MATCHES "SONAME +([^\n ]+)")
    file(REAL_PATH ${ZYDIS_LIBRARY} file)
    install(FILES ${file} RENAME ${CMAKE_MATCH_1} DESTINATION ${CMAKE_INSTALL_LIBDIR}/verbatim)
  endif()
endif()

install(DIRECTORY tools/container DESTINATION ${CMAKE_INSTALL_DATADIR}/verbatim)

set(CPACK_GENERATOR "DEB;TGZ")
set(CPACK_PACKAGE_NAME verbatim)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Deterministic RDMA fabric simulator for unmodified verbs programs")
set(CPACK_PACKAGE_DESCRIPTION
"Runs programs that use libibverbs and librdmacm as ordinary processes, each
on a simulated host of a fabric that a JSON file describes, without RDMA
hardware, kernel module or root. Time is virtual, and the same inputs and
seed give the same bytes.")
set(CPACK_PACKAGE_CONTACT "The Verbatim developers <verbatim@localhost>")
# No stripping: code.table is only valid for the libraries as the build made them.
set(CPACK_STRIP_FILES OFF)
set(CPACK_THREADS 0)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "ibverbs-utils, perftest, rdmacm-utils")
include(CPack)
