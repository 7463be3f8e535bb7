import FoundationEssentials
import TandemIO
import Testing

/// A lock on a file that has content of its own.
@Suite(.ownThread) struct AdvisoryLockTests {
    private let path = FileManager.default.temporaryDirectory.path + "/tandem-lock-\(UUID())"

    private func isLocked() -> Bool {
        do {
            withExtendedLifetime(try AdvisoryLock(path)) {}
            return false
        } catch {
            #expect(error.isLocked, "\(error)")
            return true
        }
    }

    @Test func `one owner holds the lock, and the file's content is unchanged`() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        try "rows".write(toFile: path, atomically: false, encoding: .utf8)
        var lock: AdvisoryLock? = try AdvisoryLock(path)
        #expect(isLocked())
        withExtendedLifetime(lock) {}
        lock = nil
        #expect(!isLocked())
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "rows")
    }

    @Test func `after the file is removed, the next owner locks a new file of that name`() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let lock = try AdvisoryLock(path)
        try RealFileSystem().remove(path)
        let next = try AdvisoryLock(path)
        #expect(isLocked())
        withExtendedLifetime((lock, next)) {}
    }

    @Test(arguments: ["/", "/dev/null", "/proc/no/such"])
    func `a path without a regular file can't be locked`(path: String) throws {
        let error = try #require(throws: IOError.self) { _ = try AdvisoryLock(path) }
        #expect(!error.isLocked)
    }
}
