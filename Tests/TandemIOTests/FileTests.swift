import Glibc
import TestSupport
import Testing

@testable import TandemIO

/// A directory for one test, removed with everything in it.
final class Scratch {
    let path: String
    private let files = RealFileSystem()

    init(_ name: String) throws {
        path = "/tmp/tandem-io-\(getpid())-\(name)"
        try files.createDirectory(path, mode: 0o700)
    }

    deinit {
        for name in (try? files.list(path)) ?? [] { try? files.remove(path + "/" + name) }
        rmdir(path)
    }
}

@Suite(.ownThread) struct FileTests {
    @Test func `real files return the written bytes`() throws {
        let scratch = try Scratch("files")
        let files = RealFileSystem()
        let file = try files.open(scratch.path + "/a", .createNew)
        try file.write([1, 2, 3, 4], at: 0)
        try file.write([9], at: 6)
        try file.sync()
        #expect(try file.size() == 7)
        #expect(try file.read(count: 100, at: 1) == [2, 3, 4, 0, 0, 9])
        try file.truncate(to: 2)
        #expect(try files.contents(of: scratch.path + "/a", maximumBytes: 10) == [1, 2])
        try files.rename(scratch.path + "/a", to: scratch.path + "/b")
        try files.syncDirectory(scratch.path)
        #expect(try files.list(scratch.path) == ["b"])
        #expect(files.exists(scratch.path + "/b") && !files.exists(scratch.path + "/a"))
    }

    @Test func `directories are created with their parents`() throws {
        let scratch = try Scratch("parents")
        let files = RealFileSystem()
        let deep = scratch.path + "/x/y/z"
        try files.createDirectory(deep, mode: 0o700)
        try files.createDirectory(deep, mode: 0o700)
        #expect(files.exists(deep))
        for path in ["/x/y/z", "/x/y", "/x"] { rmdir(scratch.path + path) }
    }

    @Test func `an error names operation, path and reason`() {
        let error = #expect(throws: IOError.self) {
            _ = try RealFileSystem().open("/nowhere/at/all", .read)
        }
        #expect(
            error?.description
                == "cannot open /nowhere/at/all: No such file or directory (ENOENT)")
        #expect(error?.isNotFound == true)
    }

    @Test func `a closed file refuses every call`() throws {
        let scratch = try Scratch("closed")
        let file = try RealFileSystem().open(scratch.path + "/a", .createIfMissing)
        file.close()
        file.close()
        #expect(throws: IOError.self) { try file.write([1], at: 0) }
        #expect(throws: IOError.self) { try file.sync() }
    }

    @Test func `contents over the limit are refused before they are read`() throws {
        let scratch = try Scratch("limit")
        let file = try RealFileSystem().open(scratch.path + "/a", .createNew)
        try file.write([UInt8](repeating: 1, count: 11), at: 0)
        #expect(throws: IOError.self) {
            try RealFileSystem().contents(of: scratch.path + "/a", maximumBytes: 10)
        }
    }

    @Test func `an error about a lock names its holder, and the lock ends when released`() throws {
        let scratch = try Scratch("lock")
        let path = scratch.path + "/lock"
        do {
            let lock = try LockFile(path)
            let error = #expect(throws: IOError.self) { _ = try LockFile(path) }
            #expect(error?.isLocked == true)
            #expect(error?.description.contains("process \(getpid())") == true)
            withExtendedLifetime(lock) {}
        }
        _ = try LockFile(path)
    }
}
