import FoundationEssentials
import Glibc
import TandemIO
import Testing

@Suite(.ownThread) struct LockFileTests {
    /// As a child does between its fork and its program's start.
    @Test func `a released lock is free although somebody else still has its descriptor`() throws {
        let path = FileManager.default.temporaryDirectory.path + "/tandem-lock-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: path) }
        var lock: LockFile? = try LockFile(path)
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        let held = try #require(
            descriptors.first {
                (try? FileManager.default.destinationOfSymbolicLink(
                    atPath: "/proc/self/fd/\($0)")) == path
            })
        let copy = dup(try #require(Int32(held)))
        defer { close(copy) }
        #expect(throws: IOError.self) { _ = try LockFile(path) }
        withExtendedLifetime(lock) {}
        lock = nil
        _ = try LockFile(path)
    }
}
