import FoundationEssentials
import TestSupport
import Testing

/// Code that is compiled only for processors other than this one.
@Suite(.ownThread) struct OtherProcessorTests {
    /// The declarations of the C library that the ARMv8 branch needs.
    ///
    /// The library's own headers may not be installed for another processor.
    private static let headers = [
        "string.h": """
        #include <stddef.h>
        void *memcpy(void *, const void *, size_t);
        """,
        "sys/auxv.h": """
        #define AT_HWCAP 16
        #define HWCAP_CRC32 (1 << 7)
        unsigned long getauxval(unsigned long);
        """,
    ]

    @Test(.enabled(if: isInstalled("clang"), "clang is not installed"))
    func `the checksum's branch for ARMv8 compiles to that processor's instruction`() throws {
        let place = try Place()
        try FileManager.default.createDirectory(
            atPath: place.path + "/sys", withIntermediateDirectories: true)
        for (name, text) in Self.headers {
            try Data(text.utf8).write(to: URL(filePath: place.path + "/" + name))
        }
        let folder = UnitFileTests.root + "/Sources/CChecksum"
        let run = try CommandRun(
            shell: "clang --target=aarch64-linux-gnu -ffreestanding -nostdlibinc"
                + " -isystem '\(place.path)' -I '\(folder)/include' -Wall -Wextra -Werror -O1 -S -o -"
                + " '\(folder)/crc32c.c'")
        #expect(run.code == 0, "\(run.output)")
        for word in ["crc32cx", "crc32cb", "getauxval"] {
            #expect(run.output.contains(word), "\(word)")
        }
    }
}
