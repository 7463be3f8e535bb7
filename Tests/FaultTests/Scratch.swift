import FoundationEssentials
import Glibc
import TandemIO

/// The seed of randomized tests: TANDEM_SEED, or a fixed one.
let seed: UInt64 = ThisProcess.environment("TANDEM_SEED").flatMap { UInt64($0) } ?? 20_261_121

/// How many crash images are looked at: TANDEM_IMAGES, or what fits into every run of the tests.
let imageCount: Int = ThisProcess.environment("TANDEM_IMAGES").flatMap { Int($0) } ?? 1_000

/// A directory that goes away with the test; in memory where the system has room there.
final class Scratch: Sendable {
    let path: String
    private let isOwner: Bool

    init() throws {
        let memory = "/dev/shm"
        let base =
            access(memory, W_OK) == 0 ? memory : FileManager.default.temporaryDirectory.path
        isOwner = true
        path = base + "/tandem-fault-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
    }

    /// A part of another one, which removes it.
    init(in path: String) {
        self.path = path
        isOwner = false
    }

    deinit { if isOwner { try? FileManager.default.removeItem(atPath: path) } }

    /// A directory inside, made.
    func directory(_ name: String) throws -> String {
        let path = path + "/" + name
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    /// The bytes of a file; nil for a directory.
    static func file(_ path: String) -> [UInt8]? {
        var isDirectory = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), !isDirectory
        else { return nil }
        return FileManager.default.contents(atPath: path).map { Array($0) }
    }

    static func write(_ bytes: [UInt8], to path: String) throws {
        let file = try RealFileSystem().open(path, .createNew)
        defer { file.close() }
        try file.write(bytes, at: 0)
    }
}
