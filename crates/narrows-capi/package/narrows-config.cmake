# Gives the targets narrows::narrows (shared) and narrows::static.
get_filename_component(_narrows_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_package(Threads REQUIRED)

if(NOT TARGET narrows::narrows)
    add_library(narrows::narrows SHARED IMPORTED)
    set_target_properties(narrows::narrows PROPERTIES
        IMPORTED_LOCATION "${_narrows_prefix}/lib/libnarrows.so"
        INTERFACE_INCLUDE_DIRECTORIES "${_narrows_prefix}/include/narrows")
    add_library(narrows::static STATIC IMPORTED)
    set_target_properties(narrows::static PROPERTIES
        IMPORTED_LOCATION "${_narrows_prefix}/lib/libnarrows.a"
        INTERFACE_INCLUDE_DIRECTORIES "${_narrows_prefix}/include/narrows"
        INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m")
endif()

set(narrows_FOUND TRUE)
