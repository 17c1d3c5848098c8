# The switches of fibres, with the hooks for the sanitizer of this build (Sanitize.cmake).
target_sources(ps_base PRIVATE ${CMAKE_SOURCE_DIR}/lib/base/fiber/hooks_${PS_HOOKS}.cc)

# A race detector must not look at the switches themselves: by its rules, an unordered one is a race.
if(PS_SANITIZE MATCHES "thread")
  set_source_files_properties(${CMAKE_SOURCE_DIR}/lib/base/fiber/fiber.cc ${CMAKE_SOURCE_DIR}/lib/base/fiber/hooks_thread.cc
                              PROPERTIES COMPILE_OPTIONS "-fno-sanitize=thread;-O1" SKIP_PRECOMPILE_HEADERS ON)
elseif(PS_SANITIZE)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/lib/base/fiber/fiber.cc PROPERTIES COMPILE_OPTIONS "-O1" SKIP_PRECOMPILE_HEADERS ON)
endif()
