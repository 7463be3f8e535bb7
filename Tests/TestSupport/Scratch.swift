import Foundation
import TandemIO

/// A directory that is removed with the last reference to it.
package final class Scratch: Sendable {
    package let path: String
    private let isOwner: Bool

    /// Creates a directory with a short name, because the paths of sockets may have only 107 bytes.
    ///
    /// It lies in memory if that is asked for and the system has such a place.
    package init(inMemory: Bool = false) throws {
        let base = inMemory ? Self.memoryFolder : FileManager.default.temporaryDirectory.path
        isOwner = true
        path = base + "/t-\(UUID().uuidString.prefix(13))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    /// Refers to a part of another directory, which removes it.
    package init(in path: String) {
        self.path = path
        isOwner = false
    }

    deinit { if isOwner { try? FileManager.default.removeItem(atPath: path) } }

    /// A folder in memory, or the temporary folder if the system has none.
    ///
    /// It is removed when the process exits, with all that is left in it.
    package static let memoryFolder: String = {
        guard FileManager.default.isWritableFile(atPath: memory) else {
            return FileManager.default.temporaryDirectory.path
        }
        try? FileManager.default.createDirectory(
            atPath: ownMemory, withIntermediateDirectories: true)
        atexit { try? FileManager.default.removeItem(atPath: Scratch.ownMemory) }
        return ownMemory
    }()

    private static let memory = "/dev/shm"
    private static let ownMemory = "\(memory)/tandem-\(ThisProcess.processID)"

    /// Creates a directory inside, and returns its path.
    package func directory(_ name: String) throws -> String {
        let path = path + "/" + name
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    /// The bytes of a file; nil for a directory, or if there is none.
    package static func file(_ path: String) -> [UInt8]? {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory),
            !isDirectory.boolValue
        else { return nil }
        return FileManager.default.contents(atPath: path).map { Array($0) }
    }

    /// Writes a new file.
    package static func write(_ bytes: [UInt8], to path: String) throws {
        let file = try RealFileSystem().open(path, .createNew)
        defer { file.close() }
        try file.write(bytes, at: 0)
    }
}
