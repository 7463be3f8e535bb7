import TandemIO
import TestSupport
import Testing

@Suite(.ownThread) struct SimulatedFileSystemTests {
    let disk = SimulatedFileSystem()

    func make(_ path: String, _ bytes: [UInt8], synced: Bool) throws -> any File {
        let file = try disk.open(path, .createIfMissing)
        try file.write(bytes, at: 0)
        if synced {
            try file.sync()
            try disk.syncDirectory("/")
        }
        return file
    }

    @Test func `synced bytes survive a crash, unsynced ones may be lost`() throws {
        let file = try make("/a", [1, 2], synced: true)
        try file.write([3], at: 2)
        disk.crash(seed: 1, severity: .losesAll)
        #expect(disk.bytes(of: "/a") == [1, 2])
        #expect(throws: IOError.self) { try file.write([1], at: 0) }
    }

    @Test func `a name without a directory sync is lost`() throws {
        let file = try make("/a", [1], synced: false)
        try file.sync()
        disk.crash(seed: 1, severity: .losesAll)
        #expect(!disk.exists("/a"))
    }

    @Test func `a rename without a directory sync is undone`() throws {
        _ = try make("/a", [1], synced: true)
        try disk.rename("/a", to: "/b")
        disk.crash(seed: 1, severity: .losesAll)
        #expect(disk.bytes(of: "/a") == [1] && !disk.exists("/b"))
    }

    @Test func `unsynced writes are torn by sectors`() throws {
        let size = 16 * SimulatedFileSystem.sectorBytes
        var mixed = 0
        for seed in 0..<20 as Range<UInt64> {
            let disk = SimulatedFileSystem()
            disk.install([UInt8](repeating: 0, count: size), at: "/a")
            let file = try disk.open("/a", .readWrite)
            try file.write([UInt8](repeating: 1, count: size), at: 0)
            disk.crash(seed: seed)
            let bytes = try #require(disk.bytes(of: "/a"))
            let kept = stride(from: 0, to: size, by: 512).filter { bytes[$0] == 1 }
            for start in kept { #expect(bytes[start..<start + 512].allSatisfy { $0 == 1 }) }
            if !kept.isEmpty && kept.count < 16 { mixed += 1 }
        }
        #expect(mixed > 10)
    }

    @Test func `the same seed keeps the same bytes`() throws {
        _ = try make("/a", [UInt8](repeating: 7, count: 9_000), synced: false)
        let count = disk.operations.count
        let images = (0..<2).map { _ in
            let image = disk.image(after: count)
            image.crash(seed: 42)
            return image.bytes(of: "/a")
        }
        #expect(images[0] == images[1])
    }

    @Test func `the n-th write and the n-th sync fail`() throws {
        let file = try make("/a", [], synced: true)
        disk.faults.writesUntilFailure = 2
        disk.faults.bytesKept = 1
        try file.write([1], at: 0)
        #expect(throws: IOError.self) { try file.write([2, 2], at: 1) }
        #expect(disk.bytes(of: "/a") == [1, 2])
        disk.faults.syncsUntilFailure = 1
        #expect(throws: IOError.self) { try file.sync() }
        try file.sync()
    }

    @Test func `a full disk accepts part of a write and throws`() throws {
        disk.capacityBytes = 10
        let file = try make("/a", [1, 2, 3], synced: true)
        let error = #expect(throws: IOError.self) {
            try file.write([UInt8](repeating: 9, count: 20), at: 3)
        }
        #expect(error?.isOutOfSpace == true)
        #expect(disk.bytes(of: "/a")?.count == 10)
    }
}
