import Glibc
import TestSupport
import Testing

@testable import TandemIO

@Suite(.ownThread) struct SocketTests {
    func read(_ socket: Socket, _ count: Int) throws -> (ReadResult, [UInt8]) {
        var bytes = [UInt8](repeating: 0, count: count)
        var result = ReadResult.wouldBlock
        var failure: IOError?
        bytes.withUnsafeMutableBytes { buffer in
            do throws(IOError) { result = try socket.read(into: buffer) } catch { failure = error }
        }
        if let failure { throw failure }
        return (result, bytes)
    }

    @Test func `a pair transmits bytes and its end`() throws {
        let (left, right) = try Socket.pair()
        try right.setNonBlocking()
        #expect(try read(right, 8).0 == .wouldBlock)
        try left.writeAll([1, 2, 3])
        #expect(try read(right, 8) == (.bytes(3), [1, 2, 3, 0, 0, 0, 0, 0]))
        left.shutdown()
        #expect(try read(right, 8).0 == .closed)
        #expect([1].withUnsafeBytes { try? right.write($0) } == .closed)
    }

    @Test func `several buffers arrive in order`() throws {
        let (left, right) = try Socket.pair()
        let result = try withUnsafeBytes(of: UInt16(0x0201).littleEndian) { first in
            try withUnsafeBytes(of: UInt8(3)) { try left.write([first, $0]) }
        }
        #expect(result == .bytes(3))
        #expect(try read(right, 3).1 == [1, 2, 3])
    }

    @Test func `a write to a full socket would block`() throws {
        let (left, right) = try Socket.pair()
        try left.setNonBlocking()
        let chunk = [UInt8](repeating: 1, count: 65_536)
        var result = WriteResult.bytes(0)
        for _ in 0..<1_000 where result != .wouldBlock {
            result = try #require(chunk.withUnsafeBytes { try? left.write($0) })
        }
        #expect(result == .wouldBlock)
        withExtendedLifetime(right) {}
    }

    @Test func `a blocking socket waits no longer than its timeout`() throws {
        let (left, right) = try Socket.pair()
        try left.setReadTimeout(milliseconds: 1)
        #expect(try read(left, 8).0 == .wouldBlock)
        try right.writeAll([1])
        #expect(try read(left, 8).0 == .bytes(1))
    }

    @Test func `a blocking socket does not wait if told not to`() throws {
        let (left, right) = try Socket.pair()
        let result = try withUnsafeTemporaryAllocation(byteCount: 8, alignment: 1) {
            try left.read(into: $0, waits: false)
        }
        #expect(result == .wouldBlock)
        let chunk = [UInt8](repeating: 1, count: 65_536)
        var written = WriteResult.bytes(0)
        for _ in 0..<1_000 where written != .wouldBlock {
            written = try chunk.withUnsafeBytes { try left.write($0, waits: false) }
        }
        #expect(written == .wouldBlock)
        withExtendedLifetime(right) {}
    }

    @Test func `a listener accepts a connection and reports the peer's credentials`() throws {
        let scratch = try Scratch("listen")
        let path = scratch.path + "/deep/t.sock"
        let listener = try UnixListener.listen(path: path, mode: 0o600)
        #expect(try listener.accept() == nil)
        let client = try Socket.connect(path: path)
        let server = try #require(try listener.accept())
        let peer = try server.peerCredentials()
        #expect(peer.uid == geteuid() && peer.gid == getegid() && peer.pid == getpid())
        var groups = [gid_t](repeating: 0, count: 65_536)
        let count = getgroups(Int32(groups.count), &groups)
        #expect(Set(peer.groups) == Set(groups.prefix(Int(count))))
        try client.writeAll([5])
        #expect(try read(server, 1).1 == [5])
        unlink(path + ".lock")
        unlink(path)
        rmdir(scratch.path + "/deep")
    }

    @Test func `a second listener is refused, and a leftover socket file is replaced`() throws {
        let scratch = try Scratch("second")
        let path = scratch.path + "/t.sock"
        do {
            let listener = try UnixListener.listen(path: path, mode: 0o600)
            let error = #expect(throws: IOError.self) {
                _ = try UnixListener.listen(path: path, mode: 0o600)
            }
            #expect(error?.isLocked == true)
            withExtendedLifetime(listener) {}
        }
        #expect(!RealFileSystem().exists(path))
        // A killed daemon does not remove its socket file.
        try bindAndLeave(path)
        let listener = try UnixListener.listen(path: path, mode: 0o600)
        _ = try Socket.connect(path: path)
        #expect(try listener.accept() != nil)
    }

    /// Creates a socket file without a listener.
    private func bindAndLeave(_ path: String) throws {
        let descriptor = try SocketAddress.makeDescriptor(path)
        defer { close(descriptor) }
        let address = try SocketAddress(path, for: .bind)
        #expect(address.withPointer { bind(descriptor, $0, $1) } == 0)
    }

    @Test(arguments: ["", ".new", ".lock"])
    func `a file in place of the socket, its temporary name or its lock is refused and stays`(
        _ suffix: String
    ) throws {
        let scratch = try Scratch("file\(suffix)")
        let files = RealFileSystem()
        let path = scratch.path + "/t.sock"
        try files.replace(path + suffix, with: Array("precious".utf8))
        let error = #expect(throws: IOError.self) {
            _ = try UnixListener.listen(path: path, mode: 0o600)
        }
        #expect(error?.path == path + suffix)
        #expect(try files.contents(of: path + suffix, maximumBytes: 10) == Array("precious".utf8))
        #expect(try files.list(scratch.path) == ["t.sock\(suffix)"])
    }

    @Test func `a link to a socket is replaced, one to a file is refused`() throws {
        let scratch = try Scratch("linked")
        let files = RealFileSystem()
        let path = scratch.path + "/t.sock"
        try files.replace(scratch.path + "/file", with: [1])
        #expect(symlink("file", path) == 0)
        #expect(throws: IOError.self) { _ = try UnixListener.listen(path: path, mode: 0o600) }
        #expect(try files.contents(of: scratch.path + "/file", maximumBytes: 10) == [1])
        try files.remove(path)
        try bindAndLeave(scratch.path + "/old")
        #expect(symlink("old", path) == 0)
        let listener = try UnixListener.listen(path: path, mode: 0o600)
        _ = try Socket.connect(path: path)
        #expect(try listener.accept() != nil)
    }

    @Test func `the error for a path that is too long names the limit`() {
        let path = "/tmp/" + String(repeating: "x", count: 103)
        let error = #expect(throws: IOError.self) { _ = try Socket.connect(path: path) }
        #expect(error?.description.contains("1 to 107 bytes, but this one has 108") == true)
    }

    @Test func `listeners that systemd passed to another process are ignored`() {
        #expect(UnixListener.systemdDescriptors(owner: "1", count: "1").isEmpty)
        #expect(UnixListener.systemdDescriptors(owner: "\(getpid())", count: "2") == [3, 4])
        #expect(UnixListener.systemdDescriptors(owner: "\(getpid())", count: "x").isEmpty)
        #expect(UnixListener.systemdDescriptors(owner: nil, count: "1").isEmpty)
    }
}
