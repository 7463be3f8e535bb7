import FoundationEssentials
import Glibc
import TandemIO
import Testing

@Suite(.ownThread) struct LockFileTests {
    /// A second descriptor of the lock file, as in a child process between `fork` and `exec`.
    @Test func `a released lock is free although another process still has its descriptor`() throws
    {
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

    @Test func `no lock is acquired through a link, and its target is unchanged`() throws {
        let place = FileManager.default.temporaryDirectory.path + "/tandem-lock-\(UUID())"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: place) }
        let precious = place + "/precious"
        #expect(FileManager.default.createFile(atPath: precious, contents: Data([1, 2, 3])))
        #expect(symlink(precious, place + "/symbolic.lock") == 0)
        #expect(link(precious, place + "/hard.lock") == 0)
        #expect(mkfifo(place + "/pipe.lock", 0o600) == 0)
        for name in ["symbolic", "hard", "pipe"] {
            #expect(throws: IOError.self, "\(name)") { _ = try LockFile("\(place)/\(name).lock") }
        }
        let error = #expect(throws: IOError.self) {
            _ = try UnixListener.listen(path: place + "/symbolic", mode: 0o600)
        }
        #expect(error?.errno == ELOOP)
        #expect(throws: IOError.self) { _ = try AdvisoryLock(place + "/symbolic.lock") }
        #expect(FileManager.default.contents(atPath: precious) == Data([1, 2, 3]))
    }

    @Test(arguments: ["precious\n", "12 and more\n", "12\nand more than a number takes\n"])
    func `a file whose content is not a process id is refused and stays`(_ text: String) throws {
        let path = FileManager.default.temporaryDirectory.path + "/tandem-lock-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(FileManager.default.createFile(atPath: path, contents: Data(text.utf8)))
        let error = #expect(throws: IOError.self) { _ = try LockFile(path) }
        #expect(error?.description.contains("not a process id") == true)
        #expect(FileManager.default.contents(atPath: path) == Data(text.utf8))
        for left in ["", "4242\n", "42", "\0\0\0\0\0"] {
            try Data(left.utf8).write(to: URL(filePath: path))
            _ = try LockFile(path)
        }
    }

    @Test func `the error for a link says that it is a link`() throws {
        let path = FileManager.default.temporaryDirectory.path + "/tandem-lock-\(UUID())"
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(symlink("elsewhere", path) == 0)
        let error = #expect(throws: IOError.self) { _ = try LockFile(path) }
        #expect(
            error?.description
                == "cannot open \(path): a symbolic link; remove the link (ELOOP)")
        #expect(#expect(throws: IOError.self) { _ = try AdvisoryLock(path) } == error)
    }
}
